/* A process whose first thread has ended, which looks like a zombie in /proc. Another thread lives.
 *
 * firstless SIGNALS BEATS      writes into SIGNALS each TERM that it gets, and into BEATS, time and
 *                              again, that it lives, in seconds since the machine was started */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define PAUSE_NS 50000000
#define END_S 30 /* it must not stay if a test fails */

static int signals, beats;

static void note(int signo)
{
	(void)signo;
	(void)!write(signals, "TERM\n", 5);
}

static void *live(void *unused)
{
	struct timespec now;

	for (;;) {
		clock_gettime(CLOCK_BOOTTIME, &now);
		dprintf(beats, "%lld.%02d\n", (long long)now.tv_sec, (int)(now.tv_nsec / 10000000));
		nanosleep(&(struct timespec){.tv_nsec = PAUSE_NS}, NULL);
	}
	return unused;
}

int main(int argc, char **argv)
{
	pthread_t thread;

	if (argc != 3)
		return 64;
	signals = open(argv[1], O_WRONLY | O_CREAT | O_APPEND, 0600);
	beats = open(argv[2], O_WRONLY | O_CREAT | O_APPEND, 0600);
	if (signals < 0 || beats < 0)
		return 71;
	signal(SIGTERM, note);
	alarm(END_S);
	if (pthread_create(&thread, NULL, live, NULL) != 0)
		return 71;
	syscall(SYS_exit, 0); /* of this thread only */
	return 71;
}
