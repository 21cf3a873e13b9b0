/* Gives out a pool from its beginning to its end. */
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

/* Lock-free, because a host name may be looked up in a thread. */
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
	return (void *)((unsigned char *)memory - offsetof(struct block, memory));
}

/* Returns zeroed memory, or NULL if the rest of the pool is too small. Nothing comes back to the
 * pool, so it stays too small: bump_alloc_calloc turns to musl's calloc then, which calls
 * bump_alloc_malloc and must get a block of musl's. */
static void *take(size_t bytes)
{
	const size_t grain = alignof(struct block);
	const size_t room = bytes + !bytes; /* an empty block has an address, too */
	const size_t whole = sizeof(struct block) + (room + grain - 1) / grain * grain;
	struct block *block;
	size_t at = 0; /* the exchange corrects it */

	do {
		if (bytes > POOL_BYTES || whole > POOL_BYTES - at)
			return NULL;
	} while (!atomic_compare_exchange_weak(&pool.used, &at, at + whole));
	block = (void *)(pool.memory + at);
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
