/* A text that is drawn on the whole screen again and again, for `--watch`. */
#pragma once

#include <stdint.h>

#include "base/error.h"

struct server;

struct watch {
	const char *title;
	int64_t period_ms;
	/* Returns a text for a screen of so many columns, which the caller frees, with what is
	 * missing in it in *err (STATUS_OK: nothing); or NULL with *err. It asks `server`. */
	char *(*source)(void *data, int columns, struct error *err);
	void *data;
	struct server *server; /* while it is silent, the screen takes keys and signals */
};

/* Draws until q is typed (returns 0) or a signal comes (restores the terminal, and dies of it). If
 * the source fails the first time, returns -1; later failures are shown, and it is asked again. */
int watch_run(const struct watch *watch, struct error *err);
