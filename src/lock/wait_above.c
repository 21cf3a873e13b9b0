/* sudo, su and env -i do not pass the owner on, so the server takes us for a stranger. */
#include "lock/wait_above.h"

#include <string.h>

#include "lock/ancestor.h"
#include "lock/wait_show.h"

#define FIRST_LOOK_MS 1000

/* A view tells one of several holders, another one later. */
#define NEXT_LOOK_MS 10000

void wait_above_begin(struct waiting *w)
{
	w->above_ms = clock_ms() + FIRST_LOOK_MS;
}

void wait_above_due(struct waiting *w)
{
	if (clock_ms() < w->above_ms || client_has_request(w->client))
		return;
	w->above_ms = ancestor_runs_program() ? clock_ms() + NEXT_LOOK_MS : NEVER_MS;
	if (w->above_ms != NEVER_MS && w->view_ms != NEVER_MS)
		wait_show_request(w);
}

/* Whether the lock may become ours while these hold it. */
static bool may_fit(const struct lock *lock, const struct holder *holder)
{
	char count[SLOTS_HELD_BYTES];

	if (holder->mode == MODE_SLOT && want_is_slot(lock->want))
		return !holder_show_count(count, holder) &&
		       (holder->count > 1 || want_slots(lock->want) > 1);
	return holder->mode == *MODE_SHARED && strcmp(lock->want, MODE_SHARED) == 0;
}

/* Whether the holder is on a host of the same name. */
static bool is_here(const struct lock *lock, const struct holder *holder)
{
	return strncmp(holder->by, lock->by, strcspn(lock->by, "\t") + 1) == 0;
}

int wait_above_answer(struct waiting *w, struct error *err)
{
	const struct holder holder = waiter_view_holder(&w->view, w->lock);

	if (w->above_ms == NEVER_MS || !w->view.is_known || may_fit(w->lock, &holder))
		return 0;
	if (!is_here(w->lock, &holder) || !ancestor_drew(holder.owner)) {
		if (holder.count == 1)
			w->above_ms = NEVER_MS;
		return 0;
	}
	return fail(
		err, STATUS_USAGE,
		"cannot get lock %s: the wait would never end: the wrap above (pid %s) has it; pass FAIRLOCK_OWNER on (sudo -E)",
		w->lock->keys.shown, strrchr(holder.owner, ':') + 1);
}
