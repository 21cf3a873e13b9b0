/* The first memory of a short life, for the static program: the linker puts these functions in the
 * place of malloc(3) and its kin (--wrap, in the Makefile).
 *
 * To take and give back a free lock is the work of a millisecond. musl's malloc asks the kernel for
 * a page for each size of what it gives out, hands pages back as soon as it can, and fetches them
 * again: a tenth of that time. So what is asked for first is laid side by side in memory that the
 * program has anyway, and is never given back; who lives longer goes on with musl's malloc. */

#include <stdalign.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define POOL_BYTES (16u << 10)

void *pool_malloc(size_t bytes) __asm__("__wrap_malloc");
void *pool_calloc(size_t count, size_t each) __asm__("__wrap_calloc");
void *pool_realloc(void *memory, size_t bytes) __asm__("__wrap_realloc");
void pool_free(void *memory) __asm__("__wrap_free");

void *musl_malloc(size_t bytes) __asm__("__real_malloc");
void *musl_calloc(size_t count, size_t each) __asm__("__real_calloc");
void *musl_realloc(void *memory, size_t bytes) __asm__("__real_realloc");
void musl_free(void *memory) __asm__("__real_free");

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

/* Zeroed memory, or NULL if there is not so much left. */
static void *take(size_t bytes)
{
	const size_t grain = alignof(struct block);
	const size_t whole = sizeof(struct block) + (bytes + grain - 1) / grain * grain;
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

void *pool_malloc(size_t bytes)
{
	void *memory = take(bytes);

	return memory ? memory : musl_malloc(bytes);
}

void *pool_calloc(size_t count, size_t each)
{
	size_t bytes;
	void *memory = __builtin_mul_overflow(count, each, &bytes) ? NULL : take(bytes);

	return memory ? memory : musl_calloc(count, each);
}

void *pool_realloc(void *memory, size_t bytes)
{
	void *larger;
	size_t before;

	if (!is_ours(memory))
		return memory ? musl_realloc(memory, bytes) : pool_malloc(bytes);
	before = block_of(memory)->bytes;
	if (bytes <= before)
		return memory;
	larger = pool_malloc(bytes);
	return larger ? memcpy(larger, memory, before) : NULL;
}

void pool_free(void *memory)
{
	if (!is_ours(memory))
		musl_free(memory);
}
