/* Sends a command to a server, or one after another, and prints the answers. The tests do that some
 * twenty thousand times, and redis-cli takes five times as long to start, since it loads many
 * libraries.
 *
 * ask ADDRESS [--raw] [-x] WORD...    -x: the standard input is the last word
 * ask ADDRESS [--raw]                 each line of the standard input is a command of words between
 *                                     blanks, without quotes
 *
 * ADDRESS is a socket's path, or a port of 127.0.0.1. The environment variable REDISCLI_AUTH has
 * the password if there is one. An answer has the form that redis-cli gives it if the standard
 * output is a file, with or without --raw; only behind a text that ends with a newline, as that of
 * INFO, there is one more. */
#include <hiredis/hiredis.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define INPUT_MAX_BYTES (8 << 20)
#define WORDS_MAX 16400 /* CLUSTER ADDSLOTS has up to 16,386 */

static void print(const redisReply *reply)
{
	switch (reply->type) {
	case REDIS_REPLY_ARRAY:
		for (size_t i = 0; i < reply->elements; i++) {
			if (i > 0)
				putchar('\n');
			print(reply->element[i]);
		}
		break;
	case REDIS_REPLY_INTEGER:
		printf("%lld", reply->integer);
		break;
	case REDIS_REPLY_NIL:
		break;
	default:
		fwrite(reply->str, 1, reply->len, stdout);
	}
	if (reply->type == REDIS_REPLY_ERROR)
		putchar('\n');
}

static redisContext *reach(const char *address)
{
	const int is_port = address[strspn(address, "0123456789")] == '\0';
	const char *password = getenv("REDISCLI_AUTH");
	redisContext *context =
		is_port ? redisConnect("127.0.0.1", atoi(address)) : redisConnectUnix(address);

	if (context && !context->err && password && *password)
		freeReplyObject(redisCommand(context, "AUTH %s", password));
	return context;
}

/* The last word has input_length bytes, unless that is 0. */
static int ask(redisContext *context, int count, const char **words, size_t input_length)
{
	static size_t lengths[WORDS_MAX + 1];
	redisReply *reply;

	for (int i = 0; i < count; i++)
		lengths[i] = strlen(words[i]);
	if (input_length > 0)
		lengths[count - 1] = input_length;
	reply = redisCommandArgv(context, count, words, lengths);
	if (!reply)
		return -1;
	print(reply);
	putchar('\n');
	freeReplyObject(reply);
	return 0;
}

/* Returns a status for exit. */
static int complain(const char *what, const char *cause)
{
	fprintf(stderr, "ask: %s: %s\n", what, cause);
	return 1;
}

/* Returns the number of words, or -1 if redis-cli might see others. */
static int split(char *line, const char **words)
{
	int count = 0;

	if (strpbrk(line, "\"'"))
		return -1;
	for (char *word = strtok(line, " \n"); word; word = strtok(NULL, " \n")) {
		if (count == WORDS_MAX)
			return -1;
		words[count++] = word;
	}
	return count;
}

static int ask_lines(redisContext *context)
{
	static const char *words[WORDS_MAX];
	char *line = NULL;
	size_t size = 0;

	while (getline(&line, &size, stdin) > 0) {
		const int count = split(line, words);

		if (count < 0)
			return complain(line, "a line has quotes, or too many words");
		if (count > 0 && ask(context, count, words, 0) < 0)
			return -1;
	}
	free(line);
	return 0;
}

int main(int argc, char **argv)
{
	static char input[INPUT_MAX_BYTES];
	redisContext *context;
	char **words = argv + 2;
	size_t length = 0;
	int count = argc - 2, status = 0;

	if (count > 0 && strcmp(*words, "--raw") == 0)
		words++, count--;
	if (count > 1 && strcmp(*words, "-x") == 0) {
		words++;
		words[count - 1] = input; /* in the place of argv's NULL */
		length = fread(input, 1, sizeof(input), stdin);
	}
	if (count < 0 || count > WORDS_MAX || (count > 0 && **words == '-') ||
	    length == sizeof(input))
		return complain("usage", "ask ADDRESS [--raw] [-x] [WORD...], with less input");
	context = reach(argv[1]);
	if (!context)
		return complain(argv[1], "out of memory");
	if (!context->err)
		status = count ? ask(context, count, (const char **)words, length)
			       : ask_lines(context);
	if (context->err)
		return complain(argv[1], context->errstr);
	return fflush(stdout) == 0 ? status : 1;
}
