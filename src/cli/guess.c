/* A word of other programs counts first, then an option that only other commands have, then a word
 * that is spelled nearly so. */
#include "cli/guess.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "cli/command.h"
#include "cli/options.h"

/* ---- The nearest word ---- */

static size_t least(size_t a, size_t b)
{
	return a < b ? a : b;
}

static bool is_same(char a, char b)
{
	return tolower((unsigned char)a) == tolower((unsigned char)b);
}

/* How many letters have to be put in, left out, changed, or exchanged with their neighbour. a and b
 * are shorter than NEAREST_MAX_BYTES. */
static size_t edit_distance(const char *a, const char *b)
{
	const size_t height = strlen(a), width = strlen(b);
	size_t d[NEAREST_MAX_BYTES][NEAREST_MAX_BYTES] = {{0}};

	for (size_t i = 0; i <= height; i++) {
		for (size_t k = 0; k <= width; k++) {
			if (i == 0 || k == 0) {
				d[i][k] = i + k;
				continue;
			}
			d[i][k] = least(least(d[i - 1][k], d[i][k - 1]) + 1,
					d[i - 1][k - 1] + !is_same(a[i - 1], b[k - 1]));
			if (i > 1 && k > 1 && is_same(a[i - 1], b[k - 2]) &&
			    is_same(a[i - 2], b[k - 1]))
				d[i][k] = least(d[i][k], d[i - 2][k - 2] + 1);
		}
	}
	return d[height][width];
}

void nearest_begin(struct nearest *nearest, const char *word)
{
	*nearest = (struct nearest){.word = word, .distance = (strlen(word) + 1) / 3 + 1};
}

void nearest_try(struct nearest *nearest, const char *candidate)
{
	const char *word = nearest->word;
	const size_t length = strlen(word), other = strlen(candidate);
	size_t found;

	if (length >= NEAREST_MAX_BYTES || other >= NEAREST_MAX_BYTES)
		return;
	/* a beginning (stat), and a word that goes on behind a dash (lease-time), are as good as
	 * one wrong letter */
	if ((length > 1 && strncasecmp(candidate, word, length) == 0) ||
	    (other > 3 && strncasecmp(word, candidate, other) == 0 && word[other] == '-'))
		found = strcmp(word, candidate) != 0;
	else
		found = edit_distance(word, candidate);
	if (found >= nearest->distance)
		return;
	nearest->distance = found;
	strcpy(nearest->best, candidate);
}

/* ---- The words of other programs ---- */

/* words: each with a blank before and behind it. meant: words to type, or a whole sentence about a
 * COMMAND if it has a blank first. */
static const struct synonym {
	const char *words, *meant;
} synonyms[] = {
	{" run exec ", "wrap"},
	{" lock ", "wrap or acquire"},
	{" unlock ", "release"},
	{" ls list ps ", "status"},
	{" --timeout -t ", "--wait"},
	{" --ttl ", "--lease"},
	{" --nonblock --nb ", "--no-wait"},
	{" --exclusive -x -e ", " it is not needed, locks are exclusive without --shared"},
	{" --close -o ", " it is not needed, COMMAND never inherits the lock"},
	{" --jobs -j ", "--slots"},
	{" --host -p ", "--url redis://HOST:PORT"},
};

/* Finds what the word means, or NULL. An option means one that the command has. */
static const char *find_synonym(const char *word, const struct command *command)
{
	char whole[NEAREST_MAX_BYTES + 2], name[NEAREST_MAX_BYTES];
	const struct option_row *row;

	snprintf(whole, sizeof(whole), " %.*s ", NEAREST_MAX_BYTES - 1, word);
	for (size_t i = 0; i < sizeof(synonyms) / sizeof(synonyms[0]); i++) {
		const char *meant = synonyms[i].meant;

		if (!strstr(synonyms[i].words, whole))
			continue;
		if (*meant == ' ')
			return command->takes_lock ? meant : NULL;
		if (*meant != '-')
			return meant;
		snprintf(name, sizeof(name), "%.*s", (int)strcspn(meant + 2, " "), meant + 2);
		row = option_named(name);
		return row && option_is_for(row, command->bit, SOURCE_FLAG) ? meant : NULL;
	}
	return NULL;
}

