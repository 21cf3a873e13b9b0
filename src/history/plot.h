/* `log --plot`: draws waiters and holders of a lock to scale, as wide as the screen. */
#pragma once

#include <stdbool.h>

#include "base/error.h"

struct log_reply;

/* Returns 0, or -1 with STATUS_OS. */
int plot_print(const struct log_reply *history, const char *name, bool is_coloured,
	       struct error *err);
