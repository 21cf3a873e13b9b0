/* The meaning of a server's error replies. The table of faults in fairlock(7) says the same for
 * people. */
#pragma once

#include <stdbool.h>

#include "base/error.h"
#include "redis/connect.h"

/* Whether an error is of this kind: its first word, as "MOVED". */
bool server_error_is(const char *text, const char *word);

/* Whether the server itself is in trouble, for a while: no other server could serve us instead. */
bool server_error_is_own(const char *text);

/* The status of an error. STATUS_UNAVAILABLE may pass: the request is made again. All others are
 * final. */
enum status server_error_status(const char *text);

/* Reads where the keys are: "MOVED SLOT HOST:PORT" or "ASK SLOT HOST:PORT". A host that is left out
 * is that of *here, the other end. Returns false when it is no such error. */
bool server_error_redirects(const char *text, const struct endpoint *here, struct endpoint *to);
