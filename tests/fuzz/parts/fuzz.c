/* The same locale, time zone and terminal for every target. */
#include "fuzz.h"

#include <locale.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "redis/server.h"

static FILE *real_output;
static char *output;
static size_t output_length;

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	signal(SIGPIPE, SIG_IGN);
	setenv("LC_ALL", "C.UTF-8", 1);
	setlocale(LC_CTYPE, "");
	setenv("TZ", "UTC", 1);
	setenv("TERM", "xterm", 1);
	setenv("COLUMNS", "80", 1);
	setenv("LOGNAME", "somebody", 1);
	unsetenv("FAIRLOCK_HELD");
	return 0;
}

void fuzz_holds(bool holds, const char *file, int line, const char *what)
{
	if (holds)
		return;
	fflush(stdout);
	if (output)
		fwrite(output, 1, output_length, stderr); /* for whoever repeats the input */
	fprintf(stderr, "\n%s:%d: does not hold: %s\n", file, line, what);
	abort();
}

char *fuzz_text(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1);

	if (!text)
		abort();
	if (size > 0)
		memcpy(text, data, size);
	text[size] = '\0';
	return text;
}

char *fuzz_next(char **rest, const char *separator)
{
	char *word = *rest, *end = word ? strstr(word, separator) : NULL;

	if (end)
		*end = '\0';
	*rest = end ? end + strlen(separator) : NULL;
	return word;
}

void fuzz_capture(void)
{
	free(output);
	output = NULL;
	real_output = stdout;
	stdout = open_memstream(&output, &output_length);
	if (!stdout)
		abort();
}

const char *fuzz_captured(size_t *length)
{
	fclose(stdout);
	stdout = real_output;
	*length = output_length;
	return output;
}

size_t fuzz_count(const char *text, const char *word)
{
	size_t count = 0;

	for (; (text = strstr(text, word)) != NULL; text++)
		count++;
	return count;
}

static bool says_secret(const char *text)
{
	return text && strstr(text, SECRET);
}

bool fuzz_shows_secret(const struct server *server)
{
	for (size_t i = 0; i < server->seed_count; i++)
		if (says_secret(server->seeds[i].host))
			return true;
	return says_secret(server->user) || says_secret(server->master);
}
