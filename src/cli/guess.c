/* A word of another program counts first, then an option that only other commands have, then a word
 * that is spelled nearly so. */
#include "cli/guess.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "cli/args.h"
#include "cli/command.h"
#include "cli/options.h"

/* A message names no more options than these. */
#define NAMED_MAX 3

/* --name */
#define OPTION_BYTES (NEAREST_MAX_BYTES + 2)

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

enum {
	ALL = COMMAND_ALL,
	WRAP = COMMAND_WRAP,
	ACQUIRE = COMMAND_ACQUIRE,
	RELEASE = COMMAND_RELEASE,
	STATUS = COMMAND_STATUS,
	QUEUE = COMMAND_QUEUE,
	LOG = COMMAND_LOG,
	TAKE = COMMAND_WRAP | COMMAND_ACQUIRE,
	SHOW = COMMAND_STATUS | COMMAND_QUEUE | COMMAND_LOG,
};

/* words: each with a blank before and behind it. meant: words to type, or a whole sentence if it
 * has a blank first. */
struct synonym {
	unsigned commands; /* for options: the commands that this is about */
	const char *words, *meant;
};

static const struct synonym command_synonyms[] = {
	{ALL, " run exec ", "wrap"},
	{ALL, " sem semaphore ", "wrap --slots"},
	{ALL, " lock ", "wrap or acquire"},
	{ALL, " trylock ", "acquire -n"},
	{ALL, " unlock ", "release"},
	{ALL, " stop kill ", "release --stop"},
	{ALL, " delete ", "release or queue --remove"},
	{ALL, " refresh ", "renew"},
	{ALL, " ls list ps get describe ", "status"},
	{ALL, " info ", "status or doctor"},
	{ALL, " top watch ", "status --watch"},
	{ALL, " waiters ", "queue"},
	{ALL, " history ", "log"},
	{ALL, " tail ", "log --follow"},
	{ALL, " ping ", "doctor"},
	{ALL, " server ", " it is a service of systemd: see fairlock-server(8)"},
};

/* Of two rows with the same word, the first that is about the command counts. */
static const struct synonym option_synonyms[] = {
	{TAKE | RELEASE, " --timeout -t --retry ", "--wait"},
	{ALL, " --timeout -t ", "--connect-timeout"},
	{ALL, " --ttl ", "--lease"},
	{TAKE, " --nonblock --nb ", "--no-wait"},
	{TAKE, " --exclusive --write -x -e ",
	 " it is not needed, locks are exclusive without --shared"},
	{TAKE, " --read --reader ", "--shared"},
	{ACQUIRE, " -s ", "--shared"},
	{TAKE, " --jobs -j --semaphore --limit --count ", "--slots"},
	{WRAP, " --fg ", " it is not needed, wrap waits for COMMAND"},
	{TAKE, " --fair ", " it is not needed, every lock is fair"},
	{TAKE, " --blocking ", " it is not needed, fairlock waits without --no-wait"},
	{TAKE, " --background ", " use 'fairlock acquire --while-pid PID' for that"},
	{TAKE, " --close -o ", " it is not needed, COMMAND never inherits the lock"},
	{WRAP, " --no-fork -F ", " wrap must stay beside COMMAND to renew the lease"},
	{TAKE, " --unlock ", " to give a lock back, use 'fairlock release NAME'"},
	{TAKE, " --dry-run ", " to look only, use 'fairlock status' or 'fairlock doctor'"},
	{WRAP, " --max-time ", "--max-hold"},
	{WRAP, " --every ", "--once-per"},
	{ACQUIRE, " --skip ", " only wrap has it: a script would run without the lock; use -n"},
	{ALL, " --id ", "--owner"},
	{RELEASE, " -f ", "--force"},
	{RELEASE, " --slots ", "--slot"},
	{QUEUE, " --clear --delete ", "--remove"},
	{STATUS | QUEUE, " -i -w -f ", "--watch"},
	{LOG, " --tail --limit ", "--lines"},
	{LOG, " -f ", "--follow"},
	{LOG, " --until ", " log shows all events from --since on"},
	{LOG, " --graph ", "--plot"},
	{QUEUE, " --all -a ", " it is not needed, queue shows all locks without NAME"},
	{LOG, " --all -a ", " it is not needed, log shows all locks without NAME"},
	{SHOW, " --no-headers -H ", "--noheadings"},
	{SHOW, " --format --wide ", "--output"},
	{ALL, " --host -H -p ", "--url redis://HOST:PORT"},
	{ALL, " --db --namespace ", "--url redis://HOST/DB"},
	{ALL, " --tls ", "--url rediss://HOST"},
	{ALL, " --user ", "--url redis://USER:@HOST"},
	{ALL, " --cacert ", "--tls-ca"},
	{ALL, " -a ", "--password-file"},
	{ALL, " --password ", " all users could read it in ps: use --password-file"},
	{ALL, " --debug ", "--verbose"},
};

