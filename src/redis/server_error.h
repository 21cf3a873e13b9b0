/* The meaning of a server's error replies, what people are told of them, and what they can do. The
 * table of faults in fairlock(7) has what follows from each. */
#pragma once

#include <stdbool.h>

#include "base/error.h"

struct server;

#define CAUSE_MAX_BYTES 256

/* Ends a cause of which doctor can tell more. */
#define SERVER_ERROR_HINT "; see fairlock doctor"

/* An error that a server answers: which status it has, its cause in our words, and the remedy. */
struct server_error {
	enum status status;          /* STATUS_UNAVAILABLE may pass: the request is made again */
	bool is_own;                 /* the server itself is in trouble, for a while: no other
				      * could serve us instead */
	char cause[CAUSE_MAX_BYTES]; /* in our words, with what to do about it */
};

void server_error_read(struct server_error *meaning, const struct server *server, const char *text);

#define REMEDY_MAX_BYTES 512

/* Doctor prints this remedy when it cannot reach this server, or is not served by it. It has no
 * full stop. Returns remedy. */
const char *server_error_remedy(char remedy[REMEDY_MAX_BYTES], const struct error *err,
				const struct server *server);
