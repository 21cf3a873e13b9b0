/* The least that a client can do which sends given requests: connect, send FILE as it is, read
 * ANSWERS answers, end.
 *
 * relay SOCKET FILE ANSWERS [RELEASE PROGRAM [ARGUMENT...]]
 *
 * With PROGRAM it does the least that a `wrap` can do. If no answer grants the lock, it waits for
 * the message that does. A message that it is first in the queue makes a child ready, which runs
 * PROGRAM when the lock is granted. When that ends, it sends RELEASE. It renews and guards nothing.
 */
#include <fcntl.h>
#include <hiredis/hiredis.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

static _Noreturn void die(const char *why)
{
	fprintf(stderr, "relay: %s\n", why);
	exit(71);
}

static void append(redisContext *server, const char *path)
{
	char requests[8192];
	const int fd = open(path, O_RDONLY | O_CLOEXEC);
	const ssize_t length = fd < 0 ? -1 : read(fd, requests, sizeof(requests));

	if (length <= 0 || length == sizeof(requests))
		die("there are no such requests");
	redisAppendFormattedCommand(server, requests, (size_t)length);
	close(fd);
}

/* Messages are read like answers. */
static redisReply *next(redisContext *server)
{
	redisReply *reply;

	if (redisGetReply(server, (void **)&reply) != REDIS_OK || reply->type == REDIS_REPLY_ERROR)
		die("the server refused a request");
	return reply;
}

/* Whether a part of it begins with this word. */
static bool says(const redisReply *reply, const char *word)
{
	for (size_t i = 0; i < reply->elements; i++)
		if (reply->element[i]->type == REDIS_REPLY_STRING &&
		    strncmp(reply->element[i]->str, word, strlen(word)) == 0)
			return true;
	return false;
}

/* Makes a child that runs PROGRAM in a child of its own when *start gets a byte. It does not
 * outlive us. */
static pid_t make_ready(char **program, int *start)
{
	int ends[2], status;
	char byte;
	pid_t pid;

	if (pipe(ends) < 0 || (pid = fork()) < 0)
		die("cannot make a child");
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		close(ends[1]);
		if (read(ends[0], &byte, 1) == 1 && (pid = vfork()) == 0) {
			execvp(*program, program);
			_exit(127);
		}
		_exit(waitpid(pid, &status, 0) != pid || status ? 127 : 0);
	}
	close(ends[0]);
	*start = ends[1];
	return pid;
}

static void run(redisContext *server, bool granted, char **program)
{
	int start, status;
	pid_t child = 0;
	redisReply *message;

	while (!granted) {
		message = next(server);
		granted = says(message, "granted");
		if (child == 0 && says(message, "first"))
			child = make_ready(program, &start);
		freeReplyObject(message);
	}
	if (child == 0)
		child = make_ready(program, &start);
	if (write(start, "", 1) != 1 || waitpid(child, &status, 0) != child || status)
		die("cannot run the program");
}

int main(int argc, char **argv)
{
	redisContext *server = argc > 3 ? redisConnectUnix(argv[1]) : NULL;
	bool granted = false;
	redisReply *answer;
	int done = 0;

	if (!server || server->err)
		die("cannot connect");
	redisSetPushCallback(server, NULL);
	append(server, argv[2]);
	for (int count = atoi(argv[3]); count > 0; count--) {
		answer = next(server);
		granted |= says(answer, "granted");
		freeReplyObject(answer);
	}
	if (argc < 6)
		return 0;
	run(server, granted, argv + 5);
	append(server, argv[4]);
	while (!done)
		if (redisBufferWrite(server, &done) != REDIS_OK)
			die("cannot send");
	return 0;
}
