/* The options of all commands: their values, and the rows of the table in options.c. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "base/terminal.h"
#include "redis/server.h"

/* The lease of wrap and acquire, unless it is set. */
#define DEFAULT_LEASE_MS 30000

/* Which commands an option is for. */
enum command_bit {
	COMMAND_WRAP = 1,
	COMMAND_ACQUIRE = 2,
	COMMAND_RENEW = 4,
	COMMAND_RELEASE = 8,
	COMMAND_STATUS = 16,
	COMMAND_QUEUE = 32,
	COMMAND_LOG = 64,
	COMMAND_DOCTOR = 128,
	COMMAND_FRONT = 0x8000, /* none: words before the command */
	COMMAND_ALL = 0xffff,   /* future ones, too */
};

/* Where an option may be set. The first of these counts. */
enum option_source {
	SOURCE_FLAG = 1,
	SOURCE_ENVIRONMENT = 2,
	SOURCE_FILE = 4,
};

/* Where an option was set. */
struct origin {
	enum option_source source; /* 0: nowhere */
	const char *path;          /* SOURCE_FILE */
	unsigned line;
	const char *value; /* as it was written */
};

#define ROWS_MAX 64

/* How often --also may be given. */
#define ALSO_MAX 15

/* The values that flags, environment, configuration files and defaults result in. Strings belong to
 * argv, the environment or struct settings, which all outlive every command. */
struct options {
	struct { /* the server */
		const char *url;
		bool url_is_flag; /* --url or --config gave it: COMMAND must be told */
		bool tls_is_flag; /* so was one of --tls-... */
		const char *config;
		const char *password;
		const char *password_file;
		const char *sentinel_user;
		const char *sentinel_password_file;
		struct tls_files tls_files;
		int64_t connect_timeout_ms;
	};
	struct { /* what is told, and to whom */
		bool quiet;
		bool verbose;
		bool syslog;
		const char *reason;
		int64_t report_ms; /* 0: no reports */
	};
	struct {                 /* the wait for the lock */
		bool no_wait;    /* also when wait_ms is 0 */
		bool skip;       /* no_wait, quiet, and conflict_status is 0 */
		int64_t wait_ms; /* -1: for ever */
		int conflict_status;
		int64_t max_queue; /* -1: no limit */
		bool supersede;
		int64_t jitter_ms;
	};
	struct {                   /* what is taken */
		int64_t lease_ms;  /* 0: the default (renew: that of the grant) */
		int64_t replicas;  /* 0: none need to know */
		const char *slots; /* NULL: none */
		bool shared;
		const char *also[ALSO_MAX + 1]; /* ended by NULL */
	};
	struct { /* the job under the lock */
		const char *shell_command;
		int signal;
		int64_t kill_after_ms; /* -1: the default */
		int64_t max_hold_ms;   /* 0: no limit */
		int64_t min_hold_ms;
		int64_t once_per_ms; /* 0: as often as asked */
		int64_t once_ok_ms;  /* the same */
		pid_t while_pid;     /* 0: none */
	};
	struct { /* a hold that there is, or a waiter */
		const char *owner;
		bool stop;
		bool force;
		bool forget_run;
		const char *slot;
		int64_t token; /* -1: none */
		const char *remove;
	};
	struct {                   /* what is printed, and how */
		const char *since; /* NULL: from the beginning */
		int64_t lines;     /* -1: all */
		bool follow;
		bool stats;
		bool plot;
		int64_t watch_ms; /* 0: once */
		bool all;
		const char *sort; /* a column */
		enum colour_choice colour;
		bool prometheus;
		bool json;
		bool raw;
		bool no_headings;
		const char *columns;
		bool acl;
	};
	bool help;    /* --help was given: the other options do not count */
	bool version; /* so was --version */
	struct origin origins[ROWS_MAX];
	const char *password_from; /* an option, or "REDISCLI_AUTH"; NULL: there is no password */
	char *url_copy;            /* --url with its password, from malloc, or NULL */
};

/* The kinds of values: each with its parser and the type of its member of struct options, which
 * options.c knows, and what is expected of it, for messages. */