#define COUNT(synonyms) (sizeof(synonyms) / sizeof((synonyms)[0]))

/* Finds what a word of the table means, or NULL. */
static const char *find_synonym(const struct synonym *synonyms, size_t count, const char *word,
				unsigned commands)
{
	char whole[NEAREST_MAX_BYTES + 2];

	snprintf(whole, sizeof(whole), " %.*s ", NEAREST_MAX_BYTES - 1, word);
	for (size_t i = 0; i < count; i++)
		if ((synonyms[i].commands & commands) && strstr(synonyms[i].words, whole))
			return synonyms[i].meant;
	return NULL;
}

/* ---- The cause ---- */

static const char *mean(char cause[CAUSE_MAX_BYTES], const char *kind, const char *meant)
{
	if (meant[0] == ' ')
		snprintf(cause, CAUSE_MAX_BYTES, "%s", meant + 1);
	else
		snprintf(cause, CAUSE_MAX_BYTES, "there is no such %s%s%s%s", kind,
			 *meant ? ", did you mean " : "", meant, *meant ? "?" : "");
	return cause;
}

const char *guess_command(char cause[CAUSE_MAX_BYTES], const char *word, bool more)
{
	const char *synonym = find_synonym(command_synonyms, COUNT(command_synonyms), word, ALL);
	struct nearest nearest;

	if (synonym)
		return mean(cause, "command", synonym);
	nearest_begin(&nearest, word);
	for (size_t i = 0; all_commands[i]; i++)
		nearest_try(&nearest, all_commands[i]->name);
	nearest_try(&nearest, "help");
	nearest_try(&nearest, "version");
	if (!*nearest.best && (more || strchr(word, '/')))
		return mean(cause, "command", "'fairlock wrap NAME COMMAND'");
	return mean(cause, "command", nearest.best);
}

/* Finds the row of an option as it is written, -x or --name, among those of some commands. */
static const struct option_row *find_row(const char *option, unsigned bits)
{
	const struct option_row *row;

	for (size_t i = 0; (row = option_at(i)) != NULL; i++)
		if (option_is_for(row, bits, SOURCE_FLAG) &&
		    (option[1] == '-' ? strcmp(row->name, option + 2) == 0
				      : row->letter && row->letter == option[1]))
			return row;
	return NULL;
}

/* Adds a word to a short list as a sentence has it: "a, b and c". */
static void list(char *text, size_t size, const char *dashes, const char *word, bool is_last)
{
	const size_t used = strlen(text);

	snprintf(text + used, size - used, "%s%s%s",
		 used == 0 ? ""
		 : is_last ? " and "
			   : ", ",
		 dashes, word);
}

/* The option is one of other commands. */
static const char *name_commands(char cause[CAUSE_MAX_BYTES], const struct option_row *row)
{
	char who[80] = "";
	unsigned left = row->commands;

	for (size_t i = 0; all_commands[i]; i++) {
		if (!(left & all_commands[i]->bit))
			continue;
		left &= ~(unsigned)all_commands[i]->bit;
		list(who, sizeof(who), "", all_commands[i]->name, left == 0);
	}
	snprintf(cause, CAUSE_MAX_BYTES, "only %s %s it", who, strchr(who, ' ') ? "have" : "has");
	return cause;
}

