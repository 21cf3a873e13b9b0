#include "cli/options.h"

#include <assert.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/duration.h"
#include "base/signal_names.h"
#include "cli/command.h"
#include "redis/server_url.h"

#define DAY_MS 86400000
#define YEAR_MS (INT64_C(365) * DAY_MS)
/* Half, so that no deadline overflows when it is added to a clock. */
#define LONGEST_MS (INT64_MAX / 2)

enum {
	WRAP = 1,
	ACQUIRE = 2,
	RENEW = 4,
	RELEASE = 8,
	STATUS = 16,
	QUEUE = 32,
	LOG = 64,
	DOCTOR = 128,
	TAKE = WRAP | ACQUIRE,
	SHOW = STATUS | QUEUE | LOG,
	ALL = 0xffff, /* those to come too */
};

static const struct {
	const char *name;
	unsigned bit;
	int least, most; /* operands */
} scopes[] = {
	{"wrap", WRAP, 1, INT_MAX}, {"acquire", ACQUIRE, 1, 1},     {"renew", RENEW, 1, 1},
	{"release", RELEASE, 1, 1}, {"status", STATUS, 0, INT_MAX}, {"queue", QUEUE, 1, 1},
	{"log", LOG, 1, 1},         {"doctor", DOCTOR, 0, INT_MAX},
};

/* kind, offset, min, max, expects of a row */
#define MEMBER(member) offsetof(struct options, member)
#define FLAG(member) OPTION_FLAG, MEMBER(member), 0, 1, "yes or no"
#define TEXT(member, least) OPTION_TEXT, MEMBER(member), least, INT_MAX, "a text"
#define URL(member) OPTION_URL, MEMBER(member), 1, INT_MAX, "a URL"
#define DURATION(member, min, max, expects) OPTION_DURATION, MEMBER(member), min, max, expects
#define PERIOD(member, min, max, expects) OPTION_PERIOD, MEMBER(member), min, max, expects
#define NUMBER(member, min) OPTION_NUMBER, MEMBER(member), min, INT64_MAX, "a number"
#define INT(member, min, max, expects) OPTION_INT, MEMBER(member), min, max, expects
#define SIGNAL(member) OPTION_SIGNAL, MEMBER(member), 0, 0, "a signal"
#define ON_LOST(member) OPTION_ON_LOST, MEMBER(member), 0, 0, "kill or warn"

