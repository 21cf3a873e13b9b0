/* Writes the counts of a coverage build where a process ends, also in another way than by exit(3),
 * or becomes another program. (Counts from before a fork count twice.)
 *
 * To write takes ten times as long as all else that a short process does: gcov adds to a file for
 * each object. So only a process writes that has reached what no process before it had:
 * COUNTED.PROGRAM.COUNTERS, where $COUNTED is a path, has a byte for each counter: whether it has
 * been written. */
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

/* The sanitizers are to leave counters alone that they do not know. */
#define PLAIN __attribute__((no_sanitize("address", "undefined"), no_profile_instrument_function))

extern const int64_t counters_begin[], counters_end[]; /* counters.ld */

void gcov_dump(void) __asm__("__gcov_dump");
void gcov_reset(void) __asm__("__gcov_reset");
void real_gcov_exit(void) __asm__("__real___gcov_exit");
void counted_gcov_exit(void) __asm__("__wrap___gcov_exit");

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

PLAIN static size_t counters(void)
{
	return (size_t)(counters_end - counters_begin);
}

/* Returns the bytes for the counters, or NULL if there are none: then each process writes. (clang
 * keeps its counters elsewhere.) */
PLAIN static volatile unsigned char *open_written(void)
{
	char program[512], path[1024];
	const ssize_t length = readlink("/proc/self/exe", program, sizeof(program) - 1);
	void *bytes = MAP_FAILED;
	int fd;

	if (length < 0 || counters() == 0)
		return NULL;
	program[length] = '\0';
	/* programs of the same name, but of other folders, have other counters */
	snprintf(path, sizeof(path), "%s.%s.%zu", getenv("COUNTED"), strrchr(program, '/') + 1,
		 counters());
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
	if (fd < 0)
		return NULL;
	fchmod(fd, 0666); /* tests run programs as other users, too */
	if (ftruncate(fd, (off_t)counters()) == 0)
		bytes = mmap(NULL, counters(), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	return bytes == MAP_FAILED ? NULL : bytes;
}

PLAIN static bool has_news(const volatile unsigned char *written)
{
	for (size_t i = 0; i < counters(); i++)
		if (counters_begin[i] && !written[i])
			return true;
	return false;
}

/* Notes what is written only behind that: if SIGKILL ends this process meanwhile, the next process
 * that reaches the same writes it. */
PLAIN static void write_news(void (*write)(void))
{
	volatile unsigned char *written;

	/* This one was given an empty environment. Complaints about a damaged file would come among
	 * what it prints. */
	if (!getenv("COUNTED"))
		return;
	written = open_written();
	if (!written) {
		write();
		return;
	}
	if (has_news(written)) {
		write();
		for (size_t i = 0; i < counters(); i++)
			if (counters_begin[i])
				written[i] = 1;
	}
	munmap((void *)(uintptr_t)written, counters());
}

/* Each object calls this at the end; the first time it writes for all. */
void counted_gcov_exit(void)
{
	static bool again;

	if (!again)
		write_news(real_gcov_exit);
	again = true;
}

/* The process may go on after all; it then counts from 0. */
static void write_counts(void)
{
	write_news(gcov_dump);
	gcov_reset();
}

/* PLAIN: it may run on the stack of make_command (supervise/guard.c). */
PLAIN void counted_exit(int status)
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
