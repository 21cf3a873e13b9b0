/* The least that a program can do that asks a Redis server what it was told to ask: connect, send,
 * read the replies, send what comes next, end.
 *
 * requests SOCKET [FILE COUNT]...    FILE is sent as it is; COUNT replies come back */

#include <fcntl.h>
#include <hiredis/hiredis.h>
#include <stdio.h>
#include <stdlib.h>
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

int main(int argc, char **argv)
{
	redisContext *server = argc > 1 ? redisConnectUnix(argv[1]) : NULL;

	if (!server || server->err)
		return 1;
	redisSetPushCallback(server, NULL);
	for (int i = 2; i + 1 < argc; i += 2)
		if (ask(server, argv[i], atoi(argv[i + 1])))
			return 1;
	return 0;
}