static const struct option_row rows[] = {
	{'u', "url", "URL", "the server", "local:", URL(url), ALL, SOURCE_ALL, HINT_URL},
	{0, "config", "FILE", "read this file instead of the usual ones", "", TEXT(config, 1), ALL,
	 SOURCE_FLAG | SOURCE_ENVIRONMENT, HINT_FILE},
	/* On a command line everybody could read it. */
	{0, "password", "TEXT", "the password of the server", "", TEXT(password, 1), ALL,
	 SOURCE_ENVIRONMENT | SOURCE_FILE, HINT_NONE},
	{0, "password-file", "FILE", "the password is the first line of this file", "",
	 TEXT(password_file, 1), ALL, SOURCE_ALL, HINT_FILE},
	{0, "sentinel-user", "USER", "who we are for sentinels", "", TEXT(sentinel_user, 1), ALL,
	 SOURCE_ALL, HINT_NONE},
	{0, "sentinel-password-file", "FILE", "the password of sentinels is its first line", "",
	 TEXT(sentinel_password_file, 1), ALL, SOURCE_ALL, HINT_FILE},
	{0, "tls-ca", "FILE", "whom to trust; a folder, too", "as the system",
	 TEXT(tls_files.ca, 1), ALL, SOURCE_ALL, HINT_FILE},
	{0, "tls-cert", "FILE", "our certificate", "", TEXT(tls_files.cert, 1), ALL, SOURCE_ALL,
	 HINT_FILE},
	{0, "tls-key", "FILE", "its key", "in the same file", TEXT(tls_files.key, 1), ALL,
	 SOURCE_ALL, HINT_FILE},
	{0, "tls-insecure", "", "trust any certificate", "", FLAG(tls_files.insecure), ALL,
	 SOURCE_ALL, HINT_NONE},
	{0, "connect-timeout", "DUR", "wait so long for a connection or a reply", "5s",
	 DURATION(connect_timeout_ms, 1, DAY_MS, "a duration from 1ms to 1d"), ALL, SOURCE_ALL,
	 HINT_NONE},
	{'q', "quiet", "", "say nothing about a lock that is busy", "", FLAG(quiet), ALL,
	 SOURCE_ALL, HINT_NONE},
	{'v', "verbose", "", "tell each step on standard error", "", FLAG(verbose), ALL, SOURCE_ALL,
	 HINT_NONE},
	{'n', "no-wait", "", "fail at once if the lock is busy or somebody waits", "",
	 FLAG(no_wait), TAKE, SOURCE_FLAG, HINT_NONE},
	{'w', "wait", "DUR", "wait at most so long (0 is -n)", "for ever",
	 DURATION(wait_ms, 0, LONGEST_MS, "a duration"), TAKE, SOURCE_ALL, HINT_NONE},
	{'l', "lease", "DUR", "how long the lock is held without a renewal, 1s to 1d",
	 "30s; renew: as it was taken",
	 DURATION(lease_ms, 1000, DAY_MS, "a duration from 1s to 1d"), TAKE | RENEW | DOCTOR,
	 SOURCE_ALL, HINT_NONE},
	{'E', "conflict-exit-code", "N", "exit status when the lock was not obtained", "75",
	 INT(conflict_status, 0, 255, "a number from 0 to 255"), TAKE, SOURCE_ALL, HINT_NONE},
	{0, "max-queue", "N", "do not join behind N waiters", "", NUMBER(max_queue, 0), TAKE,
	 SOURCE_ALL, HINT_NONE},
	{0, "replicas", "N", "hold only what so many replicas know", "", NUMBER(replicas, 0),
	 TAKE | DOCTOR, SOURCE_ALL, HINT_NONE},
	{0, "syslog", "", "tell syslog, too, what happens", "", FLAG(syslog), TAKE, SOURCE_ALL,
	 HINT_NONE},
	{'c', "command", "STR", "run sh -c STR", "", TEXT(shell_command, 0), WRAP, SOURCE_FLAG,
	 HINT_NONE},
	{'s', "signal", "SIG", "first signal to a command that must stop", "TERM", SIGNAL(signal),
	 WRAP, SOURCE_ALL, HINT_SIGNAL},
	{'k', "kill-after", "DUR", "from that signal to SIGKILL, at most a third of the lease",
	 "10s or a third of the lease",
	 DURATION(kill_after_ms, 0, DAY_MS, "a duration up to a third of the lease"), WRAP,
	 SOURCE_ALL, HINT_NONE},
	{0, "min-hold", "DUR", "keep the lock so long, even if COMMAND ends sooner", "",
	 DURATION(min_hold_ms, 0, YEAR_MS, "a duration up to 365d"), WRAP, SOURCE_ALL, HINT_NONE},
	{0, "max-hold", "DUR", "stop COMMAND after so long", "",
	 DURATION(max_hold_ms, 1, LONGEST_MS, "a duration over 0"), WRAP, SOURCE_ALL, HINT_NONE},
	{0, "once-per", "DUR", "not if a COMMAND was started less than 0.9 of it ago", "",
	 DURATION(once_per_ms, 1, YEAR_MS, "a duration from 1ms to 365d"), WRAP, SOURCE_ALL,
	 HINT_NONE},
	{0, "jitter", "DUR", "wait a random time up to this before asking", "",
	 DURATION(jitter_ms, 0, DAY_MS, "a duration up to 1d"), WRAP, SOURCE_ALL, HINT_NONE},
	{0, "on-lost", "kill|warn", "what to do when the lock is lost", "kill", ON_LOST(on_lost),
	 WRAP, SOURCE_ALL, HINT_ON_LOST},
	{0, "while-pid", "PID", "keep renewing until PID ends, then release", "",
	 INT(while_pid, 1, INT_MAX, "a process id"), ACQUIRE, SOURCE_FLAG, HINT_NONE},
	{0, "owner", "ID", "act as this owner", "", TEXT(owner, 1), ACQUIRE | RENEW | RELEASE,
	 SOURCE_FLAG, HINT_NONE},
	{0, "force", "", "break the lock whoever holds it", "", FLAG(force), RELEASE, SOURCE_FLAG,
	 HINT_NONE},
	{0, "token", "T", "with --force: only if T is still the holder's token", "",
	 NUMBER(token, 0), RELEASE, SOURCE_FLAG, HINT_NONE},
	{0, "remove", "ID", "take a waiter out of the queue", "", TEXT(remove, 1), QUEUE,
	 SOURCE_FLAG, HINT_NONE},
	{0, "since", "DUR", "only what happened so long ago or later", "",
	 DURATION(since_ms, 0, LONGEST_MS, "a duration"), LOG, SOURCE_FLAG, HINT_NONE},
	{0, "follow", "", "print each new event as it comes", "", FLAG(follow), LOG, SOURCE_FLAG,
	 HINT_NONE},
	{0, "stats", "", "print how often, how long, and how busy", "", FLAG(stats), LOG,
	 SOURCE_FLAG, HINT_NONE},
	{0, "plot", "", "draw who waited and held, to scale", "", FLAG(plot), LOG, SOURCE_FLAG,
	 HINT_NONE},
	{0, "watch", "DUR", "redraw so often until q is typed", "1s",
	 PERIOD(watch_ms, 100, DAY_MS, "a duration from 100ms to 1d"), STATUS | QUEUE, SOURCE_FLAG,
	 HINT_NONE},
	{0, "prometheus", "", "print metrics for Prometheus", "", FLAG(prometheus), STATUS,
	 SOURCE_FLAG, HINT_NONE},
	{0, "json", "", "print JSON", "", FLAG(json), SHOW | ACQUIRE | DOCTOR, SOURCE_FLAG,
	 HINT_NONE},
	{0, "raw", "", "print columns without padding", "", FLAG(raw), SHOW, SOURCE_FLAG,
	 HINT_NONE},
	{0, "noheadings", "", "print no headings", "", FLAG(no_headings), SHOW, SOURCE_FLAG,
	 HINT_NONE},
	{'o', "output", "COLS", "print these columns, comma-separated", "", TEXT(columns, 1), SHOW,
	 SOURCE_FLAG, HINT_NONE},
	{0, "help", "", "show this help", "", FLAG(help), ALL, SOURCE_FLAG, HINT_NONE},
};

