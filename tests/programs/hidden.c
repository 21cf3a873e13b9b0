/* Has a child; both ignore SIGTERM, and have FILE open, into which each writes a line.
 *
 * hidden FILE        ends after a minute */
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	int file = argc == 2 ? open(argv[1], O_WRONLY) : -1;

	if (file < 0)
		return 64;
	signal(SIGTERM, SIG_IGN);
	if (fork() < 0 || write(file, "\n", 1) != 1)
		return 1;
	sleep(60);
	return 0;
}
