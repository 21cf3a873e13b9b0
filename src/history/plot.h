#ifndef FAIRLOCK_PLOT_H
#define FAIRLOCK_PLOT_H

#include "base/error.h"

struct history;

/* Draws who waited and who held a lock, to scale, as wide as the screen. */
int plot_print(const struct history *history, const char *name, struct error *err);

#endif
