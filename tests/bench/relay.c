/* The least that a hand-over over a server can take: nobody holds anything. So many processes wait
 * for a message, each with a child that waits to become STAMP. Who gets the message lets its child
 * go, waits for its end, and sends the message for the next.
 *
 * relay COUNT SOCKET STAMP FILE MICROSECONDS */

#include <hiredis/hiredis.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static _Noreturn void die(const char *why)
{
	fprintf(stderr, "relay: %s\n", why);
	exit(71);
}

/* Of protocol 3, where a subscriber may send, too. */
static redisContext *server_at(const char *path)
{
	redisContext *server = redisConnectUnix(path);

	if (!server || server->err || !redisCommand(server, "HELLO 3"))
		die("cannot connect");
	redisSetPushCallback(server, NULL);
	return server;
}

/* Subscriptions and messages are both pushes. */
static void await_push(redisContext *server)
{
	void *push;

	if (redisGetReply(server, &push))
		die("the connection has ended");
	freeReplyObject(push);
}

static void pass_on(redisContext *server, int to)
{
	int done = 0;

	redisAppendCommand(server, "PUBLISH relay:%d go", to);
	while (!done)
		if (redisBufferWrite(server, &done))
			die("cannot send");
}

static pid_t make_child(char **stamp, int *start)
{
	int ends[2];
	char byte;
	pid_t pid;

	if (pipe(ends) < 0 || (pid = fork()) < 0)
		die("cannot fork");
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		close(ends[1]);
		if (read(ends[0], &byte, 1) == 1)
			execv(*stamp, stamp);
		_exit(127);
	}
	close(ends[0]);
	*start = ends[1];
	return pid;
}

static void run(int number, const char *path, char **stamp, int ready)
{
	redisContext *server = server_at(path);
	int start;
	pid_t child;

	redisAppendCommand(server, "SUBSCRIBE relay:%d", number);
	await_push(server);
	child = make_child(stamp, &start);
	if (write(ready, "", 1) != 1)
		die("cannot say that we are ready");
	await_push(server);
	if (write(start, "", 1) != 1 || waitpid(child, NULL, 0) != child)
		die("cannot run the stamp");
	pass_on(server, number + 1);
}

int main(int argc, char **argv)
{
	const int count = argc == 6 ? atoi(argv[1]) : 0;
	int ready[2];
	char byte;

	if (count < 1 || pipe(ready) < 0)
		die("usage: relay COUNT SOCKET STAMP FILE MICROSECONDS");
	for (int number = 1; number <= count; number++) {
		char text[16];
		char *stamp[] = {argv[3], argv[4], text, argv[5], NULL};

		snprintf(text, sizeof(text), "%d", number);
		switch (fork()) {
		case -1:
			die("cannot fork");
		case 0:
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			run(number, argv[2], stamp, ready[1]);
			_exit(0);
		}
		if (read(ready[0], &byte, 1) != 1)
			die("somebody has failed");
	}
	nanosleep(&(struct timespec){0, 200000000}, NULL);
	pass_on(server_at(argv[2]), 1);
	for (int left = count; left > 0; left--)
		if (wait(NULL) < 0)
			die("cannot wait");
	return 0;
}
