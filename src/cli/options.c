/* Sets the members of struct options by their rows. */
#include "cli/options.h"

#include <assert.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/duration.h"
#include "base/duration_guess.h"
#include "base/number.h"
#include "base/shorten.h"
#include "base/signal_names.h"
#include "base/slots.h"
#include "base/utf8.h"
#include "cli/command.h"
#include "redis/server.h"

#define CI_REPORT_MS 60000

_Static_assert(sizeof(pid_t) == sizeof(int), "OPTION_INT is for process ids too");

void options_init(struct options *options)
{
	*options = (struct options){
		.connect_timeout_ms = 5000,
		.wait_ms = -1,
		.conflict_status = STATUS_NOT_OBTAINED,
		.max_queue = -1,
		.signal = SIGTERM,
		.kill_after_ms = -1,
		.token = -1,
		.lines = -1,
	};
}

void options_free(struct options *options)
{
	free(options->url_copy);
}

const struct option_row *option_at(size_t index)
{
	return index < option_row_count ? &option_rows[index] : NULL;
}

const struct option_row *option_named(const char *name)
{
	for (size_t i = 0; i < option_row_count; i++)
		if (strcmp(option_rows[i].name, name) == 0)
			return &option_rows[i];
	return NULL;
}

bool option_is_for(const struct option_row *row, unsigned commands, enum option_source source)
{
	/* a lease in a file is for new holds: one that is renewed keeps its own */
	if (commands == COMMAND_RENEW && source != SOURCE_FLAG && row->commands != COMMAND_ALL)
		return false;
	return (row->sources & source) && (row->commands & commands);
}

const struct origin *options_origin(const struct options *options, const struct option_row *row)
{
	return &options->origins[row - option_rows];
}

bool options_want_help(const struct options *options)
{
	return options->help || options->version || options->column_help;
}

bool option_is_open(const struct option_row *row)
{
	return row->kind == OPTION_PERIOD || row->kind == OPTION_COLOUR;
}

bool options_has(const struct options *options, const struct option_row *row)
{
	return options_origin(options, row)->source != 0;
}

bool options_takes(const struct options *options, const struct option_row *row, unsigned command,
		   enum option_source source)
{
	return option_is_for(row, command, source) && !options_has(options, row);
}

static int parse_flag(const char *value, int64_t *number)
{
	static const char *const words[] = {"no", "yes", "false", "true", "0", "1"};

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		if (strcmp(value, words[i]) == 0) {
			*number = i % 2;
			return 0;
		}
	}
	return -1;
}

static int parse_signal(const char *value, int64_t *number)
{
	int signal = 0;
	int failed = signal_parse(value, &signal);

	*number = signal;
	return failed;
}

/* The first place in a text that other people must not get on their terminals; its end if there is
 * none. *code is 0 if no character of UTF-8 is there. */
static const char *find_unfit(const char *text, uint32_t *code)
{
	size_t length = 1;

	while (*text && length > 0) {
		length = utf8_decode(text, code);
		if (length > 0 && utf8_is_unprintable(*code))
			return text;
		text += length;
	}
	*code = 0;
	return text;
}

static int parse_reason(const char *value, int64_t *number)
{
	uint32_t code;

	*number = (int64_t)strlen(value);
	return *find_unfit(value, &code) ? -1 : 0;
}

static int parse_colour(const char *value, int64_t *number)
{
	for (*number = 0; *number < COLOUR_COUNT; ++*number)
		if (strcmp(value, colour_words[*number]) == 0)
			return 0;
	return -1;
}

static int parse_value(const struct option_row *row, const char *value, int64_t *number)
{
	switch (row->kind) {
	case OPTION_FLAG:
		return parse_flag(value, number);
	case OPTION_TEXT:
	case OPTION_FILE:
	case OPTION_URL:
	case OPTION_COLUMNS:
	case OPTION_COLUMN:
	case OPTION_OWNER:
	case OPTION_WAITER:
	case OPTION_ALSO:
		*number = (int64_t)strlen(value);
		return 0;
	case OPTION_SLOT:
		*number = (int64_t)strlen(value);
		return slot_is_valid(value) ? 0 : -1;
	case OPTION_SLOTS:
		*number = (int64_t)strlen(value);
		return slots_fault(value) ? -1 : 0;
	case OPTION_REASON:
		return parse_reason(value, number);
	case OPTION_DURATION:
	case OPTION_PERIOD:
		return duration_parse(value, number);
	case OPTION_NUMBER:
	case OPTION_INT:
		return *value ? number_parse(value, strlen(value), number) : -1;
	case OPTION_SIGNAL:
		return parse_signal(value, number);
	case OPTION_COLOUR:
		return parse_colour(value, number);
	}
	return -1;
}

static void add(const char **list, const char *value)
{
	while (*list)
		list++;
	*list = value;
}

