/* What a waiter knows about its lock, and the line on a terminal that tells it. The line stands at
 * the cursor, and the cursor at its beginning, so that any other output overwrites it. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/terminal.h"
#include "lock/lock.h"
#include "redis/client.h"

/* How long holds usually last, as the log has it. */
struct usual {
	int64_t count; /* how many they were */
	int64_t ms;
};

/* A waiter's view of its lock. */
struct waiter_view {
	bool is_known; /* there has been an answer */
	int64_t at_ms; /* when the last one was true */
	int64_t place; /* 0: not in the queue */
	int64_t waiters;
	struct holder holder; /* then; of several, the one whose lease ends first */
	char owner[OWNER_MAX_BYTES];
	char by[BY_MAX_BYTES];
	char token[24];
	struct usual of_job; /* holds of the same user and command as that one */
	struct usual of_all;
};

/* Builds the request, which points into *view and *lock. */
void waiter_view_ask(const struct waiter_view *view, const struct lock *lock,
		     struct request *request);

/* Reads the client's reply; one that makes no sense leaves what was known. */
void waiter_view_read(struct waiter_view *view, const struct lock *lock,
		      const struct client *client);

/* The holder as it is by now. The texts belong to the view. */
struct holder waiter_view_holder(const struct waiter_view *view);

/* Standard error must be our controlling terminal. The line is written through a descriptor of its
 * own, which never blocks: a terminal that Ctrl-S holds up must not cost us our turn. */
struct progress {
	int fd;           /* -1: there is no terminal */
	int64_t from_ms;  /* when the wait began */
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
