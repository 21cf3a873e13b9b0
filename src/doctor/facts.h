/* The facts that one server tells about itself, as far as this user may ask: INFO, settings,
 * permissions and its clock. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "lock/grants.h"
#include "redis/client.h"

struct facts {
	struct client *client;
	const struct server *server; /* the client's */
	const char *user;
	char address[512];  /* HOST:PORT, or the path of a socket */
	char software[24];  /* "redis", "valkey" */
	const char *vendor; /* the same with a capital letter */
	char version[32];
	char mode[16];
	bool is_replica;
	const char *tls; /* NULL: none */
	bool can_read_settings;
	char denied[160];     /* such as "+info +scan": what the user may not do beside locks */
	enum grants grants;   /* whether it lets locks be taken now */
	struct error refusal; /* why not */
	char *fields;         /* a line "NAME:VALUE" for each field of INFO and each setting */
	bool has_clock;       /* the user may ask for its time */
	int64_t ahead_us;     /* its clock before ours, give or take half of trip_us */
	int64_t trip_us;
};

/* Fills *facts with what every user is told. Returns 0, or -1 when the server cannot be asked
 * anything. */
int facts_begin(struct facts *facts, struct client *client, struct error *err);

/* Asks for all that is not in facts->denied. Returns 0, or -1 when the server is gone. Call
 * facts_free in both cases. */
int facts_collect(struct facts *facts, struct error *err);

/* Asks only who it is, and what its clock says. */
int facts_measure(struct facts *facts, struct client *client, struct error *err);

void facts_free(struct facts *facts);

#define FACT_MAX_BYTES 256

/* A field of INFO or a setting; NULL when it is not known. value has room for its text. */
const char *facts_text(const struct facts *facts, const char *name, char value[FACT_MAX_BYTES]);

/* The same as a number; -1 when it is not known, or is none. */
long long facts_number(const struct facts *facts, const char *name);

/* Sends one request with the client's timeout; the reply is the client's. */
int facts_call(struct client *client, const struct request *request, struct error *err);

/* Whether the server is gone, or hangs. Any other answer is a refusal, and no failure. */
bool facts_is_gone(const struct error *err);
