/* The table of options, their words in each command, and how values get into struct options. */
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
#include "redis/server_url.h"

#define REASON_BYTES 200
#define DAY_MS 86400000
#define YEAR_MS (INT64_C(365) * DAY_MS)
/* Half, so that no deadline overflows when it is added to a clock. */
#define LONGEST_MS (INT64_MAX / 2)

/* the commands of most rows */
enum {
	ALL = COMMAND_ALL,
	WRAP = COMMAND_WRAP,
	TAKE = COMMAND_WRAP | COMMAND_ACQUIRE,
	SHOW = COMMAND_STATUS | COMMAND_QUEUE | COMMAND_LOG,
};

/* kind, offset, min, max, expects of a row */
#define MEMBER(member) offsetof(struct options, member)
#define FLAG(member) OPTION_FLAG, MEMBER(member), 0, 1, "yes or no"
#define TEXT(member, least) OPTION_TEXT, MEMBER(member), least, INT_MAX, "a text"
#define PATH(member) OPTION_FILE, MEMBER(member), 1, INT_MAX, "a path"
#define COLUMNS(member) OPTION_COLUMNS, MEMBER(member), 1, INT_MAX, "a list of columns"
#define ID(kind, member) kind, MEMBER(member), 1, INT_MAX, "an owner ID"
#define URL(member) OPTION_URL, MEMBER(member), 1, INT_MAX, "a URL"
#define REASON(member)                                                                             \
	OPTION_REASON, MEMBER(member), 0, REASON_BYTES, "plain text of at most 200 bytes"
#define DURATION(member, min, max, expects) OPTION_DURATION, MEMBER(member), min, max, expects
#define PERIOD(member, min, max, expects) OPTION_PERIOD, MEMBER(member), min, max, expects
#define NUMBER(member, min) OPTION_NUMBER, MEMBER(member), min, INT64_MAX, "a number"
#define INT(member, min, max, expects) OPTION_INT, MEMBER(member), min, max, expects
#define SIGNAL(member) OPTION_SIGNAL, MEMBER(member), 1, INT_MAX, "a signal"
#define COLOUR(member) OPTION_COLOUR, MEMBER(member), 0, COLOUR_NEVER, "auto, always or never"

const char colour_words[COLOUR_COUNT][COLOUR_BYTES] = {
	[COLOUR_AUTO] = "auto",
	[COLOUR_ALWAYS] = "always",
	[COLOUR_NEVER] = "never",
};

