/* The output of a waiter while it waits: a line on a terminal, and its place with --verbose. */
#pragma once

#include "lock/wait_state.h"

/* Asks for what is to be shown. Nothing else may be under way. */
void wait_show_ask(struct waiting *w);

/* Takes the answer. */
void wait_show_take(struct waiting *w);

/* The line is due. */
void wait_show_mind_line(struct waiting *w);
