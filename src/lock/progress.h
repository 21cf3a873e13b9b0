#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/terminal.h"
#include "lock/waiter_view.h"

/* The one line that tells on a terminal what we wait for. It stands where the cursor is, and the
 * cursor at its beginning, so that whatever comes next may overwrite it.
 *
 * Standard error must be our controlling terminal; the line is written through a descriptor of its
 * own, which never makes us wait, for a terminal that is held up by Ctrl-S must not cost our turn.
 */
struct progress {
	int fd;           /* -1: nobody is there to look */
	int64_t from_ms;  /* when the wait began */
	int64_t draw_ms;  /* when to draw next; NEVER_MS: not at all */
	int64_t first_ms; /* not before: most waits are over before anybody could read */
	int taken;        /* columns of what stands there */
	bool shown;
	bool minds_stop;
	bool plain; /* nothing but carriage returns */
	struct terminal terminal;
};

/* Begins to wait. Nothing is drawn before progress_start. */
void progress_init(struct progress *line);

/* We are in for a wait: if there is a terminal, the first drawing is due soon, and SIGTSTP comes
 * through signal_fd until progress_close. */
void progress_start(struct progress *line);

/* Whether somebody may be looking: not while we are in the background. */
bool progress_is_seen(struct progress *line);

/* Draws it, and is due again in a second. trouble: why nothing is known, or NULL. */
void progress_draw(struct progress *line, const char *name, const struct waiter_view *view,
		   const char *trouble);

/* It is due again in a second; or now, but not before the first drawing is. */
void progress_put_off(struct progress *line);
void progress_hurry(struct progress *line);

/* Makes room for something else. */
void progress_clear(struct progress *line);

/* SIGTSTP has come: stops, without the line, as whoever does nothing about it. */
void progress_stop(struct progress *line);

/* The wait is over. */
void progress_close(struct progress *line);