#define ROW_COUNT (sizeof(rows) / sizeof(rows[0]))

_Static_assert(ROW_COUNT <= ROWS_MAX, "options.given has a bit for each row");
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
		.since_ms = -1,
	};
}

void options_free(struct options *options)
{
	free(options->url_copy);
	options->url_copy = NULL;
}

const struct option_row *option_at(size_t index)
{
	return index < ROW_COUNT ? &rows[index] : NULL;
}

const struct option_row *option_named(const char *name)
{
	for (size_t i = 0; i < ROW_COUNT; i++)
		if (strcmp(rows[i].name, name) == 0)
			return &rows[i];
	return NULL;
}

bool option_is_of_all(const struct option_row *row)
{
	return row->commands == ALL;
}

static size_t find_scope(const char *command)
{
	size_t i = 0;

	while (i < sizeof(scopes) / sizeof(scopes[0]) && strcmp(scopes[i].name, command) != 0)
		i++;
	return i;
}

unsigned command_bit(const char *command)
{
	size_t i = find_scope(command);

	return i < sizeof(scopes) / sizeof(scopes[0]) ? scopes[i].bit : 0;
}

unsigned command_defaults(const char *command)
{
	const unsigned bit = command_bit(command);

	return bit == DOCTOR ? (unsigned)ALL : bit;
}

bool command_runs_words(const char *command)
{
	return command_bit(command) == WRAP;
}

bool command_takes(const char *command)
{
	return (command_bit(command) & TAKE) != 0;
}

int command_operands(const char *command)
{
	size_t i = find_scope(command);

	return i < sizeof(scopes) / sizeof(scopes[0]) ? scopes[i].most : 0;
}

