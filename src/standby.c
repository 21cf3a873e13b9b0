#include "standby.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "guard.h"

void standby_make(struct standby *standby, const struct job *job, bool lends)
{
	const pid_t wrapper = getpid();
	int ends[2];

	if (standby->guard && standby->opened == job->client->link.opened)
		return;
	standby_end(standby);
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0)
		return;
	prctl(PR_SET_CHILD_SUBREAPER, 1); /* the guard's child is ours when it is gone */
	*standby = (struct standby){
		.fd = ends[0], .opened = job->client->link.opened, .shared = shared_new()};
	if (standby->shared)
		standby->shared->turn = lends ? TURN_FIRST : TURN_FIRST + 1;
	standby->guard = standby->shared ? fork() : -1;
	if (standby->guard == 0) {
		close(ends[0]);
		guard_stand_by(job, standby->shared, ends[1], wrapper);
	}
	close(ends[1]);
	if (standby->guard < 0)
		standby_end(standby);
}

void standby_end(struct standby *standby)
{
	if (!standby->guard)
		return;
	close(standby->fd);
	if (standby->guard > 0) {
		kill(standby->guard, SIGKILL);
		waitpid(standby->guard, NULL, 0);
		/* it dies with the guard; nobody else may be there to reap it */
		if (standby->shared->command)
			waitpid(standby->shared->command, NULL, 0);
	}
	shared_free(standby->shared);
	*standby = (struct standby){0};
}

static bool wake(const struct standby *standby)
{
	return send(standby->fd, "", 1, MSG_NOSIGNAL | MSG_DONTWAIT) == 1;
}

int standby_lend(struct standby *standby, const struct job *job)
{
	if (!standby->guard || standby->opened != job->client->link.opened)
		return -1;
	/* one that was lent it when it was forked may have the lock by now */
	if (turn_is_wrappers(standby->shared->turn)) {
		shared_lend(standby->shared, job);
		standby->shared->turn++;
		if (!wake(standby))
			standby_end(standby);
	}
	return standby->guard ? standby->fd : -1;
}

static bool has_input(const struct job *job)
{
	struct pollfd slot = {.fd = job->client->link.fd, .events = POLLIN};

	return poll(&slot, 1, 0) == 1;
}

/* Takes what the guard has told: only that there is something. False: it is dead. */
static bool hear(const struct standby *standby)
{
	ssize_t length;
	char byte;

	while ((length = recv(standby->fd, &byte, 1, MSG_DONTWAIT)) == 1)
		;
	return length < 0 && errno == EAGAIN;
}

bool standby_reclaim(struct standby *standby, const struct job *job)
{
	struct shared *shared = standby->shared;
	unsigned turn = shared->turn;
	int64_t unknown = 0;
	bool hangs = false;

	while (turn_is_lent(turn))
		if (atomic_compare_exchange_weak(&shared->turn, &turn, turn + 1)) {
			turn++;
			hangs = has_input(job);
		}
	if (turn == TURN_OVER) {
		shared_take_locked(shared, job);
		/* the guard may be on its way there */
		atomic_compare_exchange_strong(&shared->deadline_ms, &unknown,
					       job->lock->deadline_ms);
		return false;
	}
	if (!hear(standby) || hangs)
		standby_end(standby);
	return true;
}

bool standby_has_lock(const struct standby *standby)
{
	return standby->guard && standby->shared->turn == TURN_OVER;
}

bool standby_set_off(const struct standby *standby, const struct job *job)
{
	if (standby_has_lock(standby))
		return true;
	if (!standby->guard || standby->opened != job->client->link.opened ||
	    !client_is_still(job->client))
		return false;
	shared_lend(standby->shared, job);
	standby->shared->deadline_ms = job->lock->deadline_ms;
	standby->shared->turn = TURN_OVER;
	return wake(standby);
}
