/* The listener is DEPUTY_LISTENS at first. The waiter and the deputy both may change that, but only
 * the first change succeeds. It decides which of them reads the connection from then on. */
#include "lock/wait_deputy.h"

#include <stdatomic.h>

#include "base/message.h"
#include "lock/wait_ask.h"

static bool become(_Atomic int *listener, int next)
{
	int expected = DEPUTY_LISTENS;

	return atomic_compare_exchange_strong(listener, &expected, next);
}

/* On a terminal, and with --verbose, the waiter has something to say before COMMAND starts. */
bool wait_deputy_may_listen(const struct waiting *w)
{
	return w->moved_up && w->lock->handable && !w->wait->messenger->verbose &&
	       w->progress.fd < 0 && client_is_still(w->client) &&
	       connection_can_be_shared(&w->client->connection);
}

void wait_deputy_begin(struct waiting *w, _Atomic int *listener, int fd)
{
	if (*listener == WAITER_LISTENS)
		return;
	w->listener = listener;
	w->deputy_fd = fd;
	w->deputy_ms = clock_ms() + DEPUTY_MS;
}

bool wait_deputy_end(struct waiting *w)
{
	if (!w->listener)
		return false;
	w->granted = !become(w->listener, WAITER_LISTENS) && *w->listener == DEPUTY_HAS_GRANT;
	w->listener = NULL;
	return w->granted;
}

void wait_deputy_failed(struct waiting *w)
{
	w->granted = false;
	w->late_grants++;
	wait_ask(w);
}

bool deputy_cease(_Atomic int *listener)
{
	return become(listener, WAITER_LISTENS);
}

bool deputy_take(_Atomic int *listener)
{
	return become(listener, DEPUTY_HAS_GRANT);
}
