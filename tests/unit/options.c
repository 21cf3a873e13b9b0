/* Command lines: the options and operands that come out, and mistakes. */
#include "cli/options.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "cli/command.h"
#include "cli/parse_args.h"

/* The words of one command line, cut at blanks, and their result. */
struct trial {
	char text[256];
	char *words[32];
	int count;
	struct options options;
	struct error err;
	int result;
};

static void try(struct trial *trial, const struct command *command, const char *text)
{
	char *rest = trial->text;

	memset(trial, 0, sizeof(*trial));
	snprintf(trial->text, sizeof(trial->text), "%s", text);
	for (char *word; *text != '\0' && (word = strsep(&rest, " ")) != NULL;)
		trial->words[trial->count++] = word;
	options_init(&trial->options);
	trial->result =
		parse_args(&trial->options, command, &trial->count, trial->words, &trial->err);
	if (trial->result == 0)
		trial->result = options_settle(&trial->options, command, &trial->err);
}

static bool operands_are(const struct trial *trial, const char *expected)
{
	char text[256] = "";

	for (int i = 0; i < trial->count; i++) {
		strcat(text, i ? " " : "");
		strcat(text, trial->words[i]);
	}
	if (strcmp(text, expected) == 0 && trial->words[trial->count] == NULL)
		return true;
	printf("operands: %s\n", text);
	return false;
}

static const struct {
	const struct command *command;
	const char *words, *operands;
} right[] = {
	{&wrap_command, "N true", "N true"},
	{&wrap_command, "N -- true", "N true"},
	{&wrap_command, "-n N true -n", "N true -n"},
	{&wrap_command, "N -n true --lease 3 -- x", "N true --lease 3 -- x"},
	{&wrap_command, "N -n -- -x", "N -x"},
	{&wrap_command, "N -- -- x", "N -- x"},
	{&wrap_command, "-- N true", "N true"},
	{&wrap_command, "-- -N true", "-N true"},
	{&wrap_command, "-- N -n", "N -n"},
	{&wrap_command, "-- N -- -n", "N -n"},
	{&wrap_command, "-- -- x", "-- x"},
	{&wrap_command, "N - x", "N - x"},
	{&wrap_command, "-c true N", "N"},
	{&wrap_command, "N -ctrue", "N"},
	{&wrap_command, "N -c true --", "N"},
	{&acquire_command, "N -n", "N"},
	{&acquire_command, "-nq -w5 -- -N", "-N"},
	{&status_command, "", ""},
	{&status_command, "A --json B -q C", "A B C"},
	{&queue_command, "N --remove x", "N"},
};

static const struct {
	const struct command *command;
	const char *words, *cause;
} wrong[] = {
	{&wrap_command, "", "NAME"},
	{&wrap_command, "N", "COMMAND is missing"},
	{&wrap_command, "N --", "COMMAND is missing"},
	{&wrap_command, "-c x N true", "not both"},
	{&wrap_command, "-c x N -- true", "not both"},
	{&wrap_command, "N -x true", "'-x'"},
	{&wrap_command, "N --owner o true", "'--owner'"},
	{&wrap_command, "--json N true", "'--json'"},
	{&wrap_command, "-w", "missing"},
	{&wrap_command, "N -qw", "missing"},
	{&wrap_command, "--wait", "missing"},
	{&wrap_command, "--quiet=yes N true", "no value"},
	{&wrap_command, "--c N true", "ambiguous"},
	{&wrap_command, "-w -1 N true", "'-1' is not a duration"},
	{&wrap_command, "-w 1h30 N true", "'1h30' is not a duration"},
	{&wrap_command, "--wait= N true", "'' is not a duration"},
	{&wrap_command, "-l 999ms N true", "from 1s to 1d"},
	{&wrap_command, "-l 24.1h N true", "from 1s to 1d"},
	{&wrap_command, "-l 0 N true", "from 1s to 1d"},
	{&wrap_command, "-E 256 N true", "from 0 to 255"},
	{&wrap_command, "-E -1 N true", "from 0 to 255"},
	{&wrap_command, "-E 0x1 N true", "from 0 to 255"},
	{&wrap_command, "-E 99999999999999999999 N true", "from 0 to 255"},
	{&wrap_command, "--max-queue 1.5 N true", "a number"},
	{&wrap_command, "-s FOO N true", "a signal"},
	{&wrap_command, "-s 0 N true", "a signal"},
	{&wrap_command, "-s 65 N true", "a signal"},
	{&wrap_command, "-s SIG N true", "a signal"},
	{&wrap_command, "--quiet --help=x", "no value"},
	{&wrap_command, "-k 10001ms N true", "third"},
	{&wrap_command, "-l 1s -k 0.49s N true", "third"},
	{&wrap_command, "--connect-timeout 0 N true", "duration"},
	{&wrap_command, "--url= N true", "a URL"},
	{&acquire_command, "", "NAME"},
	{&acquire_command, "A B", "more than one"},
	{&acquire_command, "A -- B", "more than one"},
	{&acquire_command, "--while-pid 0 A", "process"},
	{&acquire_command, "--while-pid -5 A", "process"},
	{&acquire_command, "--while-pid 2147483648 A", "process"},
	{&acquire_command, "--owner= A", "an owner ID"},
	{&acquire_command, "-s TERM A", "'-s'"},
	{&renew_command, "-w 3 A", "'-w'"},
	{&release_command, "--token 4 A", "--force"},
	{&release_command, "--force --token x A", "a number"},
	{&status_command, "--json --raw", "does not go with --json"},
	{&queue_command, "A B", "more than one"},
	{&queue_command, "--force A", "'--force'"},
};

