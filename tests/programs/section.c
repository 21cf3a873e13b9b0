/* A critical section of the torture test. It writes into a history when it begins, every few
 * milliseconds while it runs, and when it ends. Each line is one write, and its time is taken
 * before the write: this process did run then.
 *
 * section [-k MODE] [-m MS] [-x STATUS] [-u NS] [-a] [-t] [-d] HISTORY LOCK JOB [COMMAND...]
 *     -k    the lock is held so: exclusive, shared, slots (default: exclusive); the slot is that of
 *           FAIRLOCK_SLOT
 *     -m    lasts so long; with COMMAND, as long as that runs
 *     -x    ends with this status
 *     -u    holds the lock until this time of CLOCK_BOOTTIME: then writes no more, ends with 76
 *     -a    holds all locks of FAIRLOCK_TOKENS, and writes that and FAIRLOCK_HELD, the owners
 *     -t    ignores SIGTERM
 *     -d    has a child in a session of its own, which writes as well
 * section now    prints that clock */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define BEAT_NS 5000000
#define LATE 76

struct section {
	const char *lock, *job, *mode;
	bool has_several;
	int history;
	int64_t until; /* 0: always */
};

/* Asks the kernel, because fairlock may have another clock (see clockwork.c). */
static int64_t now_ns(void)
{
	struct timespec now;

	syscall(SYS_clock_gettime, CLOCK_BOOTTIME, &now);
	return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

static const char *variable(const char *name, const char *without)
{
	const char *value = getenv(name);

	return value && *value ? value : without;
}

static void say(const struct section *section, const char *what)
{
	const char *tokens = section->has_several ? variable("FAIRLOCK_TOKENS", "") : "";
	char line[4096];
	const int64_t now = now_ns();
	int length;

	if (section->until && now >= section->until)
		_exit(LATE);
	length = snprintf(line, sizeof(line),
			  "{\"at\":%" PRId64 ",\"what\":\"%s\",\"lock\":\"%s\",\"token\":%s,"
			  "\"job\":\"%s\",\"pid\":%d,\"owner\":\"%s\",\"mode\":\"%s\","
			  "\"slot\":\"%s\",\"tokens\":\"%s\",\"held\":\"%s\"}",
			  now, what, section->lock, variable("FAIRLOCK_TOKEN", "0"), section->job,
			  (int)getpid(), variable("FAIRLOCK_OWNER", "0"), section->mode,
			  variable("FAIRLOCK_SLOT", ""), tokens, variable("FAIRLOCK_HELD", ""));
	if (length >= (int)sizeof(line) - 1)
		_exit(71);
	/* the tokens of several locks stand on a line each */
	for (char *end = line; (end = strchr(end, '\n')) != NULL;)
		*end = '|';
	line[length++] = '\n';
	if (write(section->history, line, (size_t)length) != length)
		_exit(71);
}

static void beat(const struct section *section)
{
	const struct timespec pause = {.tv_nsec = BEAT_NS};

	nanosleep(&pause, NULL);
	say(section, "beat");
}

/* fairlock must leave none of its descriptors to COMMAND. */
static int count_descriptors(void)
{
	DIR *dir = opendir("/proc/self/fd");
	struct dirent *entry;
	int count = 0;

	if (!dir)
		return 0;
	while ((entry = readdir(dir)) != NULL) {
		const int fd = atoi(entry->d_name);

		count += fd > STDERR_FILENO && fd != dirfd(dir);
	}
	closedir(dir);
	return count;
}

static void beat_until(const struct section *section, int64_t end)
{
	while (now_ns() < end)
		beat(section);
}

static pid_t start_child(const struct section *section, int64_t end)
{
	const pid_t pid = fork();

	if (pid == 0) {
		setsid();
		beat_until(section, end);
		_exit(0);
	}
	return pid;
}

/* Runs COMMAND, and writes until it has ended. Returns its status. */
static int run_command(const struct section *section, char **argv)
{
	const pid_t pid = fork();
	int status;

	if (pid == 0) {
		setenv("TORTURE_INNER", "yes", 1);
		execvp(argv[0], argv);
		_exit(127);
	}
	while (waitpid(pid, &status, WNOHANG) == 0)
		beat(section);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int main(int argc, char **argv)
{
	struct section section = {.mode = "exclusive"};
	int64_t length = 0;
	int option, status = 0;
	bool has_child = false;
	pid_t child = 0;
	const int descriptors = count_descriptors();

	if (argc == 2 && strcmp(argv[1], "now") == 0)
		return printf("%" PRId64 "\n", now_ns()) < 0;
	while ((option = getopt(argc, argv, "+k:m:x:u:atd")) != -1) {
		switch (option) {
		case 'k':
			section.mode = optarg;
			break;
		case 'm':
			length = atoll(optarg) * 1000000;
			break;
		case 'x':
			status = atoi(optarg);
			break;
		case 'u':
			section.until = atoll(optarg);
			break;
		case 'a':
			section.has_several = true;
			break;
		case 't':
			signal(SIGTERM, SIG_IGN);
			break;
		case 'd':
			has_child = true;
			break;
		default:
			return 64;
		}
	}
	if (argc - optind < 3)
		return 64;
	section.lock = argv[optind + 1];
	section.job = argv[optind + 2];
	section.history = open(argv[optind], O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
	if (section.history < 0)
		return 71;
	say(&section, "start");
	if (descriptors > 0)
		say(&section, "descriptors");

	const int64_t end = now_ns() + length;

	if (has_child)
		child = start_child(&section, end);
	if (argc - optind > 3) {
		const int result = run_command(&section, argv + optind + 3);

		status = status ? status : result;
	} else {
		beat_until(&section, end);
	}
	if (child > 0)
		while (waitpid(child, NULL, 0) < 0 && errno == EINTR)
			;
	say(&section, "end");
	return status;
}
