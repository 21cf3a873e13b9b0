/* The server sends a message as a push of three strings, in protocol 3. */
#include "redis/message_peek.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

/* A push has fewer bytes than this beside its channel and its text. */
#define FRAME_MAX_BYTES 64
#define PUSH_MAX_BYTES (FRAME_MAX_BYTES + CHANNEL_MAX_BYTES + MESSAGE_MAX_BYTES)

/* Returns how many bytes stand before the length of the text. */
static size_t write_head(char head[PUSH_MAX_BYTES], const struct client *client,
			 const char *channel)
{
	const char *kind = client->by_shard ? "smessage" : "message";

	return (size_t)snprintf(head, PUSH_MAX_BYTES, ">3\r\n$%zu\r\n%s\r\n$%zu\r\n%s\r\n$",
				strlen(kind), kind, strlen(channel), channel);
}

size_t message_peek(const struct client *client, const char *channel, char text[MESSAGE_MAX_BYTES])
{
	char head[PUSH_MAX_BYTES], push[PUSH_MAX_BYTES + 1];
	const size_t head_length = write_head(head, client, channel);
	const ssize_t came =
		recv(client->connection.fd, push, PUSH_MAX_BYTES, MSG_PEEK | MSG_DONTWAIT);
	size_t length, text_length;
	char *behind;

	if (came <= (ssize_t)head_length || memcmp(push, head, head_length) != 0)
		return 0;
	length = (size_t)came;
	push[length] = '\0';
	text_length = strtoul(push + head_length, &behind, 10);
	if (text_length >= MESSAGE_MAX_BYTES || strncmp(behind, "\r\n", 2) != 0 ||
	    strlen(behind) != 2 + text_length + 2 ||
	    push + length != behind + 2 + text_length + 2 || strcmp(push + length - 2, "\r\n") != 0)
		return 0;
	memcpy(text, behind + 2, text_length);
	text[text_length] = '\0';
	return length;
}

void message_skip(const struct client *client, size_t length)
{
	char push[PUSH_MAX_BYTES];

	(void)!recv(client->connection.fd, push, length, MSG_DONTWAIT);
}
