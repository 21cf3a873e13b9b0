/* A text that is drawn on the whole screen again and again, for `--watch`. */
#pragma once

#include <stdint.h>
#include <stdio.h>

#include "base/error.h"

struct watch {
	const char *title;
	int64_t period_ms;
	/* Writes lines for a screen of so many columns, each with its newline. Returns 0, with what
	 * is missing in *err (STATUS_OK: nothing), or -1 with *err. */
	int (*source)(void *data, FILE *out, int columns, struct error *err);
	void *data;
};

/* Draws until a signal ends the process, or nothing can be written any more (returns 0). If the
 * source fails the first time, returns -1; later failures are shown, and it is asked again. */
int watch_run(const struct watch *watch, struct error *err);
