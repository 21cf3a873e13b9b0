/* The least that a client can do that sends given requests: connect, send, read the replies, send
 * the next requests, end.
 *
 * requests SOCKET [FILE COUNT]... [-- PROGRAM...]
 *
 * It sends FILE as it is, and reads COUNT replies. After the first replies it makes a process that
 * runs PROGRAM and does all the rest, as the guard of `wrap` does, and waits for its end. */
#include <fcntl.h>
#include <hiredis/hiredis.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* Subscriptions are confirmed by pushes, which count as well. */
static int read_reply(redisContext *server)
{
	redisReply *reply;

	if (redisGetReply(server, (void **)&reply) || reply->type == REDIS_REPLY_ERROR) {
		fprintf(stderr, "requests: %s\n", server->err ? server->errstr : reply->str);
		return -1;
	}
	freeReplyObject(reply);
	return 0;
}

static int ask(redisContext *server, const char *path, int count)
{
	char requests[8192];
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t length = fd < 0 ? -1 : read(fd, requests, sizeof(requests));

	if (length < 0 || length == sizeof(requests) ||
	    redisAppendFormattedCommand(server, requests, (size_t)length))
		return -1;
	while (count-- > 0)
		if (read_reply(server))
			return -1;
	return 0;
}

static int await_end(pid_t pid)
{
	int status;

	return pid < 0 || waitpid(pid, &status, 0) != pid || status;
}

/* Goes on in a child, and ends as the child does. */
static int run_guarded(char **program)
{
	pid_t pid = fork();

	if (pid)
		_exit(await_end(pid));
	pid = fork();
	if (pid == 0) {
		execvp(program[0], program);
		_exit(127);
	}
	return await_end(pid);
}

int main(int argc, char **argv)
{
	redisContext *server = argc > 1 ? redisConnectUnix(argv[1]) : NULL;
	char **program = NULL;

	for (int i = 2; i + 1 < argc && !program; i++)
		if (strcmp(argv[i], "--") == 0)
			program = argv + i + 1;
	if (!server || server->err)
		return 1;
	redisSetPushCallback(server, NULL);
	for (int i = 2; i + 1 < argc && strcmp(argv[i], "--") != 0; i += 2) {
		if (ask(server, argv[i], atoi(argv[i + 1])))
			return 1;
		if (i == 2 && program && run_guarded(program))
			return 1;
	}
	return 0;
}
