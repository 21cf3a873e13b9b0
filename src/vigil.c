#include "vigil.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "clock.h"
#include "inbox.h"
#include "pages.h"
#include "proc.h"
#include "steps.h"
#include "tell.h"
#include "verdict.h"

/* When the answer comes so soon after the wrapper has asked, we need not look whether that runs:
 * who stops it in between might have been too late as well. */
#define SURE_MS 10

enum {
	SLOT_FRONT,
	SLOT_COMMAND,
	SLOT_CLIENT,
	SLOTS,
};

struct watch {
	const struct vigil *vigil;
	int wrapper;   /* what the kernel says of it; -1: not asked yet */
	unsigned turn; /* in which we have been lent the connection; 0: we have not */
	bool is_ready;
	bool has_twin;
	struct client twin; /* goes ahead of the client that we have been lent */
};

/* ---- The connection ---- */

/* There is time, when the lock is not granted this very moment. */
static void get_ready(struct watch *watch)
{
	if (watch->is_ready)
		return;
	watch->is_ready = true;
	watch->wrapper = proc_open(watch->vigil->wrapper);
	pages_fetch();
}

static void make_twin(struct watch *watch)
{
	if (!watch->has_twin)
		watch->has_twin = client_twin(&watch->twin, watch->vigil->job->client);
}

static void drop_twin(struct watch *watch)
{
	if (watch->has_twin)
		client_close(&watch->twin);
	watch->has_twin = false;
}

/* The wrapper has lent us its connection, or the lock is held. */
static void borrow(struct watch *watch)
{
	const struct vigil *vigil = watch->vigil;

	drop_twin(watch); /* of a turn before */
	shared_borrow(vigil->shared, vigil->job);
	steps_skip(vigil->steps, vigil->job->client);
	kill(vigil->command, SIGCONT); /* the wrapper runs: it has got over a Ctrl-Z */
}

/* From now on what comes is the wrapper's affair. */
static void hand_back(struct watch *watch)
{
	const struct vigil *vigil = watch->vigil;
	unsigned turn = watch->turn;

	drop_twin(watch);
	if (turn_is_lent(turn) &&
	    atomic_compare_exchange_strong(&vigil->shared->turn, &turn, turn + 1))
		(void)!send(vigil->front, "", 1, MSG_NOSIGNAL | MSG_DONTWAIT);
	watch->turn = 0;
}

/* Whoever stops the wrapper while it waits wants nothing to be started before it goes on. */
static bool wrapper_runs(struct watch *watch, enum client_event event)
{
	struct proc proc;

	if (event == CLIENT_REPLY && clock_ms() - watch->vigil->job->client->sent_ms < SURE_MS)
		return true;
	get_ready(watch);
	return proc_read(watch->wrapper, &proc) == 0 && proc.state != 'T';
}

/* False: the wrapper has reclaimed it since. */
static bool claim(const struct watch *watch)
{
	const struct vigil *vigil = watch->vigil;
	unsigned turn = watch->turn;

	shared_put_locked(vigil->shared, vigil->job);
	return atomic_compare_exchange_strong(&vigil->shared->turn, &turn, TURN_OVER);
}

/* Whether what the client has brought is the grant, and nothing else is under way. If so, lock is
 * filled. */
static bool is_grant(struct lock *lock, const struct client *client, enum client_event event)
{
	struct ask_reply reply;
	struct error ignored;

	if (!client_is_still(client))
		return false;
	if (event == CLIENT_MESSAGE)
		return lock_was_handed(lock, client->message);
	return event == CLIENT_REPLY && lock_asked(lock, client, &reply, &ignored) == 0 &&
	       reply.outcome == ASK_GRANTED;
}

/* Takes the grant, if that is what has come. Else it is for the wrapper to read: the connection is
 * to be handed back, and the twin with it. */