static const struct option_row option_rows[] = {
	{'u', "url", "URL", "the server that has the locks", "local:", URL(url), ALL, SOURCE_ALL,
	 GROUP_SERVER},
	{0, "config", "FILE", "read this configuration file, not the usual ones", "", PATH(config),
	 ALL, SOURCE_FLAG | SOURCE_ENVIRONMENT, GROUP_SERVER},
	/* On a command line everybody could read it. */
	{0, "password", "TEXT", "the password of the server", "", TEXT(password, 1), ALL,
	 SOURCE_ENVIRONMENT | SOURCE_FILE, GROUP_SERVER},
	{0, "password-file", "FILE", "the first line of this file is the password", "",
	 PATH(password_file), ALL, SOURCE_ALL, GROUP_SERVER},
	{0, "sentinel-user", "USER", "the user name for the sentinels", "", TEXT(sentinel_user, 1),
	 ALL, SOURCE_ALL, GROUP_SERVER},
	{0, "sentinel-password-file", "FILE", "the first line is the password of the sentinels", "",
	 PATH(sentinel_password_file), ALL, SOURCE_ALL, GROUP_SERVER},
	{0, "tls-ca", "FILE", "trust the authorities in this file or folder", "those of the system",
	 PATH(tls_files.ca), ALL, SOURCE_ALL, GROUP_SERVER},
	{0, "tls-cert", "FILE", "show this certificate to the server", "", PATH(tls_files.cert),
	 ALL, SOURCE_ALL, GROUP_SERVER},
	{0, "tls-key", "FILE", "the private key of --tls-cert", "in the same file",
	 PATH(tls_files.key), ALL, SOURCE_ALL, GROUP_SERVER},
	{0, "tls-insecure", "", "do not check the certificate of the server", "",
	 FLAG(tls_files.insecure), ALL, SOURCE_ALL, GROUP_SERVER},
	{0, "connect-timeout", "DUR", "wait at most DUR for a connection or a reply", "5s",
	 DURATION(connect_timeout_ms, 1, DAY_MS, "a duration from 1ms to 1d"), ALL, SOURCE_ALL,
	 GROUP_SERVER},
	{'q', "quiet", "", "print nothing if the lock is busy", "", FLAG(quiet), ALL, SOURCE_ALL,
	 GROUP_BUSY},
	{'v', "verbose", "", "print each step on standard error", "", FLAG(verbose), ALL,
	 SOURCE_ALL, GROUP_OTHER},
	{'n', "no-wait", "", "exit at once if the lock is busy or has waiters", "", FLAG(no_wait),
	 TAKE, SOURCE_FLAG, GROUP_BUSY},
	{'w', "wait", "DUR", "wait at most DUR; 0 is -n", "for ever",
	 DURATION(wait_ms, 0, LONGEST_MS, "a duration"), TAKE | COMMAND_RELEASE, SOURCE_ALL,
	 GROUP_BUSY},
	{'l', "lease", "DUR", "free the lock DUR after the last renewal, 1s to 1d", "30s",
	 DURATION(lease_ms, 1000, DAY_MS, "a duration from 1s to 1d"),
	 TAKE | COMMAND_RENEW | COMMAND_DOCTOR, SOURCE_ALL, GROUP_LIMITS},
	{'E', "conflict-exit-code", "N", "exit with N if not obtained", "75",
	 INT(conflict_status, 0, 255, "a number from 0 to 255"), TAKE, SOURCE_ALL, GROUP_BUSY},
	{0, "skip", "", "exit with 0, and print nothing (-n -q -E 0)", "", FLAG(skip), WRAP,
	 SOURCE_FLAG, GROUP_BUSY},
	{0, "report", "DUR", "without a terminal, print the place every DUR", "1m in CI",
	 DURATION(report_ms, 1000, LONGEST_MS, "a duration from 1s"), TAKE, SOURCE_ALL, GROUP_BUSY},
	{0, "reason", "TEXT", "show TEXT to others instead of the arguments", "", REASON(reason),
	 TAKE, SOURCE_ALL, GROUP_SEEN},
	{0, "max-queue", "N", "exit if N waiters are in the queue", "", NUMBER(max_queue, 0), TAKE,
	 SOURCE_ALL, GROUP_BUSY},
	{0, "slots", "N|A,B", "take one of N slots, or of these named ones", "", OPTION_SLOTS,
	 MEMBER(slots), 0, INT_MAX, "a number of slots, or their names", TAKE, SOURCE_FLAG,
	 GROUP_MANY},
	{0, "shared", "", "share the lock with others that take it so", "", FLAG(shared), TAKE,
	 SOURCE_FLAG, GROUP_MANY},
	{0, "supersede", "", "newest wins: replace the waiter with --supersede", "",
	 FLAG(supersede), WRAP, SOURCE_FLAG, GROUP_BUSY},
	{0, "also", "NAME", "take this lock, too; may be given 15 times", "", OPTION_ALSO,
	 MEMBER(also), 1, INT_MAX, "a NAME", WRAP, SOURCE_FLAG, GROUP_MANY},
	{0, "replicas", "N", "require N replicas to confirm the lock", "", NUMBER(replicas, 0),
	 TAKE | COMMAND_DOCTOR, SOURCE_ALL, GROUP_LIMITS},
	{0, "syslog", "", "send messages to syslog, too", "", FLAG(syslog), TAKE, SOURCE_ALL,
	 GROUP_SEEN},
	{'c', "command", "STR", "run STR with sh -c", "", TEXT(shell_command, 0), WRAP, SOURCE_FLAG,
	 GROUP_OTHER},
	{'s', "signal", "SIG", "stop COMMAND with this signal", "TERM", SIGNAL(signal), WRAP,
	 SOURCE_ALL, GROUP_LIMITS},
	{'k', "kill-after", "DUR", "send SIGKILL DUR after --signal", "10s, at most lease/3",
	 DURATION(kill_after_ms, 0, DAY_MS / 3, "a duration up to 8h"), WRAP, SOURCE_ALL,
	 GROUP_LIMITS},
	{0, "min-hold", "DUR", "keep the lock for DUR at least", "",
	 DURATION(min_hold_ms, 0, YEAR_MS, "a duration up to 365d"), WRAP, SOURCE_ALL, GROUP_ONCE},
	{0, "max-hold", "DUR", "stop COMMAND after DUR, and exit with 124", "",
	 DURATION(max_hold_ms, 1, LONGEST_MS, "a duration over 0"), TAKE, SOURCE_ALL, GROUP_LIMITS},
	{0, "once-per", "DUR", "run at most once per DUR, on all hosts together", "",
	 DURATION(once_per_ms, 1, YEAR_MS, "a duration from 1ms to 365d"), WRAP, SOURCE_ALL,
	 GROUP_ONCE},
	{0, "once-ok", "DUR", "run unless COMMAND has succeeded within DUR", "",
	 DURATION(once_ok_ms, 1, YEAR_MS, "a duration from 1ms to 365d"), WRAP, SOURCE_FLAG,
	 GROUP_ONCE},
	{0, "jitter", "DUR", "first wait a random time up to DUR", "",
	 DURATION(jitter_ms, 0, DAY_MS, "a duration up to 1d"), WRAP, SOURCE_ALL, GROUP_BUSY},
	{0, "while-pid", "PID", "renew until process PID ends, then release", "",
	 INT(while_pid, 1, INT_MAX, "a process id"), COMMAND_ACQUIRE, SOURCE_FLAG, GROUP_OTHER},
	{0, "owner", "ID", "act as this owner; acquire prints the ID", "", ID(OPTION_OWNER, owner),
	 COMMAND_ACQUIRE | COMMAND_RENEW | COMMAND_RELEASE, SOURCE_FLAG, GROUP_OTHER},
	{0, "stop", "", "ask the holder to stop, and wait until it has", "", FLAG(stop),
	 COMMAND_RELEASE, SOURCE_FLAG, GROUP_OTHER},
	{0, "force", "", "break the lock at once; its command may run for 1 s more", "",
	 FLAG(force), COMMAND_RELEASE, SOURCE_FLAG, GROUP_OTHER},
	{0, "slot", "S", "with --stop or --force: only the hold that has this slot", "",
	 OPTION_SLOT, MEMBER(slot), 1, SLOT_MAX_BYTES - 1, "one slot", COMMAND_RELEASE, SOURCE_FLAG,
	 GROUP_OTHER},
	{0, "token", "T", "with --force: only if the holder has this token", "", NUMBER(token, 0),
	 COMMAND_RELEASE, SOURCE_FLAG, GROUP_OTHER},
	{0, "forget-run", "", "forget the last run, for --once-per and --once-ok", "",
	 FLAG(forget_run), COMMAND_RELEASE, SOURCE_FLAG, GROUP_OTHER},
	{0, "remove", "ID", "take this waiter out of the queue", "", ID(OPTION_WAITER, remove),
	 COMMAND_QUEUE, SOURCE_FLAG, GROUP_OTHER},
	{0, "since", "DUR|TIME", "show only the events of the last DUR, or since TIME", "",
	 OPTION_TEXT, MEMBER(since), 1, INT_MAX, "a duration or a time", COMMAND_LOG, SOURCE_FLAG,
	 GROUP_OTHER},
	{'n', "lines", "N", "show only the last N events", "", NUMBER(lines, 0), COMMAND_LOG,
	 SOURCE_FLAG, GROUP_OTHER},
	{0, "follow", "", "print new events as they come", "", FLAG(follow), COMMAND_LOG,
	 SOURCE_FLAG, GROUP_OTHER},
	{0, "stats", "", "print figures: how often, how long, how busy", "", FLAG(stats),
	 COMMAND_LOG, SOURCE_FLAG, GROUP_OTHER},
	{0, "plot", "", "draw when each job waited, and when it held the lock", "", FLAG(plot),
	 COMMAND_LOG, SOURCE_FLAG, GROUP_OTHER},
	{0, "watch", "DUR", "redraw every DUR until you press q", "1s",
	 PERIOD(watch_ms, 100, DAY_MS, "a duration from 100ms to 1d"),
	 COMMAND_STATUS | COMMAND_QUEUE, SOURCE_FLAG, GROUP_OTHER},
	{'a', "all", "", "show free locks, too", "", FLAG(all), COMMAND_STATUS, SOURCE_FLAG,
	 GROUP_OTHER},
	{0, "sort", "COL", "sort by this column", "", OPTION_COLUMN, MEMBER(sort), 1, INT_MAX,
	 "a column", SHOW, SOURCE_FLAG, GROUP_OTHER},
	{0, "color", "WHEN", "use colours: auto, always or never", "auto", COLOUR(colour),
	 SHOW | COMMAND_DOCTOR, SOURCE_FLAG, GROUP_OTHER},
	{0, "prometheus", "", "print metrics for Prometheus", "", FLAG(prometheus), COMMAND_STATUS,
	 SOURCE_FLAG, GROUP_OTHER},
	{0, "json", "", "print JSON", "", FLAG(json), SHOW | COMMAND_ACQUIRE | COMMAND_DOCTOR,
	 SOURCE_FLAG, GROUP_OTHER},
	{0, "raw", "", "print columns without padding", "", FLAG(raw), SHOW, SOURCE_FLAG,
	 GROUP_OTHER},
	{0, "noheadings", "", "print no headings", "", FLAG(no_headings), SHOW, SOURCE_FLAG,
	 GROUP_OTHER},
	{'o', "output", "COLS", "print these columns; +COLS adds them, -o help lists all", "",
	 COLUMNS(columns), SHOW, SOURCE_FLAG, GROUP_OTHER},
	{'h', "help", "", "show this help", "", FLAG(help), ALL, SOURCE_FLAG, GROUP_OTHER},
	{'V', "version", "", "show the version", "", FLAG(version), ALL, SOURCE_FLAG, GROUP_OTHER},
};

