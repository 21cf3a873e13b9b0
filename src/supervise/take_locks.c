/* The locks that it has are renewed while it waits for the next. If one of them is lost before
 * COMMAND starts, all are given back, and it begins anew. */
#include "supervise/job.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/clock.h"
#include "base/message.h"
#include "cli/options.h"
#include "lock/wait.h"

/* ---- Which locks ---- */

static int compare_names(const void *one, const void *other)
{
	return strcmp(*(const char *const *)one, *(const char *const *)other);
}

/* Sorts NAME and those of --also by their bytes, so that no two wraps wait for each other. Returns
 * how many there are, none twice. */
static int sort_names(const char *names[HOLDS_MAX], const struct job *job)
{
	size_t count = 1;
	int kept = 0;

	names[0] = job->name;
	for (; job->options->also[count - 1]; count++)
		names[count] = job->options->also[count - 1];
	qsort(names, count, sizeof(*names), compare_names);
	for (size_t i = 0; i < count; i++)
		if (i == 0 || strcmp(names[i], names[i - 1]) != 0)
			names[kept++] = names[i];
	return kept;
}

/* Finds out the locks. Gives each an id, and a client that is not connected. Returns 0, or -1. */
static int find_locks(struct job *job, struct error *err)
{
	const char *names[HOLDS_MAX];
	struct hold_set *set = job->set;

	set->count = sort_names(names, job);
	for (int i = 0; i < set->count; i++) {
		struct hold *hold = &set->holds[i];
		const bool is_last = i == set->count - 1;

		if (lock_init(&hold->lock, names[i], is_last ? LOCK_WRAP : LOCK_WRAP_EARLY,
			      job->options, job->argv, err) < 0)
			return -1;
		/* x and {x} are two spellings of one lock */
		for (const struct hold *other = set->holds; other < hold; other++)
			if (strcmp(other->lock.keys.state, hold->lock.keys.state) == 0)
				return fail(err, STATUS_USAGE,
					    "cannot take both lock %s and lock %s: they share keys",
					    other->lock.keys.shown, hold->lock.keys.shown);
		if (strcmp(names[i], job->name) == 0)
			job->lock = &hold->lock;
		else
			*hold->lock.wish.limit = '\0'; /* --max-queue is for NAME */
		client_init(&hold->client, job->server, job->messenger,
			    job->options->connect_timeout_ms);
		hold->state = HOLD_NOT_YET;
	}
	return 0;
}

/* ---- Pauses ---- */

/* A signal ends the pause. */
static int pause_until(const struct wait *wait, const struct lock *lock, int64_t until_ms,
		       struct error *err)
{
	struct pollfd slots[] = {{.fd = wait->signals->fd, .events = POLLIN}, {.fd = -1}};

	while (clock_ms() < until_ms)
		if (deadline_poll(wait->loop, slots, 2, until_ms, err) < 0 ||
		    (slots[0].revents && wait_is_stopped(wait, lock, err)))
			return -1;
	return 0;
}

/* A random part of --jitter, so that hosts that start at the same time do not ask at the same
 * time. */
static int wait_for_jitter(const struct wait *wait, const struct lock *lock, struct error *err)
{
	const uint64_t most = (uint64_t)wait->options->jitter_ms;
	uint64_t dice = 0;

	if (most == 0)
		return 0;
	(void)!getrandom(&dice, sizeof(dice), 0);
	dice %= most + 1;
	message_step(wait->messenger, "asking in %" PRIu64 " ms", dice);
	return pause_until(wait, lock, clock_ms() + (int64_t)dice, err);
}

/* ---- One attempt ---- */

/* An attempt to take all locks. */
struct attempt {
	struct wait wait;
	struct job *job;
	struct standby *standby;
	struct error *err;
};

static bool stand_by(void *data, bool is_wanted, bool is_time)
{
	const struct attempt *attempt = data;

	return standby_update(attempt->standby, attempt->job, is_wanted, is_time);
}

