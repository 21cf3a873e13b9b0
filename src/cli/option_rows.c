/* The table of options, and their words in each command. */
#include "cli/options.h"

#include <limits.h>
#include <string.h>

#include "base/slots.h"
#include "cli/command.h"

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

const struct option_row option_rows[] = {
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

int64_t option_max(const struct option_row *row, unsigned command, const char **expects)
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

const size_t option_row_count = sizeof(option_rows) / sizeof(option_rows[0]);

_Static_assert(sizeof(option_rows) / sizeof(option_rows[0]) <= ROWS_MAX,
	       "options.origins has a member for each row");
