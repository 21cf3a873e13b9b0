/* What no lock can be faster than. Prints nanoseconds, a line for each time.
 *
 * floor COUNT spawn PROGRAM        fork, exec and wait
 * floor COUNT release STAMP FILE   a byte on a pipe, for which a child waits, until STAMP runs
 * floor COUNT ping SOCKET          a round trip over an open connection
 * floor COUNT publish SOCKET       from PUBLISH in one process to the message in another */

#include <hiredis/hiredis.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static int64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* Whoever is to be woken sleeps by then. */
static void pause_a_little(void)
{
	nanosleep(&(struct timespec){0, 2000000}, NULL);
}

static void tell(int64_t ns)
{
	printf("%lld\n", (long long)ns);
}

static _Noreturn void die(const char *why)
{
	fprintf(stderr, "floor: %s\n", why);
	exit(71);
}

static void spawn(int count, char **program)
{
	for (int i = 0; i < count; i++) {
		const int64_t start = now_ns();
		const pid_t pid = fork();

		if (pid == 0) {
			execvp(program[0], program);
			_exit(127);
		}
		if (pid < 0 || waitpid(pid, NULL, 0) < 0)
			die("cannot fork");
		tell(now_ns() - start);
	}
}

/* When the stamp that was made last started. */
static int64_t last_start_ns(const char *path)
{
	FILE *file = fopen(path, "r");
	char line[80], *word;
	long long start = 0;

	if (!file)
		die("no stamp was made");
	while (fgets(line, sizeof(line), file))
		if ((word = strchr(line, ' ')))
			start = strtoll(word, NULL, 10);
	fclose(file);
	return start;
}

static void release(int count, const char *stamp, const char *file)
{
	for (int i = 0; i < count; i++) {
		int ends[2], status;
		char byte;

		if (pipe(ends) < 0)
			die("cannot make a pipe");
		const pid_t pid = fork();

		if (pid == 0) {
			close(ends[1]);
			if (read(ends[0], &byte, 1) == 1)
				execl(stamp, stamp, file, "0", "0", (char *)NULL);
			_exit(127);
		}
		close(ends[0]);
		pause_a_little();
		const int64_t start = now_ns();

		if (write(ends[1], "", 1) != 1 || waitpid(pid, &status, 0) != pid || status)
			die("cannot run the stamp");
		tell(last_start_ns(file) - start);
		close(ends[1]);
	}
}

static redisContext *server_at(const char *path)
{
	redisContext *server = redisConnectUnix(path);

	if (!server || server->err)
		die("cannot connect");
	return server;
}

static void ping(int count, const char *path)
{
	redisContext *server = server_at(path);

	for (int i = 0; i < count; i++) {
		pause_a_little();
		const int64_t start = now_ns();

		freeReplyObject(redisCommand(server, "PING"));
		tell(now_ns() - start);
	}
	redisFree(server);
}

static void listen_to(const char *path, int count, int ready)
{
	redisContext *server = server_at(path);
	redisReply *reply = redisCommand(server, "SUBSCRIBE floor");

	freeReplyObject(reply);
	(void)!write(ready, "", 1);
	while (count-- > 0 && redisGetReply(server, (void **)&reply) == REDIS_OK) {
		tell(now_ns() - strtoll(reply->element[2]->str, NULL, 10));
		freeReplyObject(reply);
	}
	fflush(stdout);
	_exit(0);
}

static void publish(int count, const char *path)
{
	redisContext *server = server_at(path);
	int ends[2];
	char byte;
	pid_t pid;

	if (pipe(ends) < 0 || (pid = fork()) < 0)
		die("cannot fork");
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		listen_to(path, count, ends[1]);
	}
	if (read(ends[0], &byte, 1) != 1)
		die("nobody listens");
	while (count-- > 0) {
		pause_a_little();
		freeReplyObject(redisCommand(server, "PUBLISH floor %lld", (long long)now_ns()));
	}
	waitpid(pid, NULL, 0);
	redisFree(server);
}

int main(int argc, char **argv)
{
	const int count = argc > 3 ? atoi(argv[1]) : 0;

	if (count <= 0)
		return 64;
	if (strcmp(argv[2], "spawn") == 0)
		spawn(count, argv + 3);
	else if (strcmp(argv[2], "release") == 0 && argc == 5)
		release(count, argv[3], argv[4]);
	else if (strcmp(argv[2], "ping") == 0)
		ping(count, argv[3]);
	else if (strcmp(argv[2], "publish") == 0)
		publish(count, argv[3]);
	else
		return 64;
	return 0;
}
