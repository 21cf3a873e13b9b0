#pragma once

#include "base/error.h"

struct log_reply;

/* Draws who waited and who held a lock, to scale, as wide as the screen. */
int plot_print(const struct log_reply *history, const char *name, struct error *err);