/* The words of an option in the commands where those of its row would be wrong. An empty default
 * is that of the row. */
static const struct {
	char name[12];
	unsigned commands;
	char help[64];
	char fallback[20];
} other_words[] = {
	{"quiet", COMMAND_STATUS, "print nothing; exit with 0 if a lock is held, else 1", ""},
	{"quiet", COMMAND_RELEASE, "with --stop, --force, --forget-run: print nothing on stdout",
	 ""},
	{"wait", COMMAND_RELEASE, "with --stop: wait at most DUR; 0: only ask", ""},
	{"quiet", COMMAND_DOCTOR, "print only warnings and errors", ""},
	{"quiet", COMMAND_RENEW | COMMAND_QUEUE | COMMAND_LOG, "has no effect here", ""},
	{"verbose", COMMAND_DOCTOR, "print each step on standard error, and all settings", ""},
	{"lease", COMMAND_ACQUIRE, "hold the lock for DUR, 1s to 30d (with --while-pid: 1d)", ""},
	{"lease", COMMAND_RENEW, "hold the lock for DUR from now on, 1s to 30d", "that of acquire"},
	{"lease", COMMAND_DOCTOR, "judge the server for jobs with this lease, 1s to 1d", ""},
	{"max-hold", COMMAND_ACQUIRE, "with --while-pid: release after DUR, even if PID lives", ""},
	{"replicas", COMMAND_DOCTOR, "judge the server for jobs that require N replicas", ""},
	{"json", COMMAND_ACQUIRE, "print name, owner, token, lease, mode and slot as JSON", ""},
	{"owner", COMMAND_RELEASE, "act as this owner; with --stop or --force: only its hold", ""},
};

