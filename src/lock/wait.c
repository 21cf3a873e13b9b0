/* The loop of a wait: events of the server, the waiter's time, signals. */
#include "lock/wait.h"

#include "base/clock.h"
#include "base/message.h"
#include "cli/options.h"
#include "lock/progress.h"
#include "lock/wait_above.h"
#include "lock/wait_ask.h"
#include "lock/wait_leave.h"
#include "lock/wait_report.h"
#include "lock/wait_result.h"
#include "lock/wait_show.h"
#include "lock/wait_standby.h"
#include "lock/waiter_view.h"
#include "lock/wire.h"
#include "redis/client.h"

/* After so many events of the server we look at signals and at the end of --wait. */
#define EVENTS_AT_ONCE 100

/* The server is served before these: a grant that has come counts. A grant that is under way when
 * one of these ends the wait is undone by leaving. */
enum {
	SLOT_SIGNALS,
	SLOT_PID,
	SLOT_CLIENT,
	SLOT_HELD, /* one for each lock that is held already, and the timer's behind them */
	SLOTS_IN_ALL = SLOT_HELD + HOLDS_MAX + 1,
};

static bool is_over(const struct waiting *w)
{
	return w->granted || w->is_done;
}

static int take_events(struct waiting *w, struct error *err)
{
	for (int events = 0; events < EVENTS_AT_ONCE; events++) {
		const enum client_event event = client_step(w->client);
		int result = 0;

		if (event != CLIENT_NOTHING && w->wait->messenger->verbose)
			progress_clear(&w->progress);
		connection_trace_tell(&w->steps, w->client);
		switch (event) {
		case CLIENT_NOTHING:
		case CLIENT_CHANGED:
			return 0;
		case CLIENT_REPLY:
			if (w->viewing) {
				wait_show_answer(w);
				wait_report_answer(w);
				result = wait_above_answer(w, err);
			} else {
				result = wait_asked(w, err);
			}
			break;
		case CLIENT_MESSAGE:
			wait_heard(w);
			break;
		case CLIENT_FAILED:
		case CLIENT_REFUSED:
			result = wait_failed(w, event == CLIENT_REFUSED, err);
			break;
		}
		if (result < 0 || is_over(w))
			return result;
	}
	return 0;
}

/* Returns the one that ends us, or 0. */
static int take_signals(struct waiting *w)
{
	struct signalfd_siginfo info;

	while (signal_fd_next(w->wait->signals, &info)) {
		signal_fd_reap(&info);
		if (info.ssi_signo == SIGTSTP)
			progress_stop(&w->progress);
		else if (signal_fd_is_deadly((int)info.ssi_signo))
			return (int)info.ssi_signo;
	}
	return 0;
}

/* The lock is not wanted any more, whether the server is there or away, now or while we leave. */
static int process_ended(struct waiting *w, struct error *err)
{
	w->until_ms = NEVER_MS;
	return wait_result_not_obtained(err, w->lock, "the process of --while-pid has ended");
}

/* Renews the locks that we have already. Returns -1, and how the wait ends, if one of them is lost,
 * or somebody asks for it. */
static int keep_held(struct waiting *w, enum wait_event *end, struct error *err)
{
	const struct member *lost;
	const struct hold *asked;

	if (w->wait->messenger->verbose && (w->held_woke || clock_ms() >= w->held_ms))
		progress_clear(&w->progress);
	w->held_woke = false;
	lost = hold_set_step(&w->wait->held);
	asked = hold_set_asked(&w->wait->held);
	if (!lost && !asked)
		return 0;
	w->holder_is_said = true;
	if (!lost)
		return wait_result_asked(err, asked);
	*end = WAIT_LOST;
	return wait_result_lost(err, &lost->hold, w->lock);
}

