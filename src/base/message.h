#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <syslog.h>

/* Messages while a lock is waited for and held: on standard error, with --verbose each
 * step, too, and with --syslog messages and outcomes to syslog. Nothing here ever waits, for a
 * lease does not: what standard error or syslog would not take at once is lost.
 *
 * That is why syslog(3) is not used: it waits for a daemon that hangs. It also keeps a descriptor.
 * Here each message is a datagram of its own to /dev/log, in the form that syslog(3) gives it. */
struct messenger {
	bool verbose;
	bool syslog;
	pid_t pid;        /* of what the user started: the guard and the keeper speak for it */
	int64_t start_ms; /* steps count from here */
	bool is_deaf;     /* syslog did not take a message, which was told */
};

/* The program's beginning. Nothing is told yet but messages. */
void messenger_init(struct messenger *messenger);

void messenger_open(struct messenger *messenger, bool verbose, bool syslog);

/* A message: standard error and syslog. The priority is one of syslog(3). */
__attribute__((format(printf, 3, 4))) void message(struct messenger *messenger, int priority,
						   const char *format, ...);

/* Whether steps or events are told at all; if not, they need not be put into words. */
bool message_step_is_on(const struct messenger *messenger);

/* Tells an event that is no failure: as a step, and to syslog. */
__attribute__((format(printf, 3, 4))) void message_event(struct messenger *messenger, int priority,
							 const char *format, ...);

/* "fairlock: [    1.234] TEXT", for --verbose only. */
__attribute__((format(printf, 2, 3))) void message_step(const struct messenger *messenger,
							const char *format, ...);

/* Tells syslog only: the caller prints the text itself. */
void message_syslog(struct messenger *messenger, int priority, const char *text);
