/* Tests redis/message_peek.c: nothing but one whole message on the channel is seen, and nothing is
 * read. */
#include "redis/message_peek.h"

#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "check.h"

#define CHANNEL "redisson_lock__channel:{job}:7"
#define HEAD ">3\r\n$7\r\nmessage\r\n$30\r\n" CHANNEL "\r\n"
#define TEXT HEAD "$7\r\ngranted\r\n"

static const struct {
	const char *bytes, *text; /* NULL: no message is seen */
	bool by_shard;
} cases[] = {
	{TEXT, "granted", false},
	{HEAD "$0\r\n\r\n", "", false},
	{HEAD "$4\r\na\r\nb\r\n", "a\r\nb", false},
	{">3\r\n$8\r\nsmessage\r\n$30\r\n" CHANNEL "\r\n$7\r\ngranted\r\n", "granted", true},
	/* a part, or more than one */
	{"", NULL, false},
	{">3\r\n", NULL, false},
	{HEAD, NULL, false},
	{HEAD "$7\r\ngrant", NULL, false},
	{HEAD "$7\r\ngranted", NULL, false},
	{HEAD "$7\r\ngranted\r", NULL, false},
	{HEAD "$7", NULL, false},
	{TEXT TEXT, NULL, false},
	{TEXT "+", NULL, false},
	/* something else */
	{TEXT, NULL, true},
	{">3\r\n$8\r\nsmessage\r\n$30\r\n" CHANNEL "\r\n$7\r\ngranted\r\n", NULL, false},
	{">3\r\n$7\r\nmessage\r\n$30\r\nredisson_lock__channel:{job}:8\r\n$7\r\ngranted\r\n", NULL,
	 false},
	{">3\r\n$7\r\nmessage\r\n$1\r\nx\r\n$7\r\ngranted\r\n", NULL, false},
	{"*3\r\n$7\r\nmessage\r\n$30\r\n" CHANNEL "\r\n$7\r\ngranted\r\n", NULL, false},
	{HEAD "$6\r\ngranted\r\n", NULL, false},
	{HEAD "$7\r\ngrantedxx", NULL, false},
	{HEAD "$8\r\ngranted\r\n", NULL, false},
	{HEAD "$-1\r\n", NULL, false},
	{HEAD "$99999999999999999999\r\ngranted\r\n", NULL, false},
	{HEAD "$\r\ngranted\r\n", NULL, false},
	{HEAD "$7\ngranted\r\n", NULL, false},
	{"+OK\r\n", NULL, false},
};

static size_t left_in(int fd)
{
	char bytes[4096];
	const ssize_t length = recv(fd, bytes, sizeof(bytes), MSG_PEEK | MSG_DONTWAIT);

	return length < 0 ? 0 : (size_t)length;
}

static void check_bytes(struct tally *tally, const char *bytes, size_t length, const char *text,
			bool by_shard)
{
	int ends[2];
	char seen[MESSAGE_MAX_BYTES] = "untouched";

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) < 0)
		return;
	const struct client client = {.connection = {.fd = ends[0]}, .by_shard = by_shard};

	CHECK(tally, write(ends[1], bytes, length) == (ssize_t)length);
	const size_t takes = message_peek(&client, CHANNEL, seen);

	CHECK(tally, left_in(ends[0]) == length);
	CHECK(tally, takes == (text ? length : 0));
	if (text)
		CHECK(tally, strcmp(seen, text) == 0);
	/* what comes behind the message stays */
	CHECK(tally, write(ends[1], "+OK\r\n", 5) == 5);
	if (takes > 0) {
		message_skip(&client, takes);
		CHECK(tally, left_in(ends[0]) == 5);
	}
	close(ends[0]);
	close(ends[1]);
}

/* The longest text that fits, and one byte more. */
static void check_long(struct tally *tally, size_t length, bool fits)
{
	char bytes[sizeof(HEAD) + 16 + MESSAGE_MAX_BYTES], text[MESSAGE_MAX_BYTES + 1];

	memset(text, 'x', length);
	text[length] = '\0';
	snprintf(bytes, sizeof(bytes), HEAD "$%zu\r\n%s\r\n", length, text);
	check_bytes(tally, bytes, strlen(bytes), fits ? text : NULL, false);
}

int main(void)
{
	struct tally tally = {0};
	static const char zero[] = HEAD "$7\r\ngra\0ted\r\n";

	for (size_t i = 0; i < COUNT(cases); i++)
		check_bytes(&tally, cases[i].bytes, strlen(cases[i].bytes), cases[i].text,
			    cases[i].by_shard);
	check_bytes(&tally, zero, sizeof(zero) - 1, NULL, false);
	check_long(&tally, MESSAGE_MAX_BYTES - 1, true);
	check_long(&tally, MESSAGE_MAX_BYTES, false);
	return conclude(&tally);
}
