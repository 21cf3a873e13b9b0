/* A clock that has stood still, as that of a virtual machine that was paused with its clock: loaded
 * with LD_PRELOAD, CLOCK_BOOTTIME is so many ms behind as the file $LAG says. While there is no
 * such file, it is right. */

#include <dlfcn.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static long lag_ms(void)
{
	const char *path = getenv("LAG");
	const int fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
	char text[24] = "";

	if (fd < 0)
		return 0;
	(void)!read(fd, text, sizeof(text) - 1);
	close(fd);
	return strtol(text, NULL, 10);
}

static int late(clockid_t clock, struct timespec *now)
{
	const long lag = clock == CLOCK_BOOTTIME ? lag_ms() : 0;

	now->tv_sec -= lag / 1000;
	now->tv_nsec -= lag % 1000 * 1000000;
	if (now->tv_nsec < 0) {
		now->tv_nsec += 1000000000;
		now->tv_sec--;
	}
	return 0;
}

int clock_gettime(clockid_t clock, struct timespec *now)
{
	int (*real)(clockid_t, struct timespec *);

	*(void **)&real = dlsym(RTLD_NEXT, "clock_gettime");
	return real(clock, now) < 0 ? -1 : late(clock, now);
}

/* A program may read the clock so. No call has more than six words. */
long syscall(long number, ...)
{
	long (*real)(long, ...);
	long words[6], result;
	va_list args;

	*(void **)&real = dlsym(RTLD_NEXT, "syscall");
	va_start(args, number);
	for (int i = 0; i < 6; i++)
		words[i] = va_arg(args, long);
	va_end(args);
	result = real(number, words[0], words[1], words[2], words[3], words[4], words[5]);
	if (number == SYS_clock_gettime && result == 0)
		late((clockid_t)words[0], (struct timespec *)words[1]);
	return result;
}
