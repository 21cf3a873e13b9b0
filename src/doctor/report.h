/* `doctor` collects facts of each server, judges them, and prints its findings. */
#pragma once

#include <sys/types.h>

#include "cli/command.h"
#include "lock/lock_list.h"
#include "redis/cluster_nodes.h"

/* A server tells these facts about itself, as far as this user may ask. */
struct facts {
	struct client *client;
	const struct server *server; /* the client's */
	const char *user;
	char address[512];  /* HOST:PORT, or the path of a socket */
	const char *vendor; /* "Redis" or "Valkey" */
	bool is_replica;
	const char *tls; /* NULL: none */
	bool can_read_settings;
	char denied[160];     /* such as "+info +scan": what the user may not do beside locks */
	enum grants grants;   /* whether it lets locks be taken now */
	struct error refusal; /* why not */
	char *text; /* "NAME:VALUE" for each of HELLO, INFO and the settings, NULs between */
	size_t size;
	bool has_clock;   /* the user may ask for its time */
	int64_t ahead_ms; /* its clock before ours, give or take half of trip_ms */
	int64_t trip_ms;
};

/* A fact of this name; "": it is not known. */
const char *facts_text(const struct facts *facts, const char *name);

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
	size_t more;                    /* so many of the same kind are not listed */
	const char *places[PLACES_MAX]; /* the servers with this finding */
	size_t place_count;
};

/* The checks have fewer kinds, and of one kind ten are listed. */
#define FINDINGS_MAX 500
#define FOLDER_MAX_BYTES 400

/* All about a URL. */
struct diagnosis {
	const struct invocation *invocation;
	struct cluster_nodes nodes;
	struct facts *facts; /* one for each node that answers, or NULL */
	size_t facts_count;
	char folder[FOLDER_MAX_BYTES]; /* of a private server, or "" */
	pid_t pid;                     /* of it, or 0 */
	struct finding findings[FINDINGS_MAX];
	size_t count;
	enum severity worst;
	int64_t until_ms; /* so long locks are looked at */
	struct tally {
		size_t locks, held, waiters;
		size_t left; /* so many locks took too long */
	} tally;
	struct finding *last; /* for advise */
	const char *place;    /* the server whose findings are added now, or NULL */
	bool is_explained;    /* a finding says why that server takes no writes */
};

/* Adds a finding. check and consequence must be literals. Servers with the same finding share it.
 */
__attribute__((format(printf, 6, 7))) void find(struct diagnosis *all, enum severity severity,
						const char *check, const char *consequence,
						const char *remedy, const char *format, ...);

/* Adds one that is good. */
#define pass(all, check, ...) find(all, OK, check, NULL, NULL, __VA_ARGS__)

/* Puts another remedy into the finding that was added last. */
__attribute__((format(printf, 2, 3))) void advise(struct diagnosis *all, const char *remedy, ...);

/* Prints it as the options say: for people, in JSON, or only what is bad. */
void report_print(const struct diagnosis *all);

/* ---- What the user may do (permissions.c) ---- */

/* Sends one request with the client's timeout; the reply is the client's. Returns 0; or, with *err,
 * 1 when the server refuses, and -1 when it is gone, or hangs. */
int facts_call(struct client *client, const struct request *request, struct error *err);

/* Asks what this user may not do beside locks, without trying: facts->denied. Returns -1 if the
 * server is gone. */
int permissions_ask(struct facts *facts, const struct options *options, struct error *err);

/* Checks the user for the locks that are named, or for any. */
void permissions_check(struct diagnosis *all, const struct facts *facts);

/* Prints commands for redis-cli that let a user take the lock, and look at it; NULL: all locks.
 * Returns 0, or -1. */
int permissions_print(const struct invocation *invocation, const char *name, struct error *err);
