/* Writes into a history when the machine stood still: one process on each processor sleeps for a
 * moment, again and again, and tells when it woke much too late. A guard that had to stop COMMAND
 * at that time may have been late, too.
 *
 * stalls HISTORY	ends when it is killed, or with the process that started it */
#include <fcntl.h>
#include <inttypes.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

#define PAUSE_NS 10000000
#define LATE_NS 40000000

static int64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_BOOTTIME, &now);
	return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

static void watch(int history)
{
	const struct timespec pause = {.tv_nsec = PAUSE_NS};
	int64_t before = now_ns();
	char line[128];

	for (;;) {
		int64_t now;
		int length;

		nanosleep(&pause, NULL);
		now = now_ns();
		if (now - before > PAUSE_NS + LATE_NS) {
			length = snprintf(line, sizeof(line),
					  "{\"at\":%" PRId64
					  ",\"what\":\"stall\",\"until\":%" PRId64 "}\n",
					  before + PAUSE_NS, now);
			if (write(history, line, (size_t)length) != length)
				return;
		}
		before = now;
	}
}

static bool pin(size_t processor)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(processor, &set);
	return sched_setaffinity(0, sizeof(set), &set) == 0;
}

int main(int argc, char **argv)
{
	const int history =
		argc == 2 ? open(argv[1], O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600) : -1;
	const pid_t parent = getpid();
	cpu_set_t mine;

	if (history < 0 || sched_getaffinity(0, sizeof(mine), &mine) < 0)
		return 64;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (size_t processor = 0; processor < CPU_SETSIZE; processor++) {
		if (!CPU_ISSET(processor, &mine) || fork() > 0)
			continue;
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getppid() == parent && pin(processor))
			watch(history);
		_exit(0);
	}
	for (;;)
		pause();
}
