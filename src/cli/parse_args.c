#include "cli/parse_args.h"

#include "cli/argv_reader.h"
#include "cli/command.h"
#include "cli/options.h"

/* The value of an option that was given without one. */
static const char *implied(const struct option_row *row)
{
	return row->kind == OPTION_PERIOD ? row->fallback : "yes";
}

static int set_flag(struct options *options, const struct arguments *arguments, struct error *err)
{
	const struct option_row *row = arguments->row;
	char *value = arguments->value;

	if (options_set(options, row, value ? value : implied(row)))
		return fail(err, STATUS_USAGE, "cannot use option '--%s': '%.100s' is not %s",
			    row->name, value, row->expects);
	options_note(options, row, (struct origin){.source = SOURCE_FLAG});
	return row->kind == OPTION_URL ? options_take_url(options, value, err) : 0;
}

static int check_operands(const struct options *options, const struct command *command, int count,
			  struct error *err)
{
	const bool has_words = count > 1, has_text = options->shell_command != NULL;

	if (count < command->least)
		return fail(err, STATUS_USAGE, "cannot run '%s': NAME is missing", command->name);
	if (count > command->most)
		return fail(err, STATUS_USAGE, "cannot run '%s': there is more than one NAME",
			    command->name);
	if (!command->runs_words || has_words != has_text)
		return 0;
	return fail(err, STATUS_USAGE,
		    has_text ? "cannot run '%s': COMMAND and --command exclude "
			       "each other"
			     : "cannot run '%s': COMMAND is missing",
		    command->name);
}

struct excluded {
	bool given;
	const char *name;
};

static int refuse_any(const struct excluded *excluded, size_t count, const char *by,
		      struct error *err)
{
	for (size_t i = 0; i < count; i++)
		if (excluded[i].given)
			return fail(err, STATUS_USAGE, "cannot use option '%s': %s excludes it",
				    excluded[i].name, by);
	return 0;
}

#define REFUSE_ANY(excluded, by, err)                                                              \
	refuse_any(excluded, sizeof(excluded) / sizeof((excluded)[0]), by, err)

/* Figures and drawings have no columns, and an end. */
static int check_log(const struct options *options, struct error *err)
{
	const struct excluded excluded[] = {
		{options->plot && options->stats, "--stats"},
		{options->plot && options->json, "--json"},
		{options->follow, "--follow"},
		{options->raw, "--raw"},
		{options->no_headings, "--noheadings"},
		{options->columns != NULL, "--output"},
	};

	if (!options->plot && !options->stats)
		return 0;
	return REFUSE_ANY(excluded, options->plot ? "--plot" : "--stats", err);
}

/* A screen is for people, and has no end. */
static int check_watch(const struct options *options, struct error *err)
{
	const struct excluded excluded[] = {
		{options->json, "--json"},
		{options->raw, "--raw"},
		{options->remove != NULL, "--remove"},
	};

	return options->watch_ms ? REFUSE_ANY(excluded, "--watch", err) : 0;
}

/* The format is what it is. */
static int check_prometheus(const struct options *options, struct error *err)
{
	const struct excluded excluded[] = {
		{options->watch_ms != 0, "--watch"},
		{options->json, "--json"},
		{options->raw, "--raw"},
		{options->no_headings, "--noheadings"},
		{options->columns != NULL, "--output"},
		{options->quiet, "--quiet"},
	};

	return options->prometheus ? REFUSE_ANY(excluded, "--prometheus", err) : 0;
}

/* Combinations of options that no file or variable can set. */
static int check_flags(const struct options *options, struct error *err)
{
	if (options->token >= 0 && !options->force)
		return fail(err, STATUS_USAGE, "cannot use option '--token': it needs --force");
	if (options->json && options->raw)
		return fail(err, STATUS_USAGE, "cannot use option '--raw': --json excludes it");
	if (check_prometheus(options, err) < 0 || check_watch(options, err) < 0)
		return -1;
	return check_log(options, err);
}

int parse_args(struct options *options, const struct command *command, int *argc, char **argv,
	       struct error *err)
{
	struct arguments arguments;
	int count = 0;

	arguments_init(&arguments, command, *argc, argv);
	for (;;) {
		switch (arguments_next(&arguments)) {
		case ARGUMENT_OPTION:
			if (set_flag(options, &arguments, err))
				return -1;
			if (options->help)
				return 0;
			break;
		case ARGUMENT_OPERAND:
			argv[count++] = arguments.value;
			break;
		case ARGUMENT_COMMAND:
			while (arguments.at < *argc)
				argv[count++] = argv[arguments.at++];
			break;
		case ARGUMENT_NEEDS_VALUE:
		case ARGUMENT_MISTAKE:
			return fail(err, STATUS_USAGE, "cannot use option '%s': %s",
				    arguments.option, arguments.mistake);
		case ARGUMENT_END:
			argv[count] = NULL;
			*argc = count;
			if (check_operands(options, command, count, err))
				return -1;
			return check_flags(options, err);
		}
	}
}
