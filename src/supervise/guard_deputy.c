/* The guard looks at a message without reading it, sets its kill timer, and then changes
 * `listener`: until that change the wrapper may read the message, from then on only the guard. If
 * the guard is stopped behind the change, the timer kills it when COMMAND must be stopped, and its
 * death wakes the wrapper. tests/model/processes.pml has these steps. */
#include "supervise/guard_deputy.h"

#include <sys/socket.h>

#include "base/clock.h"
#include "lock/handover.h"
#include "lock/wait_deputy.h"
#include "lock/wait_result.h"
#include "lock/wire.h"
#include "redis/message_peek.h"
#include "supervise/guard_lease.h"

static struct member *member_of(const struct guard *guard)
{
	return &guard->job->set->members[0];
}

void guard_deputy_begin(const struct guard *guard, struct guard_deputy *deputy)
{
	*deputy = (struct guard_deputy){.fd = -1, .until_ms = NEVER_MS};
	if (guard->shared->listener != DEPUTY_LISTENS)
		return;
	deputy->fd = member_of(guard)->client.connection.fd;
	deputy->until_ms = clock_ms() + DEPUTY_MS;
	if (!guard->is_ready || !guard->kill_timer.is_there)
		guard_deputy_end(guard, deputy);
}

void guard_deputy_end(const struct guard *guard, struct guard_deputy *deputy)
{
	if (deputy->fd < 0)
		return;
	if (deputy_cease(&guard->shared->listener))
		(void)!send(guard->socket, "", 1, MSG_NOSIGNAL | MSG_DONTWAIT);
	*deputy = (struct guard_deputy){.fd = -1, .until_ms = NEVER_MS};
}

/* Accepts the grant, should it be one, and gets ready for it. Returns its length, or 0. After a
 * signal to the group, as by Ctrl-C or Ctrl-Z, the wrapper decides whether the job goes on. */
static size_t accept_grant(struct guard *guard)
{
	const struct hold_set *set = guard->job->set;
	struct member *member = member_of(guard);
	char channel[CHANNEL_MAX_BYTES], text[MESSAGE_MAX_BYTES];
	size_t length;

	wire_channel(&member->lock.keys, member->lock.id, channel);
	length = message_peek(&member->client, channel, text);
	if (length == 0 || signal_fd_pending() != 0 || !handover_accept_text(&member->lock, text))
		return 0;
	hold_set_take(set, member);
	/* such a grant must be confirmed before COMMAND starts */
	return hold_set_start(set) ? 0 : length;
}

bool guard_deputy_hear(struct guard *guard, struct guard_deputy *deputy)
{
	const struct job *job = guard->job;
	const size_t length = accept_grant(guard);

	if (length == 0) {
		guard_deputy_end(guard, deputy);
		return false;
	}
	guard_set_kill_timer(guard);
	if (!deputy_take(&guard->shared->listener)) {
		kill_timer_set(&guard->kill_timer, NEVER_MS);
		guard_deputy_end(guard, deputy);
		return false;
	}
	guard->has_grant = true;
	message_skip(&member_of(guard)->client, length);
	shared_state_let_go(guard->shared, job, false);
	wait_result_tell_grant(job->messenger, job->lock);
	return true;
}
