/* Tells people and syslog how a lock is waited for, held and given back. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <syslog.h>

/* Prints messages on standard error, with --verbose each step, too, and sends messages and outcomes
 * to syslog with --syslog. Nothing here ever waits, because a lease does not: a text is lost if
 * standard error or syslog does not take it at once.
 *
 * syslog(3) waits for a daemon that hangs, and keeps a descriptor. So each message is a datagram of
 * its own to /dev/log, in the form that syslog(3) gives it. With {.start_ms = clock_ms()} there are
 * only messages on standard error. */
struct messenger {
	bool verbose;
	bool syslog;
	pid_t pid; /* of the process that the user started; the guard and the keeper use it, too */
	int64_t start_ms; /* steps count from here */
	bool is_deaf;     /* syslog did not take a message, and a step has said so */
};

/* Tells standard error and syslog. The priority is one of syslog(3). */
__attribute__((format(printf, 3, 4))) void message(struct messenger *messenger, int priority,
						   const char *format, ...);

/* Tells an event that is no failure: as a step, and to syslog. */
__attribute__((format(printf, 3, 4))) void message_event(struct messenger *messenger, int priority,
							 const char *format, ...);

/* "fairlock: [    1.234] TEXT", for --verbose only. Without a messenger nothing is told. */
__attribute__((format(printf, 2, 3))) void message_step(const struct messenger *messenger,
							const char *format, ...);

/* Tells syslog only: the caller prints the text itself. */
void message_syslog(struct messenger *messenger, int priority, const char *text);
