/* Fuzzes command lines. An input is the words, one a line; its first byte chooses the command.
 *
 * For: cli/options.c cli/args.c base/clock.c commands/complete.c lock/lock.c lock/owner.c
 * base/signals.c */
#include "cli/options.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/signals.h"
#include "cli/args.h"
#include "cli/command.h"
#include "lock/lock.h"
#include "lock/owner.h"
#include "parts/commands.h"
#include "parts/fuzz.h"
#include "parts/valid.h"
#include "parts/world.h"
#include "redis/server.h"

#define WORDS 64
/* Each byte may be an option, and an option two words. */
#define LONGEST 512
#define ROOM (2 * LONGEST + 8)

/* A command line, and what parse_args made of it. */
struct parsed {
	const struct command *command;
	char *words[ROOM];
	char *argv[ROOM]; /* a copy, which parse_args reorders */
	int argc, count;
	struct options options;
	struct error err;
	int result;
};

__attribute__((format(printf, 2, 3))) static void add_word(struct parsed *parsed,
							   const char *format, ...)
{
	va_list args;

	HOLDS(parsed->count < ROOM - 1);
	va_start(args, format);
	HOLDS(vasprintf(&parsed->words[parsed->count++], format, args) >= 0);
	va_end(args);
}

static void parse(struct parsed *parsed)
{
	parsed->argc = parsed->count;
	memcpy(parsed->argv, parsed->words, sizeof(parsed->argv));
	options_init(&parsed->options);
	parsed->result = parse_args(&parsed->options, &parsed->command, &parsed->argc, parsed->argv,
				    &parsed->err);
}

static void free_parsed(struct parsed *parsed)
{
	free(parsed->options.url_copy);
	for (int i = 0; i < parsed->count; i++)
		free(parsed->words[i]);
}

/* ---- Names and ids ---- */

/* Copies the part of a key that a cluster hashes, as its specification says. */
static void hash_tag(const char *key, char *tag)
{
	const char *open = strchr(key, '{'), *close = open ? strchr(open, '}') : NULL;

	if (close && close - open > 1)
		sprintf(tag, "%.*s", (int)(close - open - 1), open + 1);
	else
		strcpy(tag, key);
}

static void check_name(const char *name)
{
	static const char *const ours[] = {"fairlock:",
					   "fairlock_log:",
					   "fairlock_holders:",
					   "redisson_lock_queue:",
					   "redisson_lock_timeout:",
					   "redisson_lock__channel:"};
	char first[KEY_MAX_BYTES], tag[KEY_MAX_BYTES];
	struct lock_keys keys;
	struct error err = {.status = STATUS_OK};

	if (lock_keys_make(&keys, name, &err) < 0) {
		HOLDS(err.status == STATUS_USAGE);
		return;
	}
	HOLDS(strcmp(keys.name, name) == 0);
	HOLDS(*name && strlen(name) <= 512 && valid_text(name, strlen(name), ""));
	for (size_t i = 0; i < sizeof(ours) / sizeof(ours[0]); i++)
		HOLDS(strncmp(name, ours[i], strlen(ours[i])) != 0);
	hash_tag(name, first);
	for (const char *const *key = (const char *const[]){keys.queue, keys.timeouts, keys.state,
							    keys.log, keys.channel, NULL};
	     *key; key++) {
		hash_tag(*key, tag);
		HOLDS(strcmp(first, tag) == 0 && strstr(*key, name));
	}
}

/* Another program may set these variables to anything. */
static void check_held(const char *words)
{
	char(*ids)[OWNER_MAX_BYTES];
	int count;

	setenv("FAIRLOCK_HELD", words, 1);
	setenv("FAIRLOCK_OWNER", words, 1);
	count = owner_inherited(&ids);
	unsetenv("FAIRLOCK_HELD");
	unsetenv("FAIRLOCK_OWNER");
	HOLDS(count >= 0 && count <= HELD_MAX);
	for (int i = 0; i < count; i++)
		HOLDS(owner_is_valid(ids[i]) && strstr(words, ids[i]) &&
		      (i == 0 || strcmp(ids[i], ids[i - 1]) != 0));
}

/* Whatever the room, a description fits. */
static void check_shown(const char *by)
{
	char shown[OWNER_SHOWN_BYTES];

	for (size_t room = 0; room <= MESSAGE_CHARACTERS; room += 7)
		HOLDS(count_characters(owner_show(shown, room, by)) <= room);
}