/* Returns -1 when the wait is to end. */
static int pause_waiting(struct waiting *w, int *signo, struct error *err)
{
	const struct hold_set *held = &w->wait->held;
	struct pollfd slots[SLOTS_IN_ALL] = {
		[SLOT_SIGNALS] = {.fd = w->wait->signals->fd, .events = POLLIN},
		[SLOT_PID] = {.fd = w->wait->pidfd, .events = POLLIN},
	};
	int64_t wake = client_wait(w->client, &slots[SLOT_CLIENT]);

	w->held_ms = hold_set_wait(held, &slots[SLOT_HELD]);
	wake = earliest(wake, w->held_ms);
	wake = earliest(wake, earliest(wait_ask_again_ms(w), w->until_ms));
	wake = earliest(wake, earliest(w->progress.draw_ms, wait_report_wake_ms(w)));
	if (!client_has_request(w->client))
		wake = earliest(wake, w->above_ms);
	if (deadline_poll(w->wait->loop, slots, (nfds_t)SLOT_HELD + (nfds_t)held->count + 1, wake,
			  err) < 0)
		return -1;
	for (int i = 0; i < held->count; i++)
		w->held_woke |= slots[SLOT_HELD + i].revents != 0;
	if (slots[SLOT_SIGNALS].revents && (*signo = take_signals(w))) {
		w->holder_is_said = true;
		return wait_result_stopped(err, w->lock, *signo);
	}
	if (slots[SLOT_SIGNALS].revents)
		progress_hurry(&w->progress); /* the terminal has another size, or is ours again */
	return slots[SLOT_PID].revents ? process_ended(w, err) : 0;
}

void wait_begin(struct waiting *w, const struct wait *wait, struct lock *lock,
		struct client *client)
{
	char channel[CHANNEL_MAX_BYTES];

	*w = (struct waiting){.wait = wait,
			      .lock = lock,
			      .client = client,
			      .until_ms = NEVER_MS,
			      .report_ms = NEVER_MS,
			      .above_ms = NEVER_MS,
			      .steps = {.messenger = wait->messenger}};
	lock->wanted_ms = wait->from_ms && wait->held.count == 0 ? wait->from_ms : clock_ms();
	progress_init(&w->progress);
	if (wait->options->wait_ms > 0)
		/* the present millisecond has begun already */
		w->until_ms = (wait->from_ms ? wait->from_ms : lock->wanted_ms) +
			      wait->options->wait_ms + 1;
	client->keen = true;
	wire_channel(&lock->keys, lock->request, channel);
	client_subscribe(client, channel);
	wait_ask(w);
	/* perhaps: while the server works on the request, there is time to get ready */
	w->may_be_next = true;
}

/* Returns -1 when the wait is to end. */
static int do_what_is_due(struct waiting *w, struct error *err)
{
	if (clock_ms() >= w->until_ms)
		return wait_timed_out(w, err);
	if (clock_ms() >= w->progress.draw_ms)
		wait_show_redraw(w);
	if (w->place_due && !client_has_request(w->client))
		wait_show_request(w);
	wait_report_due(w);
	wait_above_due(w);
	return 0;
}

enum wait_event wait_next(struct waiting *w, int *signo, struct error *err)
{
	enum wait_event end = WAIT_FAILED;

	*signo = 0;
	while (take_events(w, err) == 0 && !is_over(w)) {
		if (keep_held(w, &end, err) < 0)
			break;
		if (wait_standby_ends(w))
			return WAIT_STAND_DOWN;
		if (do_what_is_due(w, err) < 0)
			break;
		if (clock_ms() >= wait_ask_again_ms(w)) {
			wait_ask(w);
		} else if (wait_standby_begins(w)) {
			return WAIT_STAND_BY;
		} else if (pause_waiting(w, signo, err) < 0) {
			break;
		}
	}
	progress_close(&w->progress);
	if (is_over(w))
		return w->granted ? WAIT_GRANTED : WAIT_DONE;
	wait_leave(w, err);
	return end;
}
