/* A text that is drawn on the whole screen again and again, for `--watch`, and can be scrolled. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "output/watch_worker.h"

struct watch {
	const char *title;
	int64_t period_ms;
	size_t headings; /* so many lines at the top of the text stay there when it is scrolled */
	watch_source *source;
	void *data; /* for the source */
};

/* Draws until q is typed (returns 0) or a signal comes (restores the terminal, and dies of it). If
 * the source fails the first time, returns -1; later failures are shown, and it is asked again. */
int watch_run(const struct watch *watch, struct error *err);
