/* A library that a test preloads into a server. The server's clock shows the time that stands in
 * the file STILL_CLOCK (µs since the epoch, 8 bytes), and only the test moves it. The monotonic
 * clock, by which the server does its own work, is the true one. */
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define SECOND_US 1000000

static volatile const int64_t *now_us;

__attribute__((constructor)) static void begin(void)
{
	const char *name = getenv("STILL_CLOCK");
	const int file = name ? open(name, O_RDONLY | O_CLOEXEC) : -1;
	void *shared = MAP_FAILED;

	if (!name)
		return; /* a program that prepares the server */
	if (file >= 0)
		shared = mmap(NULL, sizeof(*now_us), PROT_READ, MAP_SHARED, file, 0);
	if (shared == MAP_FAILED)
		abort();
	close(file);
	now_us = shared;
}

int clock_gettime(clockid_t clock, struct timespec *now)
{
	if (!now_us || (clock != CLOCK_REALTIME && clock != CLOCK_REALTIME_COARSE))
		return (int)syscall(SYS_clock_gettime, clock, now);
	now->tv_sec = *now_us / SECOND_US;
	now->tv_nsec = *now_us % SECOND_US * 1000;
	return 0;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone)
{
	struct timespec exact;

	(void)zone;
	clock_gettime(CLOCK_REALTIME, &exact);
	now->tv_sec = exact.tv_sec;
	now->tv_usec = exact.tv_nsec / 1000;
	return 0;
}

time_t time(time_t *now)
{
	struct timespec exact;

	clock_gettime(CLOCK_REALTIME, &exact);
	if (now)
		*now = exact.tv_sec;
	return exact.tv_sec;
}
