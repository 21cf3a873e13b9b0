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
	int64_t held_ms; /* how long it was held at at_ms; below 0: as in struct holder */
	char mode;       /* how it is held, as in struct holder */
	int64_t holders; /* how many hold it */
	int64_t slots;   /* as in struct holder */
	int64_t next_ms; /* as in struct holder, at at_ms */
	bool by_hand;    /* as in struct holder */
	char owner[OWNER_MAX_BYTES]; /* of the holder whose lease ends first */
	char by[BY_MAX_BYTES];
	char token[24];
	struct usual of_job; /* holds of the same user and command as that one */
	struct usual of_all;
};

/* Builds the request, which points into *view and *lock. */
void waiter_view_ask(const struct waiter_view *view, const struct lock *lock,
		     struct request *request);

/* How long it has been held by now; below 0: as in struct holder. */
int64_t waiter_view_held_ms(const struct waiter_view *view);

/* The holder, for messages to this waiter. The texts belong to the view. */
struct holder waiter_view_holder(const struct waiter_view *view, const struct lock *lock);

/* Reads the client's reply; one that makes no sense leaves what was known. */
void waiter_view_read(struct waiter_view *view, const struct client *client);

/* The line on a terminal that tells what a waiter waits for. It stands at the cursor, and the
 * cursor at its beginning, so that any other output overwrites it. */
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

/* Whether there is a terminal, and we are in its foreground. */
bool progress_is_in_front(const struct progress *line);

/* The same; what is on the screen is forgotten in the background. */
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
