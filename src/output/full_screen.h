/* The terminal's alternate screen, on which `--watch` draws, and the way back from it. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>
#include <termios.h>

#include "base/error.h"

struct full_screen {
	int tty;              /* non-blocking: the terminal may be held up */
	struct termios usual; /* the state to go back to ... */
	struct termios ours;  /* ... from this one; any other state is left alone */
	bool *entered;        /* shared with the restorer */
	pid_t restorer;       /* restores the terminal if this process dies */
	char *frame;
	size_t length, sent; /* of the frame */
};

/* Opens the terminal, which is not changed yet. Returns 0, or -1 with STATUS_USAGE if there is none
 * to draw on. Call full_screen_close in both cases. */
int full_screen_open(struct full_screen *screen, struct error *err);

/* Starts the restorer: no process can catch SIGKILL, and the shell would be left without echo and
 * cursor. Returns 0, or -1 with STATUS_OS. */
int full_screen_start_restorer(struct full_screen *screen, struct error *err);

void full_screen_enter(struct full_screen *screen);

/* Puts the terminal back to what it was, if it has not been put back before. */
void full_screen_leave(struct full_screen *screen);

/* Writes as much of the frame as the terminal takes. */
void full_screen_push(struct full_screen *screen);

bool full_screen_is_drawn(const struct full_screen *screen);

/* Ends the restorer, and frees the frame. */
void full_screen_close(struct full_screen *screen);
