/* Fuzzes what a user writes. An input has four parts, separated by a line of "===": the words of a
 * command line, one a line, behind a first byte that chooses the command; variables, one a line;
 * the user's configuration file; and a file with a password, called "pw".
 *
 * For: cli/args.c cli/options.c cli/settings.c redis/server.c base/clock.c base/signals.c */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/args.h"
#include "cli/command.h"
#include "lock/owner.h"
#include "parts/fuzz.h"
#include "parts/world.h"

#define COMMANDS 8
#define WORDS 64
#define VARIABLES 32

/* Cuts the text into lines; returns how many there are. lines ends with a NULL. */
static int cut(char *text, char **lines, int most)
{
	int count = 0;

	while (text && count < most)
		lines[count++] = fuzz_next(&text, "\n");
	lines[count] = NULL;
	return count;
}

/* Whether SECRET is the password and nothing else. */
static bool is_secret(const struct settings *settings, size_t count)
{
	const char *const places[] = {settings->server.password, settings->options.password};

	for (size_t i = 0; i < 2; i++)
		if (places[i] && strstr(places[i], SECRET))
			return count == 1 && !fuzz_shows_secret(&settings->server);
	return false;
}

/* Messages, labels and ps show no password. */
static void check_hidden(const char *said, char **words)
{
	HOLDS(!strstr(said, SECRET));
	for (; *words; words++)
		HOLDS(!strstr(*words, SECRET));
}

/* Whatever the words, they describe a process, and whatever the room, its description fits. */
static void check_description(char **words, const char *reason)
{
	char by[BY_MAX_BYTES], shown[OWNER_SHOWN_BYTES];

	owner_describe(by, 1, words, reason && strlen(reason) <= 200 ? reason : NULL);
	HOLDS(strlen(by) < BY_MAX_BYTES);
	for (size_t room = 0; room <= MESSAGE_CHARACTERS; room += 7)
		HOLDS(count_characters(owner_show(shown, room, by)) <= room);
}

/* Another program may set FAIRLOCK_HELD to anything. */
static void check_held(void)
{
	char(*ids)[OWNER_MAX_BYTES];
	const int count = owner_inherited(&ids);

	HOLDS(count >= 0 && count <= HELD_MAX);
	for (int i = 0; i < count; i++)
		HOLDS(owner_is_valid(ids[i]) && (i == 0 || strcmp(ids[i], ids[i - 1]) != 0));
}

static void read_all(const struct command *command, int argc, char **argv, size_t secrets)
{
	char *words[WORDS + 1]; /* as they stand: parse_args changes their order */
	struct settings settings;
	struct error err = {.status = STATUS_OK};
	int failed;

	memcpy(words, argv, sizeof(words));
	check_description(words, *words);
	check_held();
	settings_init(&settings);
	failed = parse_args(&settings.options, &command, &argc, argv, &err);
	HOLDS(!failed || err.status == STATUS_USAGE);
	if (!failed && !options_want_help(&settings.options))
		failed = settings_merge(&settings, command, &err);
	HOLDS(!failed ||
	      (*err.text && (err.status == STATUS_USAGE || err.status == STATUS_CONFIG)));
	if (is_secret(&settings, secrets))
		check_hidden(failed ? err.text : server_shown(&settings.server), words);
	settings_free(&settings);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static char home[] = "HOME=/home/somebody", none[] = "";
	char *text = fuzz_text(data, size), *rest = text, **before = environ;
	char *words[WORDS + 1], *variables[VARIABLES + 2] = {home}, *parts[4];
	struct world_file files[] = {{.path = "/home/somebody/.config/fairlock.conf"},
				     {.path = "pw"}};
	size_t secrets = 0;

	for (int i = 0; i < 4; i++) {
		parts[i] = rest ? fuzz_next(&rest, "\n===\n") : none;
		secrets += fuzz_count(parts[i], SECRET);
	}
	for (int i = 0; i < 2; i++) {
		files[i].text = parts[2 + i];
		files[i].length = strlen(parts[2 + i]);
	}
	const int argc = cut(*parts[0] ? parts[0] + 1 : parts[0], words, WORDS);

	cut(parts[1], variables + 1, VARIABLES);
	environ = variables;
	world_files(files, 2);
	read_all(all_commands[(size > 0 ? data[0] : 0) % COMMANDS], argc, words, secrets);
	world_files(NULL, 0);
	environ = before;
	free(text);
	return 0;
}
