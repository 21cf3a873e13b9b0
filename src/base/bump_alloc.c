#include "base/bump_alloc.h"

#include <stdalign.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

struct block {
	size_t bytes;
	alignas(max_align_t) unsigned char memory[];
};

/* Lock-free, for a name may be looked up in a thread. */
static struct {
	atomic_size_t used; /* of memory */
	alignas(max_align_t) unsigned char memory[POOL_BYTES];
} pool;

static bool is_ours(const void *memory)
{
	return (uintptr_t)memory - (uintptr_t)pool.memory < POOL_BYTES;
}

static struct block *block_of(void *memory)
{
	return (struct block *)((unsigned char *)memory - offsetof(struct block, memory));
}

/* Zeroed memory, or NULL if there is not so much left. (musl's calloc asks bump_alloc_malloc when
 * bump_alloc_calloc could not: it must not get what it believes to be its own. Nothing is given
 * back, so there is not so much left then, either.) */
static void *take(size_t bytes)
{
	const size_t grain = alignof(struct block);
	const size_t room = bytes + !bytes; /* nothing has an address, too */
	const size_t whole = sizeof(struct block) + (room + grain - 1) / grain * grain;
	struct block *block;
	size_t at = 0; /* if it is more, the exchange says so */

	do {
		if (bytes > POOL_BYTES || whole > POOL_BYTES - at)
			return NULL;
	} while (!atomic_compare_exchange_weak(&pool.used, &at, at + whole));
	block = (struct block *)(pool.memory + at);
	block->bytes = bytes;
	return block->memory;
}

void *bump_alloc_malloc(size_t bytes)
{
	void *memory = take(bytes);

	return memory ? memory : bump_alloc_next_malloc(bytes);
}

void *bump_alloc_calloc(size_t count, size_t each)
{
	size_t bytes;
	void *memory = __builtin_mul_overflow(count, each, &bytes) ? NULL : take(bytes);

	return memory ? memory : bump_alloc_next_calloc(count, each);
}

void *bump_alloc_realloc(void *memory, size_t bytes)
{
	void *larger;
	size_t before;

	if (!is_ours(memory))
		return memory ? bump_alloc_next_realloc(memory, bytes) : bump_alloc_malloc(bytes);
	before = block_of(memory)->bytes;
	if (bytes <= before)
		return memory;
	larger = bump_alloc_malloc(bytes);
	return larger ? memcpy(larger, memory, before) : NULL;
}

void bump_alloc_free(void *memory)
{
	if (!is_ours(memory))
		bump_alloc_next_free(memory);
}
