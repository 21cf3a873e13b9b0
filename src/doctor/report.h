/* What `doctor` found, and its output: the server, the settings and the findings. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "cli/options.h"
#include "doctor/facts.h"
#include "redis/cluster_nodes.h"

struct invocation;

enum severity {
	OK,
	NOTE,    /* good to know */
	WARNING, /* locks work, until something else happens */
	ERROR,   /* locks do not work, or two may hold one */
};

#define FINDING_MAX_BYTES 512
#define PLACES_MAX 32

struct finding {
	enum severity severity;
	const char *check;
	char text[FINDING_MAX_BYTES];
	const char *consequence; /* NULL: none */
	char remedy[FINDING_MAX_BYTES];
	const char *places[PLACES_MAX]; /* the servers with this finding */
	size_t place_count;
};

#define FINDINGS_MAX 100

/* Zeroed, it is empty. Servers with the same finding share it. */
struct findings {
	struct finding list[FINDINGS_MAX];
	size_t count;
	enum severity worst;
	struct finding *last; /* for advise */
	const char *place;    /* the server whose findings are added now, or NULL */
};

/* Adds a finding. check must be a literal. */
__attribute__((format(printf, 4, 5))) void find(struct findings *findings, enum severity severity,
						const char *check, const char *format, ...);

/* Says what the finding that was added last leads to (a literal), and what to do. */
__attribute__((format(printf, 3, 4))) void advise(struct findings *findings,
						  const char *consequence, const char *remedy, ...);

/* The same for a failure of a server: what to do is known from its cause. */
void advise_on(struct findings *findings, const char *consequence, const struct error *err,
	       const struct server *server);

#define FOLDER_MAX_BYTES 400

/* All about a URL. */
struct diagnosis {
	const struct invocation *invocation;
	struct cluster_nodes nodes;
	struct facts *facts; /* one for each node that answers, or NULL */
	size_t facts_count;
	struct findings findings;
	char folder[FOLDER_MAX_BYTES]; /* of a private server, or "" */
	pid_t pid;                     /* of it, or 0 */
};

/* Prints it as the options say: for people, in JSON, or only what is bad. */
void report_print(const struct diagnosis *diagnosis);

struct shown_setting {
	const char *name;
	char value[512];    /* "": none; never a password */
	bool is_secret;     /* it has one that is not shown */
	const char *source; /* "flag", "environment", "file", "default"; a password: also "url" */
	char where[512];    /* "--url", "FAIRLOCK_URL", "/etc/fairlock.conf:3"; "": nowhere */
};

/* Shows an option. Returns false if neither variables nor configuration files may set it. */
bool report_setting(struct shown_setting *shown, const struct option_row *row,
		    const struct options *options, const struct server *server);
