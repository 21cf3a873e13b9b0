/* Guesses what a wrong word was meant to be. */
#include "cli/guess.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "cli/args.h"
#include "cli/command.h"
#include "cli/options.h"

static char lower(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static size_t least(size_t a, size_t b)
{
	return a < b ? a : b;
}

static bool begins(const char *word, const char *beginning, size_t length)
{
	size_t i = 0;

	while (i < length && word[i] && lower(word[i]) == lower(beginning[i]))
		i++;
	return i == length;
}

/* a and b are shorter than NEAREST_MAX_BYTES. */
static size_t edit_distance(const char *a, const char *b)
{
	const size_t width = strlen(b);
	size_t rows[3][NEAREST_MAX_BYTES] = {{0}};
	size_t *before = rows[0], *above = rows[1], *row = rows[2];

	for (size_t k = 0; k <= width; k++)
		row[k] = k;
	for (size_t i = 1; i <= strlen(a); i++) {
		size_t *oldest = before;

		before = above;
		above = row;
		row = oldest;
		row[0] = i;
		for (size_t k = 1; k <= width; k++) {
			const bool same = lower(a[i - 1]) == lower(b[k - 1]);

			row[k] = least(least(above[k], row[k - 1]) + 1, above[k - 1] + !same);
			if (i > 1 && k > 1 && lower(a[i - 1]) == lower(b[k - 2]) &&
			    lower(a[i - 2]) == lower(b[k - 1]))
				row[k] = least(row[k], before[k - 2] + 1);
		}
	}
	return row[width];
}

/* A beginning (stat), and a word that goes on behind a dash (lease-time), are as good as one wrong
 * letter. */
static size_t distance(const char *word, const char *candidate)
{
	const size_t length = strlen(word), other = strlen(candidate);

	if ((length > 1 && begins(candidate, word, length)) ||
	    (other > 3 && begins(word, candidate, other) && word[other] == '-'))
		return strcmp(word, candidate) != 0;
	return edit_distance(word, candidate);
}

void nearest_begin(struct nearest *nearest, const char *word)
{
	*nearest = (struct nearest){.word = word, .distance = (strlen(word) + 1) / 3 + 1};
}

void nearest_try(struct nearest *nearest, const char *candidate)
{
	size_t found;

	if (strlen(nearest->word) >= NEAREST_MAX_BYTES || strlen(candidate) >= NEAREST_MAX_BYTES)
		return;
	found = distance(nearest->word, candidate);
	if (found >= nearest->distance)
		return;
	nearest->distance = found;
	strcpy(nearest->best, candidate);
}

/* A word of another program. meant: words to type, or a whole sentence if it has a blank first. */
struct synonym {
	char word[16];
	unsigned commands; /* for options: the commands that this is about */
	const char *meant;
};

enum {
	ALL = COMMAND_ALL,
	WRAP = COMMAND_WRAP,
	ACQUIRE = COMMAND_ACQUIRE,
	RENEW = COMMAND_RENEW,
	RELEASE = COMMAND_RELEASE,
	STATUS = COMMAND_STATUS,
	QUEUE = COMMAND_QUEUE,
	LOG = COMMAND_LOG,
	DOCTOR = COMMAND_DOCTOR,
	TAKE = COMMAND_WRAP | COMMAND_ACQUIRE,
	SHOW = COMMAND_STATUS | COMMAND_QUEUE | COMMAND_LOG,
};

/* clang-format off */
static const struct synonym command_synonyms[] = {
	{"run", ALL, "wrap"}, {"exec", ALL, "wrap"}, {"start", ALL, "wrap"}, {"flock", ALL, "wrap"},
	{"sem", ALL, "wrap --slots"}, {"semaphore", ALL, "wrap --slots"},
	{"lock", ALL, "wrap or acquire"}, {"trylock", ALL, "acquire -n"}, {"unlock", ALL, "release"},
	{"break", ALL, "release --force"}, {"steal", ALL, "release --force"},
	{"stop", ALL, "release --stop"}, {"kill", ALL, "release --stop"},
	{"delete", ALL, "release or queue --remove"}, {"cancel", ALL, "release or queue --remove"},
	{"refresh", ALL, "renew"}, {"extend", ALL, "renew"}, {"ls", ALL, "status"},
	{"list", ALL, "status"}, {"ps", ALL, "status"}, {"get", ALL, "status"},
	{"show", ALL, "status"}, {"stat", ALL, "status"}, {"locks", ALL, "status"},
	{"describe", ALL, "status"}, {"info", ALL, "status or doctor"},
	{"top", ALL, "status --watch"}, {"watch", ALL, "status --watch"}, {"waiters", ALL, "queue"},
	{"history", ALL, "log"}, {"logs", ALL, "log"}, {"tail", ALL, "log --follow"},
	{"check", ALL, "doctor"}, {"ping", ALL, "doctor"}, {"man", ALL, "help"},
	{"server", ALL, " it is a service of systemd: see fairlock-server(8)"},
};

/* Of two rows with the same word, the first that is about the command counts. */
static const struct synonym option_synonyms[] = {
	{"--timeout", TAKE | RELEASE, "--wait"}, {"-t", TAKE | RELEASE, "--wait"},
	{"--retry", TAKE, "--wait"}, {"--timeout", ALL, "--connect-timeout"},
	{"-t", ALL, "--connect-timeout"}, {"--ttl", TAKE | RENEW, "--lease"},
	{"--nonblock", TAKE, "--no-wait"}, {"--nb", TAKE, "--no-wait"},
	{"--exclusive", TAKE, " it is not needed, locks are exclusive without --shared"},
	{"-x", TAKE, " it is not needed, locks are exclusive without --shared"},
	{"-e", TAKE, " it is not needed, locks are exclusive without --shared"},
	{"--write", TAKE, " it is not needed, locks are exclusive without --shared"},
	{"--read", TAKE, "--shared"}, {"--reader", TAKE, "--shared"}, {"-s", ACQUIRE, "--shared"},
	{"--jobs", TAKE, "--slots"}, {"-j", TAKE, "--slots"}, {"--semaphore", TAKE, "--slots"},
	{"--limit", TAKE, "--slots"}, {"--count", TAKE, "--slots"},
	{"--fg", WRAP, " it is not needed, wrap waits for COMMAND"},
	{"--fair", TAKE, " it is not needed, every lock is fair"},
	{"--blocking", TAKE, " it is not needed, fairlock waits without --no-wait"},
	{"--background", TAKE, " use 'fairlock acquire --while-pid PID' for that"},
	{"--close", TAKE, " it is not needed, COMMAND never inherits the lock"},
	{"-o", TAKE, " it is not needed, COMMAND never inherits the lock"},
	{"--no-fork", WRAP, " wrap must stay beside COMMAND to renew the lease"},
	{"-F", WRAP, " wrap must stay beside COMMAND to renew the lease"},
	{"--unlock", TAKE, " to give a lock back, use 'fairlock release NAME'"},
	{"--dry-run", TAKE, " to look only, use 'fairlock status' or 'fairlock doctor'"},
	{"--max-time", WRAP, "--max-hold"}, {"--every", WRAP, "--once-per"},
	{"--skip", ACQUIRE, " only wrap has it: a script would run without the lock; use -n"},
	{"-p", ACQUIRE, "--while-pid"}, {"--id", ACQUIRE | RENEW | RELEASE, "--owner"},
	{"-f", RELEASE, "--force"}, {"--slots", RELEASE, "--slot"}, {"--clear", QUEUE, "--remove"},
	{"--delete", QUEUE, "--remove"}, {"-i", STATUS | QUEUE, "--watch"},
	{"-w", STATUS | QUEUE, "--watch"}, {"-f", STATUS | QUEUE, "--watch"},
	{"--tail", LOG, "--lines"}, {"-f", LOG, "--follow"}, {"-F", LOG, "--follow"},
	{"-w", LOG, "--follow"}, {"-s", LOG, "--since"}, {"--limit", LOG, "--lines"},
	{"--until", LOG, " log shows all events from --since on"}, {"--graph", LOG, "--plot"},
	{"--all", QUEUE, " it is not needed, queue shows all locks without NAME"},
	{"-a", QUEUE, " it is not needed, queue shows all locks without NAME"},
	{"--all", LOG, " it is not needed, log shows all locks without NAME"},
	{"-a", LOG, " it is not needed, log shows all locks without NAME"},
	{"--no-headers", SHOW, "--noheadings"}, {"-H", SHOW, "--noheadings"},
	{"-n", SHOW, "--noheadings"}, {"--format", SHOW, "--output"}, {"--wide", SHOW, "--output"},
	{"-j", SHOW | ACQUIRE | DOCTOR, "--json"}, {"--host", ALL, "--url redis://HOST:PORT"},
	{"-H", ALL, "--url redis://HOST:PORT"}, {"-p", ALL, "--url redis://HOST:PORT"},
	{"--db", ALL, "--url redis://HOST/DB"}, {"--namespace", ALL, "--url redis://HOST/DB"},
	{"--socket", ALL, "--url unix:PATH"}, {"--tls", ALL, "--url rediss://HOST"},
	{"--user", ALL, "--url redis://USER:@HOST"}, {"--username", ALL, "--url redis://USER:@HOST"},
	{"--cacert", ALL, "--tls-ca"}, {"--cert", ALL, "--tls-cert"}, {"--key", ALL, "--tls-key"},
	{"--insecure", ALL, "--tls-insecure"}, {"-a", ALL, "--password-file"},
	{"--password", ALL, " all users could read it in ps: use --password-file"},
	{"--debug", ALL, "--verbose"},
};
/* clang-format on */

static const size_t command_synonym_count = sizeof(command_synonyms) / sizeof(command_synonyms[0]);
static const size_t option_synonym_count = sizeof(option_synonyms) / sizeof(option_synonyms[0]);

/* A message names no more options than these. */
#define NAMED_MAX 3

/* --name */
#define OPTION_BYTES (NEAREST_MAX_BYTES + 2)

/* In the order of enum command_bit. */
static const char names[][8] = {"wrap",   "acquire", "renew", "release",
				"status", "queue",   "log",   "doctor"};

#define NAMES (sizeof(names) / sizeof(names[0]))

/* A short list as a sentence has it: "a, b and c". */
static void list(char *text, size_t size, const char *word, bool is_first, bool is_last)
{
	const size_t used = strlen(text);

	snprintf(text + used, size - used, "%s%s", is_first ? "" : is_last ? " and " : ", ", word);
}

static const char *mean(char cause[CAUSE_MAX_BYTES], const char *kind, const char *meant)
{
	if (meant[0] == ' ')
		snprintf(cause, CAUSE_MAX_BYTES, "%s", meant + 1);
	else
		snprintf(cause, CAUSE_MAX_BYTES, "there is no such %s%s%s%s", kind,
			 *meant ? ", did you mean " : "", meant, *meant ? "?" : "");
	return cause;
}

static const char *find_synonym(const struct synonym *synonyms, size_t count, const char *word,
				unsigned commands)
{
	for (size_t i = 0; i < count; i++)
		if ((synonyms[i].commands & commands) && strcmp(synonyms[i].word, word) == 0)
			return synonyms[i].meant;
	return NULL;
}

const char *suggest_command(char cause[CAUSE_MAX_BYTES], const struct command *const *commands,
			    const char *word, bool more)
{
	const char *synonym =
		find_synonym(command_synonyms, command_synonym_count, word, COMMAND_ALL);
	struct nearest nearest;

	if (synonym)
		return mean(cause, "command", synonym);
	nearest_begin(&nearest, word);
	for (; *commands; commands++)
		nearest_try(&nearest, (*commands)->name);
	nearest_try(&nearest, "help");
	nearest_try(&nearest, "version");
	if (!*nearest.best && (more || strchr(word, '/')))
		return mean(cause, "command", "'fairlock wrap NAME COMMAND'");
	return mean(cause, "command", nearest.best);
}

/* Finds the row of an option as it is written, -x or --name, among those of some commands. */
static const struct option_row *find_row(const char *option, unsigned commands)
{
	const struct option_row *row;

	for (size_t i = 0; (row = option_at(i)) != NULL; i++)
		if (option_is_for(row, commands, SOURCE_FLAG) &&
		    (option[1] == '-' ? strcmp(row->name, option + 2) == 0
				      : row->letter && row->letter == option[1]))
			return row;
	return NULL;
}

static const char *name_commands(char cause[CAUSE_MAX_BYTES], const struct option_row *row)
{
	char who[80] = "";
	unsigned left = row->commands & ((1U << NAMES) - 1);

	for (size_t i = 0; i < NAMES; i++) {
		if (!(left & (1U << i)))
			continue;
		left &= ~(1U << i);
		list(who, sizeof(who), names[i], !*who, left == 0);
	}
	snprintf(cause, CAUSE_MAX_BYTES, "only %s %s it", who, strchr(who, ' ') ? "have" : "has");
	return cause;
}

/* The command that the user typed behind the option, if it has it, else the first that has it. */
static size_t find_command(const struct arguments *arguments, const struct option_row *row)
{
	size_t first = NAMES;

	for (size_t i = NAMES; i-- > 0;) {
		if (!(row->commands & (1U << i)))
			continue;
		first = i;
		for (int k = arguments->at; k < arguments->argc; k++)
			if (strcmp(arguments->argv[k], names[i]) == 0)
				return i;
	}
	return first;
}

/* The option is one of other commands. */
static const char *point_to(char cause[CAUSE_MAX_BYTES], const struct arguments *arguments,
			    const struct option_row *row)
{
	const size_t command = find_command(arguments, row);

	if (arguments->command->bit != COMMAND_FRONT || command == NAMES)
		return name_commands(cause, row);
	snprintf(cause, CAUSE_MAX_BYTES, "put it behind the command, as in 'fairlock %.8s %.24s'",
		 names[command], arguments->option);
	return cause;
}

/* -N for -n, and -name for --name */
static void try_letter(struct nearest *nearest, const char *word, const char *option,
		       unsigned commands, char meant[OPTION_BYTES])
{
	const char other[] = {'-', (char)(option[1] ^ 0x20), '\0'};
	const struct option_row *row;

	if (strlen(word) > 2 && word[1] == option[1])
		for (size_t i = 0; (row = option_at(i)) != NULL; i++)
			if (option_is_for(row, commands, SOURCE_FLAG) &&
			    strcmp(row->name, word + 1) == 0)
				nearest_try(nearest, row->name);
	if (*nearest->best)
		snprintf(meant, OPTION_BYTES, "--%s", nearest->best);
	else if (find_row(other, commands))
		strcpy(meant, other);
}

static void try_name(struct nearest *nearest, unsigned commands, char meant[OPTION_BYTES])
{
	const struct option_row *row;

	for (size_t i = 0; (row = option_at(i)) != NULL; i++)
		if (option_is_for(row, commands, SOURCE_FLAG))
			nearest_try(nearest, row->name);
	if (*nearest->best)
		snprintf(meant, OPTION_BYTES, "--%s", nearest->best);
}

static bool begins_so(const struct option_row *row, const struct arguments *arguments)
{
	const char *beginning = arguments->option + 2;

	return option_is_for(row, arguments->command->bit, SOURCE_FLAG) &&
	       strncmp(row->name, beginning, strlen(beginning)) == 0;
}

static const char *name_options(char cause[CAUSE_MAX_BYTES], const struct arguments *arguments)
{
	char fitting[CAUSE_MAX_BYTES - 32] = "", word[OPTION_BYTES];
	const struct option_row *row;
	int left = 0, count;

	for (size_t i = 0; (row = option_at(i)) != NULL; i++)
		left += begins_so(row, arguments);
	count = left;
	for (size_t i = 0; count <= NAMED_MAX && (row = option_at(i)) != NULL; i++) {
		if (!begins_so(row, arguments))
			continue;
		snprintf(word, sizeof(word), "--%s", row->name);
		list(fitting, sizeof(fitting), word, left == count, left == 1);
		left--;
	}
	snprintf(cause, CAUSE_MAX_BYTES, "it is ambiguous: it fits %s",
		 *fitting ? fitting : "many options");
	return cause;
}

const char *suggest_option(char cause[CAUSE_MAX_BYTES], const struct arguments *arguments,
			   bool is_ambiguous)
{
	const bool is_front = arguments->command->bit == COMMAND_FRONT;
	const unsigned commands =
		is_front ? (unsigned)COMMAND_ALL : (unsigned)arguments->command->bit;
	const char *option = arguments->option, *word = arguments->argv[arguments->at - 1];
	const struct option_row *elsewhere = find_row(option, COMMAND_ALL);
	const char *synonym = find_synonym(option_synonyms, option_synonym_count, option, commands);
	char meant[OPTION_BYTES] = "", name[sizeof(arguments->option)];
	struct nearest nearest;

	if (elsewhere && (is_front || !synonym))
		return point_to(cause, arguments, elsewhere);
	if (synonym)
		return mean(cause, "option", synonym);
	if (is_ambiguous)
		return name_options(cause, arguments);
	/* --url:URL is meant as --url=URL */
	snprintf(name, sizeof(name), "%.*s", (int)strcspn(option, ":"), option);
	nearest_begin(&nearest, option[1] == '-' ? name + 2 : word + 1);
	if (option[1] == '-')
		try_name(&nearest, commands, meant);
	else
		try_letter(&nearest, word, option, commands, meant);
	return mean(cause, "option", meant);
}
