/* A waiter sends its requests, and acts on the server's answers and messages. For wait.c. */
#pragma once

#include "lock/wait_state.h"

/* Asks for the lock, and for a place in the queue. */
void wait_ask(struct waiting *w);

/* When to ask again. */
int64_t wait_ask_again_ms(const struct waiting *w);

/* Takes the answer to that. Returns -1 if the wait is over without the lock; w->granted and
 * w->is_done say whether it is over otherwise. */
int wait_asked(struct waiting *w, struct error *err);

/* Takes a message. w->granted: it was the grant. */
void wait_heard(struct waiting *w);

/* The connection broke, or with is_final: the server refused the request or us. Returns -1 when the
 * wait is to end. */
int wait_failed(struct waiting *w, bool is_final, struct error *err);
