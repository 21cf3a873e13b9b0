/* Fuzzes settings, as the environment and files give them. An input has up to five parts, separated
 * by a line of "===": variables, one a line, behind a first byte that chooses the command; the file
 * of
 * --config; the user's file; the system's; and a file with a password, called "pw".
 *
 * For: cli/settings.c redis/server.c */
#include "cli/args.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/command.h"
#include "parts/commands.h"
#include "parts/fuzz.h"
#include "parts/world.h"

#define VARIABLES 32

enum part {
	VARIABLES_PART,
	CONFIG_PART,
	USER_PART,
	SYSTEM_PART,
	PASSWORD_PART,
	PARTS,
};

static const char *const paths[PARTS] = {NULL, "config", "/home/somebody/.config/fairlock.conf",
					 "/etc/fairlock.conf", "pw"};

struct trial {
	const struct command *command;
	struct world_file files[PARTS];
	char *variables[VARIABLES + 2];
	bool has_config;
	bool is_elsewhere; /* a variable gave --config another name */
	struct settings settings;
	struct error err;
	int result;
};

/* lines: the variables part behind its first byte. */
static void set_variables(struct trial *trial, char *lines)
{
	static char home[] = "HOME=/home/somebody";
	size_t count = 0;

	trial->variables[count++] = home;
	while (lines && count < VARIABLES + 1) {
		char *line = fuzz_next(&lines, "\n");

		if (strchr(line, '='))
			trial->variables[count++] = line;
	}
	trial->variables[count] = NULL;
}

static void merge(struct trial *trial)
{
	char **before = environ;

	trial->err = (struct error){.status = STATUS_OK};
	settings_init(&trial->settings);
	if (trial->has_config)
		trial->settings.options.config = paths[CONFIG_PART];
	world_files(trial->files + 1, PARTS - 1);
	environ = trial->variables;
	trial->result = settings_merge(&trial->settings, trial->command, &trial->err);
	environ = before;
	world_files(NULL, 0);
	trial->is_elsewhere = trial->settings.options.config &&
			      strcmp(trial->settings.options.config, paths[CONFIG_PART]) != 0;
}

/* ---- Settings that were read ---- */

static size_t count_lines(const struct world_file *file)
{
	size_t count = 1;

	for (size_t i = 0; i < file->length; i++)
		count += file->text[i] == '\n';
	return count;
}

static const struct world_file *find_file(const struct trial *trial, const char *path,
					  size_t length)
{
	for (size_t i = CONFIG_PART; i <= SYSTEM_PART; i++)
		if (strlen(paths[i]) == length && strncmp(paths[i], path, length) == 0)
			return &trial->files[i];
	return NULL;
}

/* A setting comes from a flag, a variable, or a line of a file. */
static void check_where(const struct trial *trial, const char *where)
{
	const char *colon = strrchr(where, ':');
	const struct world_file *file =
		colon ? find_file(trial, where, (size_t)(colon - where)) : NULL;

	if (file)
		HOLDS(atoi(colon + 1) >= 1 && (size_t)atoi(colon + 1) <= count_lines(file));
	else
		HOLDS(!*where || strncmp(where, "FAIRLOCK_", 9) == 0 ||
		      !strcmp(where, "REDISCLI_AUTH") || strncmp(where, "--", 2) == 0);
}

static bool has_secret(const char *text)
{
	return strstr(text, SECRET) != NULL;
}

static void check_shown(const struct trial *trial, bool is_secret)
{
	const struct settings *settings = &trial->settings;
	char where[WHERE_MAX_BYTES];

	for (const struct option_row *row = option_rows; row->name; row++)
		check_where(trial, options_where(&settings->options, row->name, where));
	HOLDS(!is_secret || !has_secret(server_shown(&settings->server)));
}

/* Whether SECRET stands in the password and nowhere else. */
static bool is_secret(const struct trial *trial)
{
	const struct settings *settings = &trial->settings;
	const char *server = settings->server.password, *text = settings->options.password;
	size_t count = 0;

	for (size_t i = 0; trial->variables[i]; i++)
		count += fuzz_count(trial->variables[i], SECRET);
	for (size_t i = CONFIG_PART; i < PARTS; i++)
		count += fuzz_count(trial->files[i].text, SECRET);
	return count == 1 && !fuzz_shows_secret(&settings->server) &&
	       ((server && has_secret(server)) || (text && has_secret(text)));
}

/* ---- Settings that were refused ---- */

/* Whether a fault shows only when all settings are put together, so that a later line may be
 * refused first. */
static bool is_of_all(const char *text)
{
	return strstr(text, " needs ");
}

/* "cannot read PATH:LINE: CAUSE" names the first wrong line: in the lines before it, merge finds no
 * fault. */
static void check_refused_line(struct trial *trial)
{
	static const char verb[] = "cannot read ";
	const char *path = trial->err.text + strlen(verb);
	const char *colon =
		strncmp(trial->err.text, verb, strlen(verb)) == 0 ? strchr(path, ':') : NULL;
	const struct world_file *found =
		colon ? find_file(trial, path, (size_t)(colon - path)) : NULL;
	struct world_file *file = &trial->files[found ? found - trial->files : 0];
	const size_t length = file->length;
	size_t line = found ? (size_t)atoi(colon + 1) : 0, at = 0;
	char named[128];

	if (!found || line == 0 || trial->is_elsewhere || is_of_all(colon))
		return;
	HOLDS(line <= count_lines(file));
	while (--line > 0)
		at += strcspn(file->text + at, "\n") + 1;
	snprintf(named, sizeof(named), "%.*s", (int)(colon - trial->err.text), trial->err.text);
	file->length = at;
	merge(trial);
	if (trial->result < 0)
		HOLDS(strncmp(trial->err.text, named, strlen(named)) != 0 ||
		      trial->err.text[strlen(named)] != ':' || is_of_all(trial->err.text));
	settings_free(&trial->settings);
	file->length = length;
}

static void check_refusal(struct trial *trial)
{
	HOLDS(trial->err.status == STATUS_USAGE || trial->err.status == STATUS_CONFIG);
	HOLDS(*trial->err.text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = fuzz_text(data, size), *rest = text;
	const unsigned char choice = size > 0 ? data[0] : 0;
	struct trial trial = {.command = all_commands[choice % COMMANDS],
			      .has_config = choice & 0x20};
	char *part = fuzz_next(&rest, "\n===\n");

	set_variables(&trial, size > 0 ? part + 1 : part);
	for (size_t i = CONFIG_PART; i < PARTS; i++) {
		const char *said = rest ? fuzz_next(&rest, "\n===\n") : "";

		/* the last part may have a NUL in it */
		trial.files[i] = (struct world_file){paths[i], said,
						     rest || !*said ? strlen(said)
								    : (size_t)(text + size - said)};
	}
	merge(&trial);
	if (trial.result == 0) {
		check_shown(&trial, is_secret(&trial));
		settings_free(&trial.settings);
	} else {
		HOLDS(!is_secret(&trial) || !has_secret(trial.err.text));
		settings_free(&trial.settings);
		check_refusal(&trial);
		check_refused_line(&trial);
	}
	free(text);
	return 0;
}
