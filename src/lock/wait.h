/* Waits for a lock, for wrap and acquire. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/signals.h"
#include "base/terminal.h"
#include "lock/hold.h"
#include "lock/lock.h"
#include "redis/client.h"

struct options;
struct messenger;

/* ---- What a waiter knows about its lock ---- */

/* A waiter's view of its lock. */
struct waiter_view {
	bool is_known; /* there has been an answer */
	int64_t at_ms; /* when the last one was true */
	int64_t place; /* 0: not in the queue */
	int64_t waiters;
	struct holder holder; /* then; of several, the one whose lease ends first */
	char owner[OWNER_MAX_BYTES];
	char by[BY_MAX_BYTES];
};

/* Builds the request, which points into *lock. */
void waiter_view_ask(const struct lock *lock, struct request *request);

/* Reads the client's reply; one that makes no sense leaves what was known. */
void waiter_view_read(struct waiter_view *view, const struct lock *lock,
		      const struct client *client);

/* The holder as it is by now. The texts belong to the view. */
struct holder waiter_view_holder(const struct waiter_view *view);

/* Writes "place 2 of 3, waited 5s, held by ...", as far as it is known, in about so many characters
 * (at most MESSAGE_CHARACTERS), and not in less than 60. Returns text. */
const char *waiter_view_say(char text[OWNER_SHOWN_BYTES], size_t characters,
			    const struct waiter_view *view, const struct lock *lock);

/* ---- The waiting line on a terminal ---- */

/* Standard error must be our controlling terminal. The line is written through a descriptor of its
 * own, which never blocks: a terminal that Ctrl-S holds up must not cost us our turn. */
struct progress {
	int fd;           /* -1: there is no terminal */
	int64_t draw_ms;  /* when to draw next; NEVER_MS: not at all */
	int64_t first_ms; /* not before: most waits are too short to read anything */
	int taken;        /* columns that the line on the screen takes */
	bool shown;
	bool takes_sigtstp; /* SIGTSTP comes through signal_fd */
	bool plain;         /* the terminal understands nothing but carriage returns */
	struct terminal terminal;
};

/* Begins to wait. Nothing is drawn before progress_start. */
void progress_init(struct progress *line);

/* The wait will take a while. If there is a terminal, the first drawing is due soon, and SIGTSTP
 * comes through signal_fd until progress_close. */
void progress_start(struct progress *line);

/* Whether there is a terminal, and we are in its foreground. In the background, what is on the
 * screen is forgotten. */
bool progress_is_seen(struct progress *line);

/* Draws the line, and is due again in a second. trouble: why nothing is known, or NULL. */
void progress_draw(struct progress *line, const struct lock *lock, const struct waiter_view *view,
		   const char *trouble);

/* It is due again in a second; or now, but not before the first drawing. */
void progress_put_off(struct progress *line);
void progress_hurry(struct progress *line);

/* Makes room for other output. */
void progress_clear(struct progress *line);

/* SIGTSTP has come: clears the line and stops this process, as the signal by itself would. */
void progress_stop(struct progress *line);

/* The wait is over. */
void progress_close(struct progress *line);

/* ---- The wait ---- */

/* The options of a waiter, or of a keeper, and its sources of events beside the server. */
struct wait {
	const struct options *options;
	struct messenger *messenger;
	const struct signal_fd *signals;
	struct deadline_poll *loop;
	int pidfd; /* acquire --while-pid: ends the wait; -1: none */
	/* wrap --also: */
	struct hold_set held; /* the locks that it has already; empty before the first */
	int64_t from_ms;      /* when the wait for the first began; 0: it begins now */
};

enum wait_phase {
	PHASE_ASKING, /* the server has not queued us yet */
	PHASE_QUEUED,
	PHASE_GRANTED,
	PHASE_DONE, /* --once-ok: a COMMAND has ended with 0, so nothing is to be run */
};

/* When something is to be done; NEVER_MS: not at all. */
struct wait_times {
	int64_t sign_ms;   /* asking again, if no message comes */
	int64_t watch_ms;  /* asking again, because a message came */
	int64_t view_ms;   /* the next view for the line, at the earliest */
	int64_t report_ms; /* the next report */
	int64_t outage_ms; /* telling that the server is away; 0: it is not; NEVER_MS: it is told */
	int64_t above_ms;  /* looking whether a process above us holds the lock */
};

/* For the process that is to run COMMAND, and stands by on the connections that are there. */
struct wait_standby {
	bool is_wanted; /* WAIT_STAND_BY is to be told */
	bool is_there;  /* it was told, and WAIT_STAND_DOWN not since */
	unsigned opened;
};

/* One wait, from the first request to the grant or to leaving. */
struct waiting {
	const struct wait *wait;
	struct lock *lock;
	struct client *client;
	enum wait_phase phase;
	int64_t until_ms; /* the end of --wait */
	struct wait_times due;
	struct pace pace; /* of asking, since any client that may publish can demand it */
	int late_grants;
	bool traceless;       /* the server knows nothing of us */
	bool holder_is_said;  /* the error names the holder, or need not */
	bool first;           /* in the queue, as far as we know */
	bool hears_outsiders; /* on the channel of plain Redisson locks */
	bool viewing;         /* the request under way is for a view only */
	bool told_no_ttl;
	bool place_due; /* --verbose: our place in the queue is to be asked for and told ... */
	int64_t place;  /* ... if it is not this one */
	struct wait_standby standby;
	struct waiter_view view;
	struct progress progress; /* on a terminal */
};

enum wait_event {
	WAIT_GRANTED, /* the lock is held */
	WAIT_DONE,    /* --once-ok: a COMMAND has ended with 0; the waiter has left the queue */
	WAIT_FAILED,  /* the waiter has left the queue: see *err, and *signo if a signal ended it */
	WAIT_LOST,    /* the same, because another lock that was held meanwhile is lost: see *err */
	/* The wait goes on: */
	WAIT_STAND_BY,   /* we may be next, and there is time to get ready for the grant */
	WAIT_STAND_DOWN, /* another waiter is before us, or the connection was lost */
};

/* Begins to wait, as the options say. *w points to the other three. */
void wait_begin(struct waiting *w, const struct wait *wait, struct lock *lock,
		struct client *client);

/* Waits for the next event. The first four are the last one of a wait. A lock that was not
 * obtained is a failure with STATUS_NOT_OBTAINED. */
enum wait_event wait_next(struct waiting *w, int *signo, struct error *err);

/* ---- How a wait ends, in messages and exit statuses ---- */

/* A signal has ended the wait. Returns -1. */
int wait_result_stopped(struct error *err, const struct lock *lock, int signo);

/* A lock that was held is lost before COMMAND began. awaited: the one that we waited for meanwhile,
 * or NULL. Returns -1. */
int wait_result_lost(struct error *err, const struct hold *hold, const struct lock *awaited);

/* Somebody asks for a lock that was held before COMMAND began. Returns -1. */
int wait_result_asked(struct error *err, const struct hold *hold);

/* Acts on a wait that failed. A signal that ended the wait ends this process. A lock that was not
 * obtained becomes an exit status, told unless --quiet; any other failure stays one (-1). */
int wait_result_carry_out(struct messenger *messenger, const struct options *options, int signo,
			  const struct error *err, int *status);
