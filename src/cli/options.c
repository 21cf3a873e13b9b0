/* The table of options, their words in each command, and how a value becomes a member of struct
 * options. */
#include "cli/options.h"

#include <assert.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/signals.h"
#include "base/text.h"

#define VALUE_CAUSE_BYTES 320
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
	DEFAULTS = SOURCE_ENVIRONMENT | SOURCE_FILE,
};

const char colour_words[COLOUR_COUNT][COLOUR_BYTES] = {
	[COLOUR_AUTO] = "auto",
	[COLOUR_ALWAYS] = "always",
	[COLOUR_NEVER] = "never",
};

/* The later columns are named, and most rows have none: flags are the first kind. */
#define IN(member) .offset = offsetof(struct options, member)

const struct option_row option_rows[] = {
	{'u', "url", "URL", "the server that has the locks", IN(url), ALL, DEFAULTS, OPTION_URL,
	 .fallback = "local:", .section = "The server, for all commands"},
	{0, "config", "FILE", "read this configuration file, not the usual ones", IN(config), ALL,
	 SOURCE_ENVIRONMENT, OPTION_FILE},
	{0, "password", "TEXT", "the password of the server", IN(password), ALL, DEFAULTS,
	 OPTION_PASSWORD, .min = 1},
	{0, "password-file", "FILE", "the first line of this file is the password",
	 IN(password_file), ALL, DEFAULTS, OPTION_FILE},
	{0, "sentinel-user", "USER", "the user name for the sentinels", IN(sentinel_user), ALL,
	 DEFAULTS, OPTION_TEXT, .min = 1},
	{0, "sentinel-password-file", "FILE", "the first line is the password of the sentinels",
	 IN(sentinel_password_file), ALL, DEFAULTS, OPTION_FILE},
	{0, "tls-ca", "FILE", "trust the authorities in this file or folder", IN(tls_files.ca), ALL,
	 DEFAULTS, OPTION_FILE, .fallback = "those of the system"},
	{0, "tls-cert", "FILE", "show this certificate to the server", IN(tls_files.cert), ALL,
	 DEFAULTS, OPTION_FILE},
	{0, "tls-key", "FILE", "the private key of --tls-cert", IN(tls_files.key), ALL, DEFAULTS,
	 OPTION_FILE, .fallback = "in the same file"},
	{0, "tls-insecure", "", "do not check the certificate of the server",
	 IN(tls_files.insecure), ALL, DEFAULTS},
	{0, "connect-timeout", "DUR", "wait at most DUR for a connection or a reply",
	 IN(connect_timeout_ms), ALL, DEFAULTS, OPTION_DURATION, .fallback = "5s", 1, DAY_MS,
	 "a duration from 1ms to 1d"},

	{'n', "no-wait", "", "exit at once if the lock is busy or has waiters", IN(no_wait), TAKE,
	 .section = "If the lock is busy"},
	{'w', "wait", "DUR", "wait at most DUR; 0 is -n", IN(wait_ms), TAKE | COMMAND_RELEASE,
	 DEFAULTS, OPTION_DURATION, .fallback = "for ever", .max = LONGEST_MS},
	{'E', "conflict-exit-code", "N", "exit with N if not obtained", IN(conflict_status), TAKE,
	 DEFAULTS, OPTION_INT, .fallback = "75", 0, 255, "a number from 0 to 255"},
	{0, "skip", "", "exit with 0, and print nothing (-n -q -E 0)", IN(skip), WRAP},
	{0, "report", "DUR", "without a terminal, print the place every DUR", IN(report_ms), TAKE,
	 DEFAULTS, OPTION_DURATION, .fallback = "1m in CI", 1000, LONGEST_MS, "a duration from 1s"},
	{0, "max-queue", "N", "exit if N waiters are in the queue", IN(max_queue), TAKE, DEFAULTS,
	 OPTION_NUMBER},
	{0, "supersede", "", "newest wins: replace the waiter with --supersede", IN(supersede),
	 WRAP},
	{0, "jitter", "DUR", "first wait a random time up to DUR", IN(jitter_ms), WRAP, DEFAULTS,
	 OPTION_DURATION, .max = DAY_MS, "a duration up to 1d"},

	{0, "once-per", "DUR", "run at most once per DUR, on all hosts together", IN(once_per_ms),
	 WRAP, DEFAULTS, OPTION_DURATION, .min = 1, YEAR_MS, "a duration from 1ms to 365d",
	 .section = "Once"},
	{0, "once-ok", "DUR", "run unless COMMAND has succeeded within DUR", IN(once_ok_ms), WRAP,
	 .kind = OPTION_DURATION, .min = 1, YEAR_MS, "a duration from 1ms to 365d"},
	{0, "min-hold", "DUR", "keep the lock for DUR at least", IN(min_hold_ms), WRAP, DEFAULTS,
	 OPTION_DURATION, .max = YEAR_MS, "a duration up to 365d"},

	{0, "slots", "N|A,B", "take one of N slots, or of these named ones", IN(slots), TAKE,
	 .kind = OPTION_SLOTS, .section = "How many"},
	{0, "shared", "", "share the lock with others that take it so", IN(shared), TAKE},
	{0, "also", "NAME", "take this lock, too; may be given 15 times", IN(also), WRAP,
	 .kind = OPTION_ALSO},

	{'l', "lease", "DUR", "free the lock DUR after the last renewal, 1s to 1d", IN(lease_ms),
	 TAKE | COMMAND_RENEW, DEFAULTS, OPTION_DURATION, .fallback = "30s", 1000, DAY_MS,
	 "a duration from 1s to 1d", .section = "Limits"},
	{0, "max-hold", "DUR", "stop COMMAND after DUR, and exit with 124", IN(max_hold_ms), TAKE,
	 DEFAULTS, OPTION_DURATION, .min = 1, LONGEST_MS, "a duration over 0"},
	{'s', "signal", "SIG", "stop COMMAND with this signal", IN(signal), WRAP, DEFAULTS,
	 OPTION_SIGNAL, .fallback = "TERM", .min = 1},
	{'k', "kill-after", "DUR", "send SIGKILL DUR after --signal", IN(kill_after_ms), WRAP,
	 DEFAULTS, OPTION_DURATION, .fallback = "10s, at most lease/3", 0, DAY_MS / 3,
	 "a duration up to 8h"},
	{0, "replicas", "N", "require N replicas to confirm the lock", IN(replicas),
	 TAKE | COMMAND_DOCTOR, DEFAULTS, OPTION_NUMBER},

	{0, "reason", "TEXT", "show TEXT to others instead of the arguments", IN(reason), TAKE,
	 DEFAULTS, OPTION_REASON, .max = REASON_BYTES, .section = "What others see"},
	{0, "syslog", "", "send messages to syslog, too", IN(syslog), TAKE, DEFAULTS},

	{'c', "command", "STR", "run STR with sh -c", IN(shell_command), WRAP, .kind = OPTION_TEXT,
	 .section = "Other options"},
	{0, "while-pid", "PID", "renew until process PID ends, then release", IN(while_pid),
	 COMMAND_ACQUIRE, .kind = OPTION_INT, .min = 1, INT_MAX, "a process id"},
	{0, "owner", "ID", "act as this owner; acquire prints the ID", IN(owner),
	 COMMAND_ACQUIRE | COMMAND_RENEW | COMMAND_RELEASE, .kind = OPTION_TEXT, .min = 1,
	 .expects = "an owner ID"},
	{0, "stop", "", "ask the holder to stop, and wait until it has", IN(stop), COMMAND_RELEASE},
	{0, "force", "", "break the lock at once; its command may run for 1 s more", IN(force),
	 COMMAND_RELEASE},
	{0, "slot", "S", "with --stop or --force: only the hold that has this slot", IN(slot),
	 COMMAND_RELEASE, .kind = OPTION_SLOT},
	{0, "token", "T", "with --force: only if the holder has this token", IN(token),
	 COMMAND_RELEASE, .kind = OPTION_NUMBER},
	{0, "forget-run", "", "forget the last run, for --once-per and --once-ok", IN(forget_run),
	 COMMAND_RELEASE},
	{0, "remove", "ID", "take this waiter out of the queue", IN(remove), COMMAND_QUEUE,
	 .kind = OPTION_TEXT, .min = 1, .expects = "an owner ID"},
	{0, "since", "DUR|TIME", "show only the events of the last DUR, or since TIME", IN(since),
	 COMMAND_LOG, .kind = OPTION_TEXT, .min = 1, .expects = "a duration or a time"},
	{'n', "lines", "N", "show only the last N events", IN(lines), COMMAND_LOG,
	 .kind = OPTION_NUMBER},
	{0, "follow", "", "print new events as they come", IN(follow), COMMAND_LOG},
	{0, "stats", "", "print figures: how often, how long, how busy", IN(stats), COMMAND_LOG},
	{0, "plot", "", "draw when each job waited, and when it held the lock", IN(plot),
	 COMMAND_LOG},
	{0, "watch", "DUR", "redraw every DUR until you press Ctrl-C", IN(watch_ms),
	 COMMAND_STATUS | COMMAND_QUEUE, .kind = OPTION_DURATION, .fallback = "1s", 100, DAY_MS,
	 "a duration from 100ms to 1d", .is_open = true},
	{'a', "all", "", "show free locks, too", IN(all), COMMAND_STATUS},
	{0, "sort", "COL", "sort by this column", IN(sort), SHOW, .kind = OPTION_COLUMN},
	{0, "color", "WHEN", "use colours: auto, always or never", IN(colour),
	 SHOW | COMMAND_DOCTOR, .kind = OPTION_COLOUR, .fallback = "auto", .is_open = true},
	{0, "prometheus", "", "print metrics for Prometheus", IN(prometheus), COMMAND_STATUS},
	{0, "json", "", "print JSON", IN(json), SHOW | COMMAND_ACQUIRE | COMMAND_DOCTOR},
	{0, "raw", "", "print columns without padding", IN(raw), SHOW},
	{0, "noheadings", "", "print no headings", IN(no_headings), SHOW},
	{0, "acl", "", "print the ACL lines of a user for NAME, for redis-cli", IN(acl),
	 COMMAND_DOCTOR},
	{'o', "output", "COLS", "print these columns; +COLS adds them, -o help lists all",
	 IN(columns), SHOW, .kind = OPTION_COLUMNS},
	{'q', "quiet", "", "print nothing if the lock is busy", IN(quiet), ALL, DEFAULTS},
	{'v', "verbose", "", "print each step on standard error", IN(verbose), ALL, DEFAULTS},
	{'h', "help", "", "show this help", IN(help), ALL},
	{'V', "version", "", "show the version", IN(version), ALL},
	{0},
};

