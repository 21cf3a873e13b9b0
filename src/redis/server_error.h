#pragma once

#include <stdbool.h>

#include "base/error.h"
#include "redis/connect.h"

/* The meaning of a server's error replies. The table of faults in fairlock(7) says the same for
 * people.
 */

/* Whether an error is of this kind: its first word, as "MOVED". */
bool server_error_is(const char *text, const char *word);

/* Whether the server itself is in trouble, for a while: another one would not have been meant. */
bool server_error_is_own(const char *text);

/* The status for it: STATUS_UNAVAILABLE may pass, so it is asked again; every other is final. */
enum status server_error_status(const char *text);

/* "MOVED SLOT HOST:PORT" and "ASK SLOT HOST:PORT": where the keys are. A host that is left out is
 * the one at the other end, *here. Returns false when it is no such error. */
bool server_error_redirects(const char *text, const struct endpoint *here, struct endpoint *to);
