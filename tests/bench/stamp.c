/* The COMMAND of benchmarks. It appends a line "NUMBER START END" to FILE: when it started and when
 * it was about to end, in nanoseconds of CLOCK_MONOTONIC.
 *
 * stamp FILE NUMBER MICROSECONDS        works so long
 * stamp FILE NUMBER FIFO                works until the benchmark opens FIFO to write
 *
 * It makes FILE before it works. */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

/* After this, the benchmark will not open the FIFO any more. */
#define LIMIT_S 300

static int64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static void work(const char *how_long)
{
	long us = 0;

	if (*how_long == '/') {
		alarm(LIMIT_S);
		(void)!open(how_long, O_RDONLY | O_CLOEXEC);
	} else {
		us = strtol(how_long, NULL, 10);
	}
	if (us > 0)
		nanosleep(&(struct timespec){us / 1000000, us % 1000000 * 1000}, NULL);
}

int main(int argc, char **argv)
{
	const int64_t start = now_ns();
	char line[80];
	int file, length;

	if (argc != 4)
		return 64;
	file = open(argv[1], O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
	if (file < 0)
		return 71;
	work(argv[3]);
	length = snprintf(line, sizeof(line), "%.20s %lld %lld\n", argv[2], (long long)start,
			  (long long)now_ns());
	return write(file, line, (size_t)length) == length ? 0 : 71;
}
