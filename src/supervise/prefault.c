/* The pages: those of the stack that later calls need, and of the data that begins as zero. */
#include "supervise/prefault.h"

#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23 /* musl has no name for it yet */
#endif

/* Bytes of the stack on either side. Reading from the server alone takes 16 kB. */
#define CALLEES_BYTES 24576
#define CALLERS_BYTES 20480

/* Between them lies the data that begins as zero (end(3)); of other data little is written to. */
extern char edata[], end[];

/* The kernel stops at the first page that is not mapped. */
static void fetch(char *from, const char *to)
{
	const ptrdiff_t past = (ptrdiff_t)((uintptr_t)from % (uintptr_t)getpagesize());

	madvise(from - past, (size_t)(to - from + past), MADV_POPULATE_WRITE);
}

void prefault(void)
{
	char callees[CALLEES_BYTES];

	callees[0] = 0; /* the stack grows only when it is written to */
	__asm__ volatile("" : : "r"(callees) : "memory");
	fetch(callees, callees + sizeof(callees) + CALLERS_BYTES);
	fetch(edata, end);
}