static void check_words(const struct parsed *parsed)
{
	struct owner_process process;
	char by[BY_MAX_BYTES], again[SIGNAL_MAX_BYTES];
	int number = 0, same = 0;
	size_t length;

	for (int i = 0; i < parsed->count; i++) {
		check_name(parsed->words[i]);
		check_held(parsed->words[i]);
		check_shown(parsed->words[i]);
		if (signal_parse(parsed->words[i], &number) == 0)
			HOLDS(signal_parse(signal_show(again, number), &same) == 0 &&
			      same == number);
	}
	for (int i = 0; i <= parsed->count; i++) {
		const char *reason = i < parsed->count ? parsed->words[i] : NULL;

		if (reason && strlen(reason) > 200)
			continue;
		owner_describe(by, 1, parsed->words, reason);
		HOLDS(strlen(by) < BY_MAX_BYTES);
		owner_parse(&process, by);
		HOLDS(!reason || !*reason || strchr(reason, '\t') ||
		      password_find(reason, &length) || strlen(process.reason) == strlen(reason));
		check_shown(by);
	}
}

/* ---- Completion ---- */

/* Each candidate begins with the word. */
static void check_candidates(const char *text, size_t length, const char *word)
{
	while (length > 0) {
		const char *newline = memchr(text, '\n', length);

		HOLDS(newline);
		HOLDS(*text == '\t' || strncmp(text, word, strlen(word)) == 0);
		length -= (size_t)(newline + 1 - text);
		text = newline + 1;
	}
}

static void check_completion(const struct parsed *parsed)
{
	const char *const last =
		parsed->count > 0 ? parsed->words[parsed->count - 1] : parsed->command->name;
	char *words[ROOM + 1], *copies[ROOM + 1], *word = strdup(last);
	const int count = parsed->count + 1;
	const struct world_file none = {"none", "", 0};
	const char *output;
	size_t length;

	words[0] = strdup(parsed->command->name);
	for (int i = 1; i < count; i++)
		words[i] = strdup(parsed->words[i - 1]);
	memcpy(copies, words, sizeof(copies));
	fuzz_capture();
	world_files(&none, 1);
	complete(count, words);
	world_files(NULL, 0);
	output = fuzz_captured(&length);
	if (!strpbrk(word, "\n"))
		check_candidates(output, length, word);
	for (int i = 0; i < count; i++)
		free(copies[i]);
	free(word);
}

/* ---- All of it ---- */

/* A password stands behind a colon and before the last @, as in url.c. words: a copy of the words
 * before the password was wiped. */
static void check_wiped(const struct parsed *parsed, char **words)
{
	size_t before = 0, after = 0;
	const char *url = parsed->options.url_copy;
	const char *slashes = url ? strstr(url, "://") : NULL,
		   *secret = url ? strstr(url, SECRET) : NULL;
	const char *colon = slashes ? strchr(slashes + 3, ':') : NULL,
		   *at = url ? strrchr(url, '@') : NULL;

	for (int i = 0; i < parsed->count; i++) {
		before += fuzz_count(words[i], SECRET);
		after += fuzz_count(parsed->words[i], SECRET);
	}
	if (secret && colon && at && colon < secret && secret < at)
		HOLDS(after < before);
}

/* Checks the result of parse_args; words: a copy of its words. */
static void check_parsed(const struct parsed *parsed, char **words)
{
	if (parsed->result < 0) {
		HOLDS(parsed->err.status == STATUS_USAGE && *parsed->err.text);
	} else if (!options_want_help(&parsed->options)) {
		check_wiped(parsed, words);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = fuzz_text(data, size > LONGEST ? LONGEST : size), *rest = text;
	struct parsed parsed = {.command = all_commands[(size > 0 ? data[0] : 0) % COMMANDS]};
	struct parsed before = {.command = parsed.command};

	fuzz_next(&rest, "\n");
	while (rest && parsed.count < WORDS) {
		const char *word = fuzz_next(&rest, "\n");

		add_word(&parsed, "%s", word);
		add_word(&before, "%s", word);
	}
	check_words(&parsed);
	check_completion(&parsed);
	parse(&parsed);
	check_parsed(&parsed, before.words);
	free_parsed(&parsed);
	free_parsed(&before);
	free(text);
	return 0;
}
