/* A text that is drawn on the whole screen again and again, for `--watch`. */
#pragma once

#include <stdint.h>
#include <stdio.h>

#include "base/error.h"

/* Writes lines for a screen of so many columns, each with its newline. Returns 0, with what is
 * missing in *err (STATUS_OK: nothing), or -1 with *err. */
typedef int watch_source(void *data, FILE *out, int columns, struct error *err);

/* Draws until a signal ends the process, or nothing can be written any more (returns 0). If the
 * source fails the first time, returns -1; later failures are shown, and it is asked again. */
int watch_run(const char *title, int64_t period_ms, watch_source *source, void *data,
	      struct error *err);