/* ---- The cause ---- */

static const char *mean(char cause[CAUSE_MAX_BYTES], const char *kind, const char *dashes,
			const char *meant)
{
	if (meant[0] == ' ')
		snprintf(cause, CAUSE_MAX_BYTES, "%s", meant + 1);
	else if (*meant)
		snprintf(cause, CAUSE_MAX_BYTES, "there is no such %s, did you mean %s%s?", kind,
			 dashes, meant);
	else
		snprintf(cause, CAUSE_MAX_BYTES, "there is no such %s", kind);
	return cause;
}

const char *guess_command(char cause[CAUSE_MAX_BYTES], const char *word, bool more)
{
	const char *synonym = find_synonym(word, &front_command);
	struct nearest nearest;

	if (synonym)
		return mean(cause, "command", "", synonym);
	nearest_begin(&nearest, word);
	for (size_t i = 0; all_commands[i]; i++)
		nearest_try(&nearest, all_commands[i]->name);
	nearest_try(&nearest, "help");
	nearest_try(&nearest, "version");
	if (!*nearest.best && (more || strchr(word, '/')))
		return mean(cause, "command", "", "'fairlock wrap NAME COMMAND'");
	return mean(cause, "command", "", nearest.best);
}

/* The option is one of other commands, or stands before its command. */
static const char *name_commands(char cause[CAUSE_MAX_BYTES], const struct option_row *row,
				 bool is_front)
{
	size_t used = (size_t)snprintf(cause, CAUSE_MAX_BYTES, "only ");
	unsigned left = row->commands;
	int count = 0;

	for (size_t i = 0; all_commands[i]; i++) {
		const unsigned bit = all_commands[i]->bit;
		const char *join = count == 0 ? "" : left == bit ? " and " : ", ";

		if (!(left & bit))
			continue;
		used += (size_t)snprintf(cause + used, CAUSE_MAX_BYTES - used, "%s%s", join,
					 all_commands[i]->name);
		left &= ~bit;
		count++;
	}
	snprintf(cause + used, CAUSE_MAX_BYTES - used, " %s it%s", count > 1 ? "have" : "has",
		 is_front ? "; put it behind the command" : "");
	return cause;
}

/* Finds the row of an option as it is written, -x or --name, among those of all commands. */
static const struct option_row *find_row(const char *option)
{
	const struct option_row *row;

	for (size_t i = 0; (row = option_at(i)) != NULL; i++)
		if ((row->sources & SOURCE_FLAG) &&
		    (option[1] == '-' ? strcmp(row->name, option + 2) == 0
				      : row->letter && row->letter == option[1]))
			return row;
	return NULL;
}

const char *guess_option(char cause[CAUSE_MAX_BYTES], const char *option,
			 const struct command *command)
{
	const struct option_row *row, *elsewhere = find_row(option);
	const char *synonym = find_synonym(option, command);
	struct nearest nearest;
	char name[NEAREST_MAX_BYTES];

	if (synonym)
		return mean(cause, "option", "", synonym);
	if (elsewhere)
		return name_commands(cause, elsewhere, command == &front_command);
	/* --url:URL is meant as --url=URL */
	snprintf(name, sizeof(name), "%.*s", (int)strcspn(option, ":"), option);
	nearest_begin(&nearest, name[1] == '-' ? name + 2 : "");
	for (size_t i = 0; (row = option_at(i)) != NULL; i++)
		if (option_is_for(row, command->bit, SOURCE_FLAG))
			nearest_try(&nearest, row->name);
	return mean(cause, "option", "--", nearest.best);
}
