/* A process that forks a copy of itself and ends, again and again, in a session of its own, faster
 * than anybody can read /proc. Each copy rests for a moment: without that a few chains use up all
 * process ids, and no other test can fork.
 *
 * fleeting FILE SECONDS        each copy writes one byte to FILE; the last ends after SECONDS */
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	int file = argc == 3 ? open(argv[1], O_WRONLY | O_CREAT | O_APPEND, 0600) : -1;
	time_t end = time(NULL) + (argc == 3 ? atoi(argv[2]) : 0);

	if (file < 0)
		return 64;
	signal(SIGTERM, SIG_IGN);
	if (fork() > 0) {
		pause();
		return 0;
	}
	setsid();
	while (time(NULL) < end) {
		nanosleep(&(struct timespec){.tv_nsec = 500000}, NULL);
		if (write(file, ".", 1) != 1 || fork() > 0)
			_exit(0);
	}
	return 0;
}