#define ROWS (sizeof(option_rows) / sizeof(option_rows[0]))

_Static_assert(ROWS <= ROWS_MAX, "options.origins has a member for each row");

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
	{"quiet", COMMAND_DOCTOR, "print only warnings and errors", ""},
	{"quiet", COMMAND_RENEW | COMMAND_QUEUE | COMMAND_LOG, "has no effect here", ""},
	{"verbose", COMMAND_DOCTOR, "print each step on standard error, and all settings", ""},
	{"wait", COMMAND_RELEASE, "with --stop: wait at most DUR; 0: only ask", ""},
	{"lease", COMMAND_ACQUIRE, "hold the lock for DUR, 1s to 30d (with --while-pid: 1d)", ""},
	{"lease", COMMAND_RENEW, "hold the lock for DUR from now on, 1s to 30d", "that of acquire"},
	{"max-hold", COMMAND_ACQUIRE, "with --while-pid: release after DUR, even if PID lives", ""},
	{"replicas", COMMAND_DOCTOR, "judge the server for jobs that require N replicas", ""},
	{"json", COMMAND_ACQUIRE, "print name, owner, token, lease, mode and slot as JSON", ""},
	{"owner", COMMAND_RELEASE, "act as this owner; with --stop or --force: only its hold", ""},
};