static bool take_grant(struct watch *watch)
{
	const struct job *job = watch->vigil->job;
	const struct lock before = *job->lock;
	enum client_event event;
	size_t length;

	make_twin(watch);
	if (!watch->has_twin || !(length = client_foresee(&watch->twin, job->client, &event)))
		return false;
	if (is_grant(job->lock, &watch->twin, event) && wrapper_runs(watch, event) &&
	    clock_ms() < job_stop_ms(job, job->lock->deadline_ms) && claim(watch)) {
		client_become(job->client, &watch->twin, length);
		watch->has_twin = false;
		return true;
	}
	*job->lock = before;
	return false;
}

static void tell_grant(const struct vigil *vigil)
{
	const struct client *client = vigil->job->client;

	steps_tell(vigil->steps, client);
	if (vigil->job->lock->handed)
		tell_step(vigil->job->teller, "heard: %s", client->message);
	verdict_tell_grant(vigil->job->teller, vigil->job->lock);
}

static void mind_client(struct watch *watch)
{
	if (turn_is_lent(watch->turn) && take_grant(watch)) {
		watch->turn = TURN_OVER;
		tell_grant(watch->vigil);
	} else {
		hand_back(watch);
	}
}

/* ---- The others ---- */

/* A Ctrl-Z stops the process that is to become COMMAND, as it stops the wrapper, and nothing is
 * started before that goes on. False: it is gone. */
static bool mind_command(struct watch *watch)
{
	const pid_t command = watch->vigil->command;
	struct signalfd_siginfo info;
	int status;
	pid_t pid;

	while (inbox_next(watch->vigil->inbox, &info))
		;
	while ((pid = waitpid(command, &status, WNOHANG | WUNTRACED)) == command) {
		if (!WIFSTOPPED(status))
			return false;
		hand_back(watch);
	}
	return pid == 0;
}

/* False: the wrapper is gone. */
static bool mind_wrapper(struct watch *watch)
{
	char byte;

	if (recv(watch->vigil->front, &byte, 1, 0) != 1)
		return false;
	watch->turn = watch->vigil->shared->turn;
	if (turn_is_lent(watch->turn)) {
		borrow(watch);
		get_ready(watch);
		make_twin(watch);
	} else if (watch->turn == TURN_OVER) {
		borrow(watch);
		shared_put_locked(watch->vigil->shared, watch->vigil->job);
	}
	return true;
}

static bool await_grant(struct watch *watch)
{
	const struct vigil *vigil = watch->vigil;
	struct pollfd slots[SLOTS] = {
		[SLOT_FRONT] = {.fd = vigil->front, .events = POLLIN},
		[SLOT_COMMAND] = {.fd = vigil->inbox->fd, .events = POLLIN},
		[SLOT_CLIENT] = {.events = POLLIN},
	};

	while (watch->turn != TURN_OVER) {
		slots[SLOT_CLIENT].fd =
			turn_is_lent(watch->turn) ? vigil->job->client->link.fd : -1;
		if (poll(slots, SLOTS, -1) < 0 && errno != EINTR)
			return false;
		if (slots[SLOT_COMMAND].revents && !mind_command(watch))
			return false;
		if (slots[SLOT_CLIENT].revents)
			mind_client(watch);
		if (watch->turn != TURN_OVER && slots[SLOT_FRONT].revents && !mind_wrapper(watch))
			return false;
	}
	return true;
}

bool vigil_keep(const struct vigil *vigil)
{
	/* another turn than the first is told of by a byte */
	const bool is_first = vigil->shared->turn == TURN_FIRST;
	struct watch watch = {.vigil = vigil, .wrapper = -1, .turn = is_first ? TURN_FIRST : 0};
	bool is_held;

	if (*vigil->job->lock->ticket) {
		get_ready(&watch);
		if (is_first)
			make_twin(&watch);
	}
	is_held = await_grant(&watch);
	if (watch.wrapper >= 0)
		close(watch.wrapper);
	return is_held;
}
