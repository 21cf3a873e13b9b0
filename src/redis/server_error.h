/* The meaning of a server's error replies, what people are told of them, and what they can do. The
 * table of faults in fairlock(7) has what follows from each. */
#pragma once

#include <stdbool.h>

#include "base/error.h"

struct server;

#define CAUSE_MAX_BYTES 256

/* Ends a cause of which doctor can tell more. */
#define SERVER_ERROR_HINT "; see fairlock doctor"

/* Whether an error is of this kind: its first word, as "MOVED". */
bool server_error_is(const char *text, const char *word);

/* Whether the server itself is in trouble, for a while: no other server could serve us instead. */
bool server_error_is_own(const char *text);

/* The status of an error. STATUS_UNAVAILABLE may pass, so the request is made again. */
enum status server_error_status(const char *text);

/* Puts the cause of an error into our words, with what to do about it. Returns cause. */
const char *server_error_cause(char cause[CAUSE_MAX_BYTES], const struct server *server,
			       const char *text);

#define REMEDY_MAX_BYTES 512

/* Doctor prints this remedy when it cannot reach this server, or is not served by it. It has no
 * full stop. Returns remedy. */
const char *server_error_remedy(char remedy[REMEDY_MAX_BYTES], const struct error *err,
				const struct server *server);
