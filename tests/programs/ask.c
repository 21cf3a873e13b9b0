/* Sends one command to a server, and prints the answer. The tests do that some ten thousand times,
 * and redis-cli takes five times as long to start, since it loads many libraries.
 *
 * ask SOCKET [--raw] [-x] WORD...    -x: the standard input is the last word
 *
 * The answer has the form that redis-cli gives it if the standard output is a file, with or without
 * --raw; only behind INFO and CLIENT LIST there is one more newline. */
#include <hiredis/hiredis.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define INPUT_MAX_BYTES (8 << 20)
#define WORDS_MAX 4096

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

static int complain(const redisContext *context, const char *socket)
{
	fprintf(stderr, "ask: %s: %s\n", socket, context ? context->errstr : "out of memory");
	return 1;
}

int main(int argc, char **argv)
{
	static char input[INPUT_MAX_BYTES];
	static size_t lengths[WORDS_MAX + 1];
	redisContext *context;
	redisReply *reply = NULL;
	char **words = argv + 2;
	int count = argc - 2, has_input = 0;

	if (count > 0 && strcmp(*words, "--raw") == 0)
		words++, count--;
	if (count > 0 && strcmp(*words, "-x") == 0)
		words++, count--, has_input = 1;
	if (count <= 0 || count > WORDS_MAX || **words == '-') {
		fputs("usage: ask SOCKET [--raw] [-x] WORD...\n", stderr);
		return 2;
	}
	for (int i = 0; i < count; i++)
		lengths[i] = strlen(words[i]);
	if (has_input) {
		words[count] = input; /* in the place of argv's NULL */
		lengths[count] = fread(input, 1, sizeof(input), stdin);
		if (lengths[count++] == sizeof(input)) {
			fputs("ask: the standard input is too long\n", stderr);
			return 2;
		}
	}
	context = redisConnectUnix(argv[1]);
	if (!context || context->err ||
	    redisAppendCommandArgv(context, count, (const char **)words, lengths) != REDIS_OK ||
	    redisGetReply(context, (void **)&reply) != REDIS_OK)
		return complain(context, argv[1]);
	print(reply);
	putchar('\n');
	return fflush(stdout) == 0 ? 0 : 1;
}