/* The same for the bounds of a value. Largest first: for a command that does not have the option,
 * a configuration file may have any of them. */
static const struct {
	char name[12];
	unsigned commands;
	int64_t max;
	char expects[40];
} other_bounds[] = {
	{"lease", COMMAND_ACQUIRE | COMMAND_RENEW, 30 * (int64_t)DAY_MS,
	 "a duration from 1s to 30d"},
};

static int64_t option_max(const struct option_row *row, unsigned command, const char **expects)
{
	int64_t max = row->max;

	*expects = row->expects;
	for (size_t i = 0; i < sizeof(other_bounds) / sizeof(other_bounds[0]); i++) {
		if (strcmp(other_bounds[i].name, row->name) != 0 ||
		    (row->commands & command & ~other_bounds[i].commands))
			continue;
		max = other_bounds[i].max;
		*expects = other_bounds[i].expects;
	}
	return max;
}

void option_words(struct option_words *words, const struct option_row *row, unsigned command)
{
	*words = (struct option_words){row->help, row->fallback};
	for (size_t i = 0; i < sizeof(other_words) / sizeof(other_words[0]); i++) {
		if (!(other_words[i].commands & command) ||
		    strcmp(other_words[i].name, row->name) != 0)
			continue;
		words->help = other_words[i].help;
		if (*other_words[i].fallback)
			words->fallback = other_words[i].fallback;
	}
}

static const size_t option_row_count = sizeof(option_rows) / sizeof(option_rows[0]);

_Static_assert(sizeof(option_rows) / sizeof(option_rows[0]) <= ROWS_MAX,
	       "options.origins has a member for each row");

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
