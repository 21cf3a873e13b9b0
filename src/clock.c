#include "clock.h"

#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* To find the way around the system call takes a process that lives for a millisecond longer than a
 * dozen system calls. (Where longs are short, the call may know an older struct.) */
#ifdef __LP64__
static void ask_kernel(struct timespec *now)
{
	syscall(SYS_clock_gettime, CLOCK_BOOTTIME, now);
}
#else
static void ask_kernel(struct timespec *now)
{
	clock_gettime(CLOCK_BOOTTIME, now);
}
#endif

int64_t clock_ms(void)
{
	struct timespec now;

	ask_kernel(&now);
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

int64_t earliest(int64_t a, int64_t b)
{
	return a < b ? a : b;
}