static void store(void *member, enum option_kind kind, const char *value, int64_t number)
{
	switch (kind) {
	case OPTION_FLAG:
		*(bool *)member = number != 0;
		break;
	case OPTION_TEXT:
	case OPTION_FILE:
	case OPTION_URL:
	case OPTION_REASON:
	case OPTION_COLUMNS:
	case OPTION_COLUMN:
	case OPTION_OWNER:
	case OPTION_WAITER:
	case OPTION_SLOTS:
	case OPTION_SLOT:
		*(const char **)member = value;
		break;
	case OPTION_ALSO:
		add((const char **)member, value);
		break;
	case OPTION_DURATION:
	case OPTION_PERIOD:
	case OPTION_NUMBER:
		*(int64_t *)member = number;
		break;
	case OPTION_INT:
	case OPTION_SIGNAL:
		*(int *)member = (int)number;
		break;
	case OPTION_COLOUR:
		*(enum colour_choice *)member = (enum colour_choice)number;
		break;
	}
}

int options_set(struct options *options, const struct option_row *row, const char *value,
		struct origin origin, unsigned command)
{
	const char *expects;
	int64_t number = 0;

	if (parse_value(row, value, &number) || number < row->min ||
	    number > option_max(row, command, &expects))
		return -1;
	if (options && row->kind == OPTION_ALSO && options->also[ALSO_MAX - 1])
		return -1;
	if (options) {
		store((char *)options + row->offset, row->kind, value, number);
		options->origins[row - option_rows] = origin;
	}
	return 0;
}

static bool is_duration(const struct option_row *row)
{
	return row->kind == OPTION_DURATION || row->kind == OPTION_PERIOD;
}

static void refuse_reason(char cause[VALUE_CAUSE_MAX_BYTES], const struct option_row *row,
			  const char *value)
{
	char shown[SHORT_MAX_BYTES];
	uint32_t code;
	const bool is_fit = !*find_unfit(value, &code);

	shorten(shown, value);
	if (is_fit)
		snprintf(cause, VALUE_CAUSE_MAX_BYTES, "'%s' is not %s", shown, row->expects);
	else if (code)
		snprintf(cause, VALUE_CAUSE_MAX_BYTES, "'%s' has the %s character U+%04X", shown,
			 utf8_is_control(code) ? "control"
			 : utf8_is_bidi(code)  ? "bidi"
					       : "line-ending",
			 code);
	else
		snprintf(cause, VALUE_CAUSE_MAX_BYTES, "'%s' is not valid UTF-8", shown);
}

const char *options_refuse(char cause[VALUE_CAUSE_MAX_BYTES], const struct option_row *row,
			   const char *value, unsigned command)
{
	const char *expects;
	char shown[SHORT_MAX_BYTES], guess[DURATION_GUESS_BYTES];
	int64_t number;

	option_max(row, command, &expects);
	if (row->kind == OPTION_REASON)
		refuse_reason(cause, row, value);
	else if (row->kind == OPTION_SLOTS)
		snprintf(cause, VALUE_CAUSE_MAX_BYTES, "'%s' %s", shorten(shown, value),
			 slots_fault(value));
	else if (row->kind == OPTION_ALSO && *value)
		snprintf(cause, VALUE_CAUSE_MAX_BYTES, "'%s' is one too many, %d are the most",
			 shorten(shown, value), ALSO_MAX);
	else if (is_duration(row) && parse_value(row, value, &number) < 0 &&
		 duration_guess(guess, value))
		snprintf(cause, VALUE_CAUSE_MAX_BYTES, "'%s' is not a duration, did you mean %s?",
			 shorten(shown, value), guess);
	else
		snprintf(cause, VALUE_CAUSE_MAX_BYTES, "'%s' is not %s", shorten(shown, value),
			 expects);
	return cause;
}

int options_take_url(struct options *options, char *url, struct error *err)
{
	assert(url);
	free(options->url_copy);
	options->url_copy = strdup(url);
	if (options->url_copy == NULL)
		return fail(err, STATUS_OS, "cannot copy the URL: out of memory");
	server_hide_password(url);
	options->url = options->url_copy;
	options->url_is_flag = true;
	return 0;
}

/* Where a default comes from. */
static const char *where(const struct options *options, const struct option_row *row)
{
	return options_origin(options, row)->source == SOURCE_FILE ? "a configuration file"
								   : "the environment";
}

int options_settle(struct options *options, const struct command *command, struct error *err)
{
	const int64_t lease_ms = options->lease_ms ? options->lease_ms : DEFAULT_LEASE_MS;
	const char *ci = getenv("CI");

	/* a job of CI that prints nothing looks as if it hung */
	if (!options->report_ms && ci && strcmp(ci, "true") == 0)
		options->report_ms = CI_REPORT_MS;

	if (options->skip) {
		options->no_wait = options->quiet = true;
		options->conflict_status = STATUS_OK;
	}
	if (options->wait_ms == 0)
		options->no_wait = true;
	if (options->once_ok_ms && options->once_per_ms)
		return fail(err, STATUS_USAGE,
			    "cannot use --once-ok: it does not go with --once-per, which %s sets",
			    where(options, option_named("once-per")));
	if (options->supersede && options->no_wait)
		return fail(err, STATUS_USAGE,
			    "cannot use option '--supersede': it does not go with --wait 0");
	if (command->bit == COMMAND_WRAP && options->kill_after_ms >= 0 &&
	    options->kill_after_ms > lease_ms / 3)
		return fail(
			err, STATUS_USAGE,
			"cannot use --kill-after: %g s is more than a third of the lease (%g s)",
			(double)options->kill_after_ms / 1000, (double)lease_ms / 1000);
	return 0;
}