int command_needs(const char *command)
{
	size_t i = find_scope(command);

	return i < sizeof(scopes) / sizeof(scopes[0]) ? scopes[i].least : 0;
}

static uint64_t given_bit(const struct option_row *row)
{
	return UINT64_C(1) << (row - rows);
}

bool options_has(const struct options *options, const struct option_row *row)
{
	return (options->given & given_bit(row)) != 0;
}

bool options_takes(const struct options *options, const struct option_row *row, unsigned command,
		   enum option_source source)
{
	return (row->sources & source) && (row->commands & command) && !options_has(options, row);
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

static int parse_number(const char *value, int64_t *number)
{
	*number = 0;
	if (*value == '\0')
		return -1;
	for (; *value != '\0'; value++) {
		if (*value < '0' || *value > '9' || __builtin_mul_overflow(*number, 10, number) ||
		    __builtin_add_overflow(*number, *value - '0', number))
			return -1;
	}
	return 0;
}

static int parse_signal(const char *value, int64_t *number)
{
	int signal = 0;
	int failed = signal_parse(value, &signal);

	*number = signal;
	return failed;
}

static int parse_on_lost(const char *value, int64_t *number)
{
	*number = strcmp(value, "warn") == 0 ? ON_LOST_WARN : ON_LOST_KILL;
	return *number == ON_LOST_WARN || strcmp(value, "kill") == 0 ? 0 : -1;
}

static int parse_value(const struct option_row *row, const char *value, int64_t *number)
{
	switch (row->kind) {
	case OPTION_FLAG:
		return parse_flag(value, number);
	case OPTION_TEXT:
	case OPTION_URL:
		*number = (int64_t)strlen(value);
		return 0;
	case OPTION_DURATION:
	case OPTION_PERIOD:
		return duration_parse(value, number);
	case OPTION_NUMBER:
	case OPTION_INT:
		return parse_number(value, number);
	case OPTION_SIGNAL:
		return parse_signal(value, number);
	case OPTION_ON_LOST:
		return parse_on_lost(value, number);
	}
	return -1;
}

static bool is_bounded(const struct option_row *row)
{
	return row->min != 0 || row->max != 0;
}

static void store(struct options *options, const struct option_row *row, const char *value,
		  int64_t number)
{
	void *member = (char *)options + row->offset;

	switch (row->kind) {
	case OPTION_FLAG:
		*(bool *)member = number != 0;
		break;
	case OPTION_TEXT:
	case OPTION_URL:
		*(const char **)member = value;
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
	case OPTION_ON_LOST:
		*(enum on_lost *)member = (enum on_lost)number;
		break;
	}
	options->given |= given_bit(row);
}

int options_set(struct options *options, const struct option_row *row, const char *value)
{
	int64_t number = 0;

	if (parse_value(row, value, &number))
		return -1;
	if (is_bounded(row) && (number < row->min || number > row->max))
		return -1;
	if (options)
		store(options, row, value, number);
	return 0;
}

void options_note(struct options *options, const struct option_row *row, struct origin origin)
{
	options->origins[row - rows] = origin;
}

const struct origin *options_origin(const struct options *options, const struct option_row *row)
{
	return &options->origins[row - rows];
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
	options->url_word = url;
	options->url_is_flag = true;
	return 0;
}

void options_restore_url(const struct options *options)
{
	if (options->url_copy)
		memcpy(options->url_word, options->url_copy, strlen(options->url_copy));
}

int options_settle(struct options *options, const struct command *command, struct error *err)
{
	const int64_t lease_ms = options->lease_ms ? options->lease_ms : DEFAULT_LEASE_MS;

	if (options->wait_ms == 0)
		options->no_wait = true;
	if (command_bit(command->name) == WRAP && options->kill_after_ms >= 0 &&
	    options->kill_after_ms > lease_ms / 3)
		return fail(
			err, STATUS_USAGE,
			"cannot use --kill-after: %g s is more than a third of the lease (%g s)",
			(double)options->kill_after_ms / 1000, (double)lease_ms / 1000);
	return 0;
}