#define OPTION_KINDS(X)                                                                            \
	X(FLAG, parse_flag, A_BOOL, "yes or no")                                                   \
	X(TEXT, parse_text, A_TEXT, "a text")                                                      \
	X(PASSWORD, parse_text, A_TEXT, "a text")                                                  \
	X(FILE, parse_word, A_TEXT, "a path")                                                      \
	X(URL, parse_word, A_TEXT, "a URL")                                                        \
	X(REASON, parse_reason, A_TEXT, "at most 200 bytes of UTF-8 without control characters")   \
	X(COLUMNS, parse_word, A_TEXT, "a list of columns")                                        \
	X(COLUMN, parse_word, A_TEXT, "a column")                                                  \
	X(SLOTS, parse_slots, A_TEXT, "a number of slots, or their names")                         \
	X(SLOT, parse_slot, A_TEXT, "one slot")                                                    \
	X(ALSO, parse_word, A_LIST, "a NAME")                                                      \
	X(DURATION, duration_parse, AN_INT64, "a duration (90, 1.5h, 1h30m)")                      \
	X(NUMBER, parse_number, AN_INT64, "a number")                                              \
	X(INT, parse_number, AN_INT, "a number")                                                   \
	X(SIGNAL, parse_signal, AN_INT, "a signal")                                                \
	X(COLOUR, parse_colour, AN_INT, "auto, always or never")

#define OPTION_KIND(name, ...) OPTION_##name,
enum option_kind { OPTION_KINDS(OPTION_KIND) };

/* All there is to know about one option, for the command line, --help, the environment, the
 * configuration files and completion. */
struct option_row {
	char letter;          /* 0: none */
	const char *name;     /* long, without the dashes */
	const char *argument; /* as --help calls it; "": a flag */
	const char *help;
	size_t offset;     /* of its member of struct options */
	unsigned commands; /* a set of command bits */
	unsigned sources;  /* a set of enum option_source, beside SOURCE_FLAG */
	enum option_kind kind;
	char fallback[24];   /* the default, for --help; "": it tells none */
	int64_t min, max;    /* of a number, or of the length of a text; max 0: no limit */
	char expects[40];    /* for messages: "a number from 0 to 255"; "": as its kind has it */
	bool is_open;        /* the value may be left out, else it stands behind `=` */
	const char *section; /* --help has this heading before the option and those behind it */
};

/* The table, which ends with a row without a name. */
extern const struct option_row option_rows[];

/* The row with this long name, or NULL. */
const struct option_row *option_named(const char *name);

/* Whether a source may set the row for one of these commands. */
bool option_is_for(const struct option_row *row, unsigned commands, enum option_source source);

/* The words for an option in --help and completion. */
struct option_words {
	const char *help;
	const char *fallback; /* "": it tells none */
};

/* An option does not do the same in each command. */
struct option_words option_words(const struct option_row *row, unsigned command);

#define SLOTS_MOST 1000
#define SLOT_MAX_BYTES 65

/* Whether a value of --slots is a count, and no list of names. */
bool slots_are_counted(const char *value);

/* The longest lease of a lock that a process renews. */
#define RENEWED_LEASE_MAX_MS 86400000

/* The values of --color, as they are written. */
#define COLOUR_BYTES 7
extern const char colour_words[COLOUR_COUNT][COLOUR_BYTES];

/* Whether --help, --version or -o help was given. */
bool options_want_help(const struct options *options);

/* Where the option of this name was set. */
const struct origin *options_origin(const struct options *options, const char *name);

/* Sets the row's member, which may keep a pointer into value, and notes the origin; its path must
 * live as long as *options. With a NULL options it only checks. Returns 0, or -1 as options_refuse
 * does if the value is not as this command expects it. */
int options_set(struct options *options, const struct option_row *row, const char *value,
		struct origin origin, unsigned command, struct error *err);

/* Fails with "cannot use option '--wait': CAUSE", "cannot use FAIRLOCK_WAIT: CAUSE" (STATUS_USAGE)
 * or "cannot read FILE:LINE: CAUSE" (STATUS_CONFIG); row may be NULL there. */
int options_refuse(const struct option_row *row, const struct origin *origin, const char *cause,
		   struct error *err);

#define WHERE_MAX_BYTES 600

/* Writes where an option was set: "--url", "FAIRLOCK_URL" or "/etc/fairlock.conf:3"; "" for a
 * default. */
const char *options_where(const struct options *options, const char *name,
			  char text[WHERE_MAX_BYTES]);

#define VARIABLE_MAX_BYTES 64

/* Writes the name of a row's variable: FAIRLOCK_ and the row's name in capitals. */
const char *option_variable(const struct option_row *row, char name[VARIABLE_MAX_BYTES]);
