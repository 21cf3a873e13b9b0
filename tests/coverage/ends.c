/* Writes the counts of a coverage build where a process ends in another way than by exit(3), or
 * becomes another program. (Counts from before a fork count twice.) */
#include <signal.h>
#include <sys/types.h>
#include <unistd.h>

void gcov_dump(void) __asm__("__gcov_dump");
void gcov_reset(void) __asm__("__gcov_reset");

__attribute__((noreturn)) void real_exit(int status) __asm__("__real__exit");
int real_execv(const char *path, char *const *argv) __asm__("__real_execv");
int real_execve(const char *path, char *const *argv,
		char *const *environment) __asm__("__real_execve");
int real_kill(pid_t pid, int signo) __asm__("__real_kill");
int real_raise(int signo) __asm__("__real_raise");

__attribute__((noreturn)) void counted_exit(int status) __asm__("__wrap__exit");
int counted_execv(const char *path, char *const *argv) __asm__("__wrap_execv");
int counted_execve(const char *path, char *const *argv,
		   char *const *environment) __asm__("__wrap_execve");
int counted_kill(pid_t pid, int signo) __asm__("__wrap_kill");
int counted_raise(int signo) __asm__("__wrap_raise");

/* The process may go on after all; it then counts from 0. */
static void write_counts(void)
{
	gcov_dump();
	gcov_reset();
}

void counted_exit(int status)
{
	write_counts();
	real_exit(status);
}

int counted_execv(const char *path, char *const *argv)
{
	write_counts();
	return real_execv(path, argv);
}

int counted_execve(const char *path, char *const *argv, char *const *environment)
{
	write_counts();
	return real_execve(path, argv, environment);
}

int counted_kill(pid_t pid, int signo)
{
	if (signo != 0 && pid == getpid())
		write_counts();
	return real_kill(pid, signo);
}

int counted_raise(int signo)
{
	write_counts();
	return real_raise(signo);
}
