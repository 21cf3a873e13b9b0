/* The output of wait.c meanwhile: progress.h's line on a terminal, and the place with --verbose. */
#pragma once

#include "lock/wait_state.h"

/* Requests a waiter_view.h to show. No other request may be under way. */
void wait_show_request(struct waiting *w);

/* Reads and shows the answer. */
void wait_show_answer(struct waiting *w);

/* The line is due: requests a new view first, if there is time and the line can be seen. */
void wait_show_redraw(struct waiting *w);