struct option_words option_words(const struct option_row *row, unsigned command)
{
	struct option_words words = {row->help, row->fallback};

	for (size_t i = 0; i < sizeof(other_words) / sizeof(other_words[0]); i++) {
		if (!(other_words[i].commands & command) ||
		    strcmp(other_words[i].name, row->name) != 0)
			continue;
		words.help = other_words[i].help;
		if (*other_words[i].fallback)
			words.fallback = other_words[i].fallback;
	}
	return words;
}

const struct option_row *option_named(const char *name)
{
	const struct option_row *row = option_rows;

	while (row->name && strcmp(row->name, name) != 0)
		row++;
	return row->name ? row : NULL;
}

bool option_is_for(const struct option_row *row, unsigned commands, enum option_source source)
{
	/* a lease in a file is for new holds: one that is renewed keeps its own */
	if (commands == COMMAND_RENEW && source != SOURCE_FLAG && row->commands != COMMAND_ALL)
		return false;
	/* everybody could read a password on a command line */
	return (row->commands & commands) &&
	       (source == SOURCE_FLAG ? row->kind != OPTION_PASSWORD : row->sources & source);
}

/* ---- Values ---- */

/* Each parser returns 0 and sets *number to the value, or to the length of a text; or returns
 * -1. */

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

static int parse_text(const char *value, int64_t *number)
{
	*number = (int64_t)strlen(value);
	return 0;
}

