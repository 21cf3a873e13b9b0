#pragma once

#include <stdint.h>

#include "base/error.h"

/* A view that is drawn on the whole screen again and again. */
struct watch {
	const char *title;
	int64_t period_ms;
	/* Returns a text for a screen so wide, which is freed, or NULL with *err. */
	char *(*look)(void *data, int columns, struct error *err);
	void *data;
};

/* Until q is typed (returns 0) or a signal comes (dies of it, when the terminal is as it was). What
 * fails later than the first time is shown, and tried again. */
int watch_run(const struct watch *watch, struct error *err);
