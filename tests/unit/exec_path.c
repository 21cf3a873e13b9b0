/* Tests supervise/exec_path.c: which programs count as being in memory, and that it reads damaged
 * ones without harm. */
#include "supervise/exec_path.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

#include "check.h"

static bool is_cached(const char *name)
{
	char word[32];

	snprintf(word, sizeof(word), "%s", name);
	return exec_path_is_cached((char *const[]){word, NULL});
}

/* Writes a file that can be executed. */
static void write_program(const char *path, const char *text)
{
	const int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0755);

	if (fd < 0 || write(fd, text, strlen(text)) < 0)
		abort();
	close(fd);
}

/* Asks the system to remove the file from memory until exec_path.c says that it is not there; false
 * if it still says the opposite after two seconds. The system may keep a page that it is using. */
static bool forgets(const char *path)
{
	const int fd = open(path, O_RDONLY | O_CLOEXEC);
	bool is_forgotten = false;

	if (fd < 0 || fsync(fd) < 0)
		abort();
	for (int try = 0; try < 200 && !is_forgotten; try++) {
		posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
		is_forgotten = !is_cached(path);
		if (!is_forgotten)
			nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
	}
	close(fd);
	return is_forgotten;
}

static void make_unexecutable(const char *path)
{
	if (chmod(path, 0644) < 0)
		abort();
}

/* Linux refuses most of them before it looks for their loader. The class is 1 for 32 and 2 for 64
 * bit. */
static bool blames_nothing(char class, char rest, size_t length)
{
	char bytes[300] = "\177ELF", why[EXEC_WHY_BYTES], word[] = "damaged";
	const int fd = open(word, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0755);

	bytes[4] = class;
	memset(bytes + 5, rest, sizeof(bytes) - 5);
	if (fd < 0 || write(fd, bytes, length) != (ssize_t)length)
		abort();
	close(fd);
	return exec_path_why(why, (char *const[]){word, NULL}, ENOENT) != why && unlink(word) == 0;
}

int main(void)
{
	static const char *const uncached[] = {"script", "./script", "short",     "data", "fifo",
					       ".",      "nothing",  "./nothing", ""};
	static const char *const made[] = {"program", "first/program", "first", "data",
					   "script",  "short",         "fifo"};
	struct tally tally = {0};
	char folder[] = "/tmp/exec_path.XXXXXX";

	if (!mkdtemp(folder) || chdir(folder) < 0)
		abort();
	setenv("PATH", "missing:.", 1);
	write_program("program", "\177ELF and more");
	write_program("script", "#!/bin/sh\n");
	write_program("short", "\177EL");
	write_program("data", "\177ELF and more");
	make_unexecutable("data");
	if (mkfifo("fifo", 0755) < 0)
		abort();
	for (size_t i = 0; i < COUNT(uncached); i++)
		CHECK(&tally, !is_cached(uncached[i]));
	for (char class = 0; class < 3; class ++) {
		for (size_t length = 4; length < 300; length += 8)
			CHECK(&tally, blames_nothing(class, 0, length) &&
					      blames_nothing(class, 1, length) &&
					      blames_nothing(class, '\377', length));
	}
	/* some file systems do not tell, and then it counts as not being in memory */
	if (is_cached("./program")) {
		(void)access("missing/program",
			     X_OK); /* now the system knows that it is not there */
		CHECK(&tally, is_cached("program"));
		/* a file that exec passes over, as it may not be executed: the next may be on a
		 * disk */
		if (mkdir("first", 0755) < 0)
			abort();
		write_program("first/program", "\177ELF and more");
		make_unexecutable("first/program");
		setenv("PATH", "first:.", 1);
		CHECK(&tally, !is_cached("program"));
		setenv("PATH", ".", 1);
		CHECK(&tally, forgets("program"));
	} else {
		puts("exec_path: this file system does not tell what is in memory");
	}
	for (size_t i = 0; i < COUNT(made); i++)
		remove(made[i]);
	if (chdir("/") == 0)
		rmdir(folder);
	return conclude(&tally);
}