static int parse_word(const char *value, int64_t *number)
{
	return *value ? parse_text(value, number) : -1;
}

/* Refuses what other people must not get on their terminals. */
static int parse_reason(const char *value, int64_t *number)
{
	uint32_t code;
	size_t length;

	for (const char *at = value; *at; at += length) {
		length = utf8_decode(at, &code);
		if (length == 0 || utf8_is_unprintable(code))
			return -1;
	}
	return parse_text(value, number);
}

bool slots_are_counted(const char *value)
{
	return value[strspn(value, DIGITS)] == '\0';
}

static const char *name_fault(const char *name, size_t length)
{
	uint32_t code;

	if (length == 0)
		return "has a slot without a name";
	if (length >= SLOT_MAX_BYTES)
		return "has a slot name of more than 64 bytes";
	if (strspn(name, DIGITS) >= length)
		return "has a slot name of digits only";
	for (size_t at = 0; at < length;) {
		const size_t bytes = utf8_decode(name + at, &code);

		if (bytes == 0)
			return "is not valid UTF-8";
		if (code == ' ' || code == 0xa0 || utf8_is_harmful(code))
			return "has a blank or a control character";
		at += bytes;
	}
	return NULL;
}

/* Whether a name stands in the list before, too. */
static bool is_repeated(const char *list, const char *name, size_t length)
{
	for (const char *other = list; other < name; other += strcspn(other, ",") + 1)
		if (strcspn(other, ",") == length && memcmp(other, name, length) == 0)
			return true;
	return false;
}

/* Returns NULL for a valid value of --slots. Else returns what is wrong with it, for a message that
 * begins with the value: 'a,a' "has a slot name twice". */
static const char *slots_fault(const char *value)
{
	const char *name = value, *fault;
	size_t length;
	int64_t number;

	/* 03, +3 and 1.5 are neither counts nor names: they look like counts */
	if (*value && value[strspn(value, DIGITS "+-.")] == '\0')
		return *value == '0' || number_parse(value, strlen(value), &number) < 0 ||
				       number > SLOTS_MOST
			       ? "is no number of slots from 1 to 1000"
			       : NULL;
	for (int count = 1;; count++) {
		length = strcspn(name, ",");
		if (count > SLOTS_MOST)
			return "has more than 1000 slots";
		if (is_repeated(value, name, length))
			return "has a slot name twice";
		fault = name_fault(name, length);
		if (fault || name[length] == '\0')
			return fault;
		name += length + 1;
	}
}

static int parse_slots(const char *value, int64_t *number)
{
	return slots_fault(value) ? -1 : parse_text(value, number);
}

static int parse_slot(const char *value, int64_t *number)
{
	return strchr(value, ',') == NULL ? parse_slots(value, number) : -1;
}

static int parse_number(const char *value, int64_t *number)
{
	return *value ? number_parse(value, strlen(value), number) : -1;
}

static int parse_signal(const char *value, int64_t *number)
{
	int signal = 0;
	const int failed = signal_parse(value, &signal);

	*number = signal;
	return failed;
}

static int parse_colour(const char *value, int64_t *number)
{
	for (*number = 0; *number < COLOUR_COUNT; ++*number)
		if (strcmp(value, colour_words[*number]) == 0)
			return 0;
	return -1;
}

/* The type of a member of struct options */
enum member { A_TEXT, A_LIST, A_BOOL, AN_INT, AN_INT64 };

#define KIND(name, ...) [OPTION_##name] = {__VA_ARGS__},

static const struct {
	int (*parse)(const char *value, int64_t *number);
	enum member member;
	const char *expects;
} kinds[] = {OPTION_KINDS(KIND)};

_Static_assert(sizeof(pid_t) == sizeof(int) && sizeof(enum colour_choice) == sizeof(int),
	       "AN_INT is for process ids and colours, too");

