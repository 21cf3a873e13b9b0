/* Calls redis/local_server.c for tests/servers/local.bats. Prints an error as "STATUS: TEXT".
 *
 * local open                    prints the folder of the private server
 * local start                   starts it unless it runs, waits until it listens, prints its pid
 * local start-ignoring-child    the same with SIGCHLD ignored and every signal blocked
 * local pid                     prints the server's pid, or 0
 * local is-server PID           prints yes or no */
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "redis/local_server.h"

static int report(const struct error *err)
{
	printf("%d: %s\n", (int)err->status, err->text);
	return (int)err->status;
}

static int start(int folder)
{
	const struct timespec pause = {.tv_nsec = 3000000};
	int64_t until_ms = clock_ms() + 5000;
	struct error err;

	for (;;) {
		int fd = local_server_connect(folder);

		if (fd >= 0) {
			printf("%d\n", (int)local_server_pid(folder));
			close(fd);
			return 0;
		}
		if (clock_ms() > until_ms) {
			local_server_failure(folder, &err);
			return report(&err);
		}
		if (local_server_start(folder, &err) < 0)
			return report(&err);
		nanosleep(&pause, NULL);
	}
}

int main(int argc, char **argv)
{
	const char *verb = argc > 1 ? argv[1] : "";
	char path[PATH_MAX];
	struct error err;
	sigset_t all;
	int folder;

	if (strcmp(verb, "is-server") == 0)
		return puts(local_server_is_ours((pid_t)atoi(argv[2])) ? "yes" : "no") < 0;
	folder = local_server_open(&err);
	if (folder < 0)
		return report(&err);
	if (strcmp(verb, "open") == 0)
		return fchdir(folder) < 0 || !getcwd(path, sizeof(path)) || puts(path) < 0;
	if (strcmp(verb, "pid") == 0)
		return printf("%d\n", (int)local_server_pid(folder)) < 0;
	if (strcmp(verb, "start-ignoring-child") == 0) {
		signal(SIGCHLD, SIG_IGN);
		sigfillset(&all);
		sigprocmask(SIG_SETMASK, &all, NULL);
	}
	return start(folder);
}