/* The server does not confirm that COMMAND starts. */
static enum wait_event fail_to_start(const struct hold *hold, struct error *err)
{
	if (hold->client.error.status)
		*err = hold->client.error;
	else
		fail(err, STATUS_UNAVAILABLE, "cannot get lock %s: %s", hold->lock.keys.shown,
		     hold->lock.options->replicas > 0 ? "too few replicas confirmed it"
						      : "the server did not confirm it in time");
	return WAIT_FAILED;
}

/* All locks are granted. Returns WAIT_GRANTED when the server has confirmed for each that COMMAND
 * starts: no lock was lost while we waited for the others. */
static enum wait_event confirm_all(const struct attempt *attempt)
{
	const struct wait *wait = &attempt->wait;
	const struct hold_set *set = wait->set;
	const bool has_end = wait->options->no_wait || wait->options->wait_ms >= 0;
	const int64_t until_ms =
		has_end ? clock_ms() + wait->options->connect_timeout_ms : NEVER_MS;
	struct pollfd slots[1 + HOLDS_MAX + 1] = {{.fd = wait->signals->fd, .events = POLLIN}};
	enum wait_event event = WAIT_GRANTED;
	const struct hold *pending;

	while (event == WAIT_GRANTED && (pending = hold_set_start(set))) {
		const int64_t wake = earliest(hold_set_wait(set, &slots[1]), until_ms);

		if (clock_ms() >= until_ms)
			return fail_to_start(pending, attempt->err);
		if (deadline_poll(wait->loop, slots, (nfds_t)set->count + 2, wake, attempt->err) <
			    0 ||
		    (slots[0].revents && wait_is_stopped(wait, &pending->lock, attempt->err)))
			return WAIT_FAILED;
		event = wait_keep_held(set, NULL, attempt->err);
	}
	return event;
}

/* Returns WAIT_GRANTED when all locks are held; else none is. */
static enum wait_event take_all(struct attempt *attempt)
{
	const struct hold_set *set = attempt->wait.set;
	enum wait_event event = WAIT_GRANTED;

	for (int i = 0; event == WAIT_GRANTED && i < set->count; i++) {
		struct hold *hold = &set->holds[i];

		/* before the others a guard would wait for long */
		attempt->wait.stand_by = i == set->count - 1 ? stand_by : NULL;
		event = wait_for_lock(&attempt->wait, hold, attempt->err);
		if (event == WAIT_GRANTED)
			hold_take(hold);
		else
			client_close(&hold->client);
	}
	if (event == WAIT_GRANTED)
		event = confirm_all(attempt);
	if (event != WAIT_GRANTED) {
		stand_by(attempt, false, false);
		hold_set_give_up(set);
	}
	return event;
}

/* ---- All of it ---- */

/* Others may break a lock again and again: then it begins anew ten times a second at most. */
static int begin_anew(struct attempt *attempt, struct pace *pace)
{
	struct wait *wait = &attempt->wait;
	const int64_t wait_ms = wait->options->wait_ms;
	struct error *err = attempt->err;

	if (wait_ms > 0 && clock_ms() >= wait->from_ms + wait_ms)
		return -1; /* *err tells which lock was lost */
	message_event(wait->messenger, LOG_NOTICE, "%s", err->text);
	message_step(wait->messenger, "gave all locks back; beginning anew");
	wait->begins_anew = true;
	pace_take(pace);
	if (pause_until(wait, attempt->job->lock, pace_ms(pace), err) < 0)
		return -1;
	return find_locks(attempt->job, err);
}

enum wait_event take_locks(struct job *job, struct standby *standby, int *signo, struct error *err)
{
	struct attempt attempt = {.wait = {.options = job->options,
					   .messenger = job->messenger,
					   .signals = job->signals,
					   .signo = signo,
					   .loop = job->loop,
					   .pidfd = -1,
					   .set = job->set,
					   .data = &attempt},
				  .job = job,
				  .standby = standby,
				  .err = err};
	enum wait_event event;
	struct pace pace = {0};

	if (find_locks(job, err) < 0 || wait_for_jitter(&attempt.wait, job->lock, err) < 0)
		return WAIT_FAILED;
	attempt.wait.from_ms = clock_ms();
	while ((event = take_all(&attempt)) == WAIT_LOST)
		if (begin_anew(&attempt, &pace) < 0)
			return WAIT_FAILED;
	return event;
}
