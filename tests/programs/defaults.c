/* Becomes a program that ignores no signal: not even the two that a C library keeps for itself, of
 * which env --default-signal cannot know, and which GNU make's children ignore.
 *
 * defaults PROGRAM [ARGUMENT...] */
#include <sys/syscall.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	/* the kernel's struct sigaction: SIG_DFL, no flags */
	static const unsigned long action[8];

	for (int signo = 1; signo <= 64; signo++)
		syscall(SYS_rt_sigaction, signo, action, NULL, 8UL);
	if (argc > 1)
		execvp(argv[1], argv + 1);
	return 127;
}