/* The option stands before the command: names the command that the user typed behind it, if that
 * has the option, else the first that has it. */
static const char *name_place(char cause[CAUSE_MAX_BYTES], const struct arguments *arguments,
			      const struct option_row *row)
{
	const char *name = NULL;

	for (size_t i = 0; all_commands[i]; i++)
		if (!name && (row->commands & all_commands[i]->bit))
			name = all_commands[i]->name;
	for (int i = arguments->at; i < arguments->argc; i++) {
		const struct command *typed = command_named(arguments->argv[i]);

		if (typed && (row->commands & typed->bit))
			name = typed->name;
	}
	snprintf(cause, CAUSE_MAX_BYTES, "put it behind the command, as in 'fairlock %.8s %.24s'",
		 name, arguments->option);
	return cause;
}

static bool begins_so(const struct option_row *row, const struct arguments *arguments)
{
	const char *beginning = arguments->option + 2;

	return option_is_for(row, arguments->command->bit, SOURCE_FLAG) &&
	       strncmp(row->name, beginning, strlen(beginning)) == 0;
}

static const char *name_options(char cause[CAUSE_MAX_BYTES], const struct arguments *arguments)
{
	char fitting[CAUSE_MAX_BYTES - 32] = "";
	const struct option_row *row;
	int count = 0, named = 0;

	for (size_t i = 0; (row = option_at(i)) != NULL; i++)
		count += begins_so(row, arguments);
	for (size_t i = 0; count <= NAMED_MAX && (row = option_at(i)) != NULL; i++)
		if (begins_so(row, arguments))
			list(fitting, sizeof(fitting), "--", row->name, ++named == count);
	snprintf(cause, CAUSE_MAX_BYTES, "it is ambiguous: it fits %s",
		 *fitting ? fitting : "many options");
	return cause;
}

/* Finds an option whose name is near, or whose letter is the same in the other case. */
static void find_near(char meant[OPTION_BYTES], const struct arguments *arguments, unsigned bits)
{
	const char *option = arguments->option;
	const char other[] = {'-', (char)(option[1] ^ 0x20), '\0'};
	const struct option_row *row;
	struct nearest nearest;
	char name[sizeof(arguments->option)];

	if (option[1] != '-') {
		strcpy(meant, find_row(other, bits) ? other : "");
		return;
	}
	/* --url:URL is meant as --url=URL */
	snprintf(name, sizeof(name), "%.*s", (int)strcspn(option, ":"), option);
	nearest_begin(&nearest, name + 2);
	for (size_t i = 0; (row = option_at(i)) != NULL; i++)
		if (option_is_for(row, bits, SOURCE_FLAG))
			nearest_try(&nearest, row->name);
	snprintf(meant, OPTION_BYTES, "%s%s", *nearest.best ? "--" : "", nearest.best);
}

const char *guess_option(char cause[CAUSE_MAX_BYTES], const struct arguments *arguments,
			 bool is_ambiguous)
{
	const bool is_front = arguments->command->bit == COMMAND_FRONT;
	const unsigned bits = is_front ? (unsigned)ALL : (unsigned)arguments->command->bit;
	const char *option = arguments->option;
	const struct option_row *elsewhere = find_row(option, ALL);
	const char *synonym = find_synonym(option_synonyms, COUNT(option_synonyms), option, bits);
	char meant[OPTION_BYTES];

	if (elsewhere && is_front)
		return name_place(cause, arguments, elsewhere);
	if (synonym)
		return mean(cause, "option", synonym);
	if (elsewhere)
		return name_commands(cause, elsewhere);
	if (is_ambiguous)
		return name_options(cause, arguments);
	find_near(meant, arguments, bits);
	return mean(cause, "option", meant);
}
