/* Blocks from the pool. Behind it stands, instead of musl, a malloc that counts its calls. */
#include "base/bump_alloc.h"

#include <stdalign.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"

static int allocated, freed;

/* AddressSanitizer would end the program, where malloc returns NULL. */
static bool is_huge(size_t bytes)
{
	return bytes > SIZE_MAX / 4;
}

void *bump_alloc_next_malloc(size_t bytes)
{
	allocated++;
	return is_huge(bytes) ? NULL : malloc(bytes);
}

void *bump_alloc_next_calloc(size_t count, size_t each)
{
	allocated++;
	return is_huge(count) ? NULL : calloc(count, each);
}

void *bump_alloc_next_realloc(void *memory, size_t bytes)
{
	allocated++;
	return realloc(memory, bytes);
}

void bump_alloc_next_free(void *memory)
{
	freed += memory != NULL;
	free(memory);
}

static bool is_aligned(const void *memory)
{
	return (uintptr_t)memory % alignof(max_align_t) == 0;
}

static bool is_filled(const char *memory, size_t bytes, char with)
{
	for (size_t i = 0; i < bytes; i++)
		if (memory[i] != with)
			return false;
	return true;
}

/* Blocks are aligned, zeroed, and apart; what is freed is not used again, so a block stays zeroed.
 */
static void check_blocks(struct tally *t)
{
	char *one = bump_alloc_malloc(1), *two = bump_alloc_malloc(24);
	char *none = bump_alloc_malloc(0), *zeroed = bump_alloc_calloc(3, 100);

	CHECK(t, is_aligned(one) && is_aligned(two) && is_aligned(none) && is_aligned(zeroed));
	CHECK(t, two != none && none != zeroed && is_filled(zeroed, 300, '\0'));
	memset(one, 'a', 1);
	memset(two, 'b', 24);
	memset(zeroed, 'c', 300);
	CHECK(t, is_filled(one, 1, 'a') && is_filled(two, 24, 'b'));
	bump_alloc_free(one);
	bump_alloc_free(NULL);
	CHECK(t, bump_alloc_malloc(1) != one && allocated == 0 && freed == 0);
}

static void check_growth(struct tally *t)
{
	char *text = bump_alloc_realloc(NULL, 10), *larger;

	memset(text, 'x', 10);
	CHECK(t, bump_alloc_realloc(text, 5) == text && bump_alloc_realloc(text, 10) == text);
	larger = bump_alloc_realloc(text, 200);
	CHECK(t, larger != text && allocated == 0 && is_filled(larger, 10, 'x'));
	memset(larger, 'y', 200);
	text = bump_alloc_realloc(larger, POOL_BYTES);
	CHECK(t, allocated == 1 && is_filled(text, 200, 'y'));
	text = bump_alloc_realloc(text, 2 * POOL_BYTES);
	CHECK(t, allocated == 2 && is_filled(text, 200, 'y'));
	bump_alloc_free(text);
	CHECK(t, freed == 1);
}

static void check_nonsense(struct tally *t)
{
	volatile size_t huge = SIZE_MAX; /* hidden from the compiler */

	allocated = 0;
	CHECK(t, !bump_alloc_malloc(huge) && !bump_alloc_malloc(huge - 8));
	CHECK(t, !bump_alloc_calloc(huge / 2, 3) && allocated == 3);
	CHECK(t, bump_alloc_malloc(1) && allocated == 3);
}

/* The pool gives out all of its bytes, none twice; then malloc serves. */
static void check_end(struct tally *t)
{
	char *blocks[POOL_BYTES / 100];
	size_t count = 0;

	allocated = freed = 0;
	while (allocated == 0 && count < POOL_BYTES / 100) {
		blocks[count] = bump_alloc_malloc(100);
		memset(blocks[count], (char)count, 100);
		count++;
	}
	CHECK(t, allocated == 1 && count > 10);
	for (size_t i = 0; i < count; i++) {
		CHECK(t, is_filled(blocks[i], 100, (char)i));
		bump_alloc_free(blocks[i]);
	}
	blocks[0] = bump_alloc_calloc(2, 50);
	CHECK(t, allocated == 2 && is_filled(blocks[0], 100, '\0'));
	bump_alloc_free(blocks[0]);
	CHECK(t, freed == 2);
}

int main(void)
{
	struct tally tally = {0};

	check_blocks(&tally);
	check_growth(&tally);
	check_nonsense(&tally);
	check_end(&tally);
	return conclude(&tally);
}