static void store(struct options *options, const struct option_row *row, const char *value,
		  int64_t number)
{
	void *member = (char *)options + row->offset;
	const char **list = member;

	switch (kinds[row->kind].member) {
	case A_LIST:
		while (*list)
			list++;
		*list = value;
		break;
	case A_TEXT:
		*list = value;
		break;
	case A_BOOL:
		*(bool *)member = number != 0;
		break;
	case AN_INT:
		*(int *)member = (int)number;
		break;
	case AN_INT64:
		*(int64_t *)member = number;
		break;
	}
}

/* A lock that no process renews may be held for longer. A file may have such a lease also if the
 * command has none. */
static bool is_long_lease(const struct option_row *row, unsigned command)
{
	return row->offset == offsetof(struct options, lease_ms) && command != COMMAND_WRAP;
}

/* Why the value is not as this command expects it. */
static void explain(char cause[VALUE_CAUSE_BYTES], const struct option_row *row, const char *value,
		    unsigned command)
{
	const char *expects = is_long_lease(row, command) ? "a duration from 1s to 30d"
			      : *row->expects             ? row->expects
							  : kinds[row->kind].expects;
	char shown[SHORT_MAX_BYTES];

	shorten(shown, value);
	if (row->kind == OPTION_SLOTS)
		snprintf(cause, VALUE_CAUSE_BYTES, "'%s' %s", shown, slots_fault(value));
	else if (row->kind == OPTION_ALSO && *value)
		snprintf(cause, VALUE_CAUSE_BYTES, "'%s' is one too many, %d are the most", shown,
			 ALSO_MAX);
	else
		snprintf(cause, VALUE_CAUSE_BYTES, "'%s' is not %s", shown, expects);
}

int options_set(struct options *options, const struct option_row *row, const char *value,
		struct origin origin, unsigned command, struct error *err)
{
	const int64_t max = is_long_lease(row, command) ? 30 * (int64_t)DAY_MS : row->max;
	char cause[VALUE_CAUSE_BYTES];
	int64_t number = 0;

	if (kinds[row->kind].parse(value, &number) || number < row->min || (max && number > max) ||
	    (options && row->kind == OPTION_ALSO && options->also[ALSO_MAX - 1])) {
		explain(cause, row, value, command);
		return options_refuse(row, &origin, cause, err);
	}
	if (options) {
		store(options, row, value, number);
		origin.value = value;
		options->origins[row - option_rows] = origin;
	}
	return 0;
}

/* ---- Where they are set ---- */

const char *option_variable(const struct option_row *row, char name[VARIABLE_MAX_BYTES])
{
	char *end = stpcpy(name, "FAIRLOCK_");

	assert(VARIABLE_MAX_BYTES > strlen(name) + strlen(row->name));
	for (const char *c = row->name; *c; c++) /* small letters and dashes, whatever the locale */
		*end++ = *c == '-' ? '_' : (char)(*c - 'a' + 'A');
	*end = '\0';
	return name;
}

static const char *show_origin(const struct origin *origin, const struct option_row *row,
			       char text[WHERE_MAX_BYTES])
{
	text[0] = '\0';
	if (origin->source == SOURCE_FLAG)
		snprintf(text, WHERE_MAX_BYTES, "--%s", row->name);
	else if (origin->source == SOURCE_ENVIRONMENT)
		option_variable(row, text);
	else if (origin->source == SOURCE_FILE)
		snprintf(text, WHERE_MAX_BYTES, "%.480s:%u", origin->path, origin->line);
	return text;
}

const char *options_where(const struct options *options, const char *name,
			  char text[WHERE_MAX_BYTES])
{
	const struct option_row *row = option_named(name);

	assert(row);
	return show_origin(options_origin(options, name), row, text);
}

int options_refuse(const struct option_row *row, const struct origin *origin, const char *cause,
		   struct error *err)
{
	char where[WHERE_MAX_BYTES];

	if (origin->source == SOURCE_FLAG)
		return fail(err, STATUS_USAGE, "cannot use option '--%s': %s", row->name, cause);
	show_origin(origin, row, where);
	if (origin->source == SOURCE_ENVIRONMENT)
		return fail_about(err, STATUS_USAGE, "use", where, cause);
	return fail_about(err, STATUS_CONFIG, "read", where, cause);
}

/* ---- All of them ---- */

bool options_want_help(const struct options *options)
{
	return options->help || options->version ||
	       (options->columns && strcmp(options->columns, "help") == 0);
}

const struct origin *options_origin(const struct options *options, const char *name)
{
	return &options->origins[option_named(name) - option_rows];
}