static void check_right(struct tally *tally)
{
	struct trial trial;

	for (size_t i = 0; i < COUNT(right); i++) {
		try(&trial, right[i].command, right[i].words);
		if (trial.result)
			printf("%s %s: %s\n", right[i].command->name, right[i].words,
			       trial.err.text);
		CHECK(tally, trial.result == 0 && operands_are(&trial, right[i].operands));
		options_free(&trial.options);
	}
}

static void check_wrong(struct tally *tally)
{
	struct trial trial;

	for (size_t i = 0; i < COUNT(wrong); i++) {
		try(&trial, wrong[i].command, wrong[i].words);
		if (trial.result == 0 || strstr(trial.err.text, wrong[i].cause) == NULL)
			printf("%s %s: %s\n", wrong[i].command->name, wrong[i].words,
			       trial.result ? trial.err.text : "passed");
		CHECK(tally, trial.result == -1 && trial.err.status == STATUS_USAGE);
		CHECK(tally, strstr(trial.err.text, wrong[i].cause) != NULL);
		options_free(&trial.options);
	}
}

static void check_defaults(struct tally *tally)
{
	struct trial trial;
	const struct options *options = &trial.options;

	try(&trial, &wrap_command, "N true");
	CHECK(tally, options->url == NULL && !options->url_is_flag);
	CHECK(tally, options->connect_timeout_ms == 5000);
	CHECK(tally, options->wait_ms == -1 && !options->no_wait && options->lease_ms == 0);
	CHECK(tally, options->conflict_status == 75 && options->max_queue == -1);
	CHECK(tally, options->signal == SIGTERM && options->kill_after_ms == -1);
	CHECK(tally, options->token == -1);
}

static void check_values(struct tally *tally)
{
	struct trial trial;
	const struct options *options = &trial.options;

	try(&trial, &wrap_command, "-qv -w1.5 --lease=1m N -E0 --max-queue 3 -s SIGHUP -k 20 true");
	CHECK(tally, trial.result == 0 && operands_are(&trial, "N true"));
	CHECK(tally, options->quiet && options->verbose && !options->no_wait);
	CHECK(tally, options->wait_ms == 1500 && options->lease_ms == 60000);
	CHECK(tally, options->conflict_status == 0 && options->max_queue == 3);
	CHECK(tally, options->signal == SIGHUP && options->kill_after_ms == 20000);
	try(&trial, &wrap_command, "-s 9 --connect 250ms --no N true");
	CHECK(tally, options->signal == SIGKILL && options->connect_timeout_ms == 250);
	CHECK(tally, options->no_wait);
	try(&trial, &wrap_command, "-s Term -s sigusr1 N -w 0 true");
	CHECK(tally, options->signal == SIGUSR1 && options->no_wait && options->wait_ms == 0);
	try(&trial, &acquire_command, "--while-pid=77 --owner a:1 --json N");
	CHECK(tally,
	      options->while_pid == 77 && strcmp(options->owner, "a:1") == 0 && options->json);
	try(&trial, &release_command, "--force --token 1790000000000 N");
	CHECK(tally, options->force && options->token == INT64_C(1790000000000));
	try(&trial, &wrap_command, "N --help --bogus");
	CHECK(tally, trial.result == 0 && options->help);
	try(&trial, &wrap_command, "N true --help");
	CHECK(tally, trial.result == 0 && !options->help);
	try(&trial, &status_command, "--raw --noheadings -o NAME,STATE");
	CHECK(tally, options->raw && options->no_headings);
	CHECK(tally, strcmp(options->columns, "NAME,STATE") == 0);
}

static void check_url(struct tally *tally)
{
	struct trial trial;
	char *words[] = {trial.text, trial.text + 32, NULL};
	int count = 2;

	memset(&trial, 0, sizeof(trial));
	strcpy(words[0], "--url=redis://u:SECRET@h");
	strcpy(words[1], "N");
	options_init(&trial.options);
	CHECK(tally, parse_args(&trial.options, &acquire_command, &count, words, &trial.err) == 0);
	CHECK(tally, strcmp(trial.options.url, "redis://u:SECRET@h") == 0);
	CHECK(tally, trial.options.url_is_flag);
	CHECK(tally, strcmp(trial.text, "--url=redis://u:******@h") == 0);
	options_free(&trial.options);
}

/* A text that fills its array has no NUL, and C does not mind. */
#define ENDS(text) (memchr(text, '\0', sizeof(text)) != NULL)

static void check_texts(struct tally *tally)
{
	const struct option_row *row;

	for (size_t i = 0; (row = option_at(i)) != NULL; i++) {
		CHECK(tally, ENDS(row->name) && ENDS(row->argument) && ENDS(row->help));
		CHECK(tally, ENDS(row->fallback) && ENDS(row->expects));
		CHECK(tally, *row->name && *row->help && *row->expects);
		CHECK(tally, !*row->argument == (row->kind == OPTION_FLAG));
	}
}

int main(void)
{
	struct tally tally = {0};

	check_right(&tally);
	check_wrong(&tally);
	check_defaults(&tally);
	check_values(&tally);
	check_url(&tally);
	check_texts(&tally);
	return conclude(&tally);
}
