/* In a build that measures coverage, the counts are written when a process ends by exit(3). Ours
 * end in other ways, too, and become other programs. (What was counted before a fork is counted
 * twice.) */
#include <signal.h>
#include <sys/types.h>
#include <unistd.h>

void __gcov_dump(void);
void __gcov_reset(void);

__attribute__((noreturn)) void __real__exit(int status);
int __real_execv(const char *path, char *const *argv);
int __real_execve(const char *path, char *const *argv, char *const *environment);
int __real_kill(pid_t pid, int signo);
int __real_raise(int signo);

__attribute__((noreturn)) void __wrap__exit(int status);
int __wrap_execv(const char *path, char *const *argv);
int __wrap_execve(const char *path, char *const *argv, char *const *environment);
int __wrap_kill(pid_t pid, int signo);
int __wrap_raise(int signo);

/* It may go on after all: then counting goes on from 0. */
static void write_counts(void)
{
	__gcov_dump();
	__gcov_reset();
}

void __wrap__exit(int status)
{
	write_counts();
	__real__exit(status);
}

int __wrap_execv(const char *path, char *const *argv)
{
	write_counts();
	return __real_execv(path, argv);
}

int __wrap_execve(const char *path, char *const *argv, char *const *environment)
{
	write_counts();
	return __real_execve(path, argv, environment);
}

int __wrap_kill(pid_t pid, int signo)
{
	if (signo != 0 && pid == getpid())
		write_counts();
	return __real_kill(pid, signo);
}

int __wrap_raise(int signo)
{
	write_counts();
	return __real_raise(signo);
}
