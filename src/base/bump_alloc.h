/* Memory for the first moments of the static program: the linker puts these functions in the place
 * of malloc(3) and its kin (--wrap, in the Makefile). */
#pragma once

#include <stddef.h>

/* To take and give back a free lock is the work of a millisecond. musl's malloc asks the kernel for
 * a page for each size of block, hands pages back as soon as it can, and fetches them again: a
 * tenth of that time. So the first blocks lie side by side in memory that the program has anyway,
 * and are never used again. A process that lives longer goes on with musl's malloc. */

#define POOL_BYTES ((size_t)20 << 10)

void *bump_alloc_malloc(size_t bytes) __asm__("__wrap_malloc");
void *bump_alloc_calloc(size_t count, size_t each) __asm__("__wrap_calloc");
void *bump_alloc_realloc(void *memory, size_t bytes) __asm__("__wrap_realloc");
void bump_alloc_free(void *memory) __asm__("__wrap_free");

/* musl's own functions behind it, as the linker names them then. */
void *bump_alloc_next_malloc(size_t bytes) __asm__("__real_malloc");
void *bump_alloc_next_calloc(size_t count, size_t each) __asm__("__real_calloc");
void *bump_alloc_next_realloc(void *memory, size_t bytes) __asm__("__real_realloc");
void bump_alloc_next_free(void *memory) __asm__("__real_free");
