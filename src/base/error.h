/* Exit statuses, the failures of functions, and how both are reported on standard error. */
#pragma once

#include <stdbool.h>

#include "base/text.h" /* tame */

/* Exit statuses, as the manual lists them. Below the commands each is the class of a failure. */
enum status {
	STATUS_OK = 0,
	STATUS_USAGE = 64,
	STATUS_UNAVAILABLE = 69,
	STATUS_BUG = 70,
	STATUS_OS = 71,
	STATUS_NOT_OBTAINED = 75,
	STATUS_NOT_HELD = 76,
	STATUS_REFUSED = 77,
	STATUS_CONFIG = 78,
	STATUS_TIMED_OUT = 124,
	STATUS_NOT_EXECUTABLE = 126,
	STATUS_NOT_FOUND = 127,
};

/* A failure and its cause. The caller owns it; text has neither a "fairlock: " in front nor a
 * newline behind. */
struct error {
	enum status status;
	char text[512];
};

/* Fills *err and returns -1, so that a function can `return fail(...)`. */
__attribute__((format(printf, 3, 4))) int fail(struct error *err, enum status status,
					       const char *format, ...);

/* Fails with "cannot VERB OBJECT: CAUSE". If that is too long for a message, the object loses its
 * middle, and then the cause its end. */
int fail_about(struct error *err, enum status status, const char *verb, const char *object,
	       const char *cause);

/* Prints "fairlock: TEXT" on standard error, in one write. */
#define complain(...) print_message(true, __VA_ARGS__)

/* The same for callers that must not wait, because a lease does not: prints nothing if standard
 * error would not take it at once. */
#define complain_in_passing(...) print_message(false, __VA_ARGS__)

__attribute__((format(printf, 2, 3))) void print_message(bool may_wait, const char *format, ...);
