/* The locks that it has are renewed while it waits for the next. If one of them is lost before
 * COMMAND starts, all are given back, and it begins anew. */
#include "supervise/wrapper.h"

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

void wanted_locks_sort(struct wanted_locks *wanted, const char *name, const struct options *options)
{
	const char *names[HOLDS_MAX] = {name};
	size_t count = 1;

	for (; options->also[count - 1]; count++)
		names[count] = options->also[count - 1];
	qsort(names, count, sizeof(*names), compare_names);
	wanted->count = 0;
	for (size_t i = 0; i < count; i++) {
		if (i > 0 && strcmp(names[i], names[i - 1]) == 0)
			continue;
		if (strcmp(names[i], name) == 0)
			wanted->at = wanted->count;
		wanted->names[wanted->count++] = names[i];
	}
}

/* x and {x} are two spellings of one lock. */
static int check_spelling(const struct member *members, const struct member *member,
			  struct error *err)
{
	for (; members < member; members++)
		if (strcmp(members->lock.keys.state, member->lock.keys.state) == 0)
			return fail(err, STATUS_USAGE,
				    "cannot take both lock %s and lock %s: they share keys",
				    members->lock.keys.shown, member->lock.keys.shown);
	return 0;
}

int take_locks_init(const struct job *job, const struct wanted_locks *wanted, struct error *err)
{
	for (int i = 0; i < wanted->count; i++) {
		struct member *member = &job->set->members[i];
		const bool is_last = i == wanted->count - 1;

		if (lock_init(&member->lock, wanted->names[i],
			      is_last ? LOCK_WRAP : LOCK_WRAP_EARLY, job->options, job->argv,
			      err) < 0 ||
		    check_spelling(job->set->members, member, err) < 0)
			return -1;
		if (i != wanted->at)
			*member->lock.wish.limit = '\0'; /* --max-queue is for NAME */
		client_init(&member->client, job->server, job->set->timeout_ms);
		member->hold = (struct hold){.lock = &member->lock, .client = &member->client};
	}
	return 0;
}

/* ---- Pauses ---- */

/* A signal ends the pause, and is in *signo then. */
static int pause_until(const struct wait *wait, const struct lock *lock, int64_t until_ms,
		       int *signo, struct error *err)
{
	struct pollfd slots[] = {{.fd = wait->signals->fd, .events = POLLIN}, {.fd = -1}};

	while (clock_ms() < until_ms) {
		if (deadline_poll(wait->loop, slots, 2, until_ms, err) < 0)
			return -1;
		if (slots[0].revents && (*signo = signal_fd_next_deadly(wait->signals)))
			return wait_result_stopped(err, lock, *signo);
	}
	return 0;
}

/* A random part of --jitter, so that hosts that start at the same time do not ask at the same
 * time. */
static int wait_for_jitter(const struct wait *wait, const struct lock *lock, int *signo,
			   struct error *err)
{
	const uint64_t most = (uint64_t)wait->options->jitter_ms;
	uint64_t dice = 0;

	*signo = 0;
	if (most == 0)
		return 0;
	(void)!getrandom(&dice, sizeof(dice), 0);
	dice %= most + 1;
	message_step(wait->messenger, "asking in %" PRIu64 " ms", dice);
	return pause_until(wait, lock, clock_ms() + (int64_t)dice, signo, err);
}

/* ---- One attempt ---- */

/* An attempt to take all locks. */
struct attempt {
	struct wait wait;
	const struct job *job;
	struct standby *standby;
	int *signo;
	struct error *err;
};

static void stand_by(void *data, bool begins)
{
	const struct attempt *attempt = data;

	if (begins)
		standby_make(attempt->standby, attempt->job);
	else
		standby_end(attempt->standby);
}

/* The server does not confirm that COMMAND starts. */
static void fail_to_start(const struct member *member, struct error *err)
{
	if (member->client.error.status)
		*err = member->client.error;
	else
		fail(err, STATUS_UNAVAILABLE, "cannot get lock %s: %s", member->lock.keys.shown,
		     member->lock.options->replicas > 0 ? "too few replicas confirmed it"
							: "the server did not confirm it in time");
}

/* All locks are granted. Returns WAIT_GRANTED when the server has confirmed for each that COMMAND
 * starts: no lock was lost while we waited for the others. */
static enum wait_event confirm_all(const struct attempt *attempt)
{
	const struct wait *wait = &attempt->wait;
	const struct hold_set *set = attempt->job->set;
	const bool has_end = wait->options->no_wait || wait->options->wait_ms >= 0;
	const int64_t until_ms = has_end ? clock_ms() + set->timeout_ms : NEVER_MS;
	struct pollfd slots[1 + HOLDS_MAX + 1] = {{.fd = wait->signals->fd, .events = POLLIN}};
	const struct member *pending, *lost;

	while ((pending = hold_set_start(set))) {
		const int64_t wake = earliest(hold_set_wait(set, &slots[1]), until_ms);

		if (clock_ms() >= until_ms) {
			fail_to_start(pending, attempt->err);
			return WAIT_FAILED;
		}
		if (deadline_poll(wait->loop, slots, (nfds_t)set->count + 2, wake, attempt->err) <
		    0)
			return WAIT_FAILED;
		if (slots[0].revents && (*attempt->signo = signal_fd_next_deadly(wait->signals))) {
			wait_result_stopped(attempt->err, &pending->lock, *attempt->signo);
			return WAIT_FAILED;
		}
		if ((lost = hold_set_step(set))) {
			wait_result_lost(attempt->err, &lost->hold, NULL);
			return WAIT_LOST;
		}
		if (hold_set_asked(set)) {
			wait_result_asked(attempt->err, hold_set_asked(set));
			return WAIT_FAILED;
		}
	}
	return WAIT_GRANTED;
}

/* Returns WAIT_GRANTED when all locks are held; else none is. */
static enum wait_event take_all(struct attempt *attempt)
{
	const struct hold_set *set = attempt->job->set;
	struct hold_set *held = &attempt->wait.held;
	enum wait_event event = WAIT_GRANTED;

	attempt->wait.data = attempt;
	*held = *set;
	for (held->count = 0; event == WAIT_GRANTED && held->count < set->count;) {
		struct member *member = &set->members[held->count];

		/* before the others a guard would wait for long */
		attempt->wait.stand_by = held->count == set->count - 1 ? stand_by : NULL;
		event = wait_for_lock(&attempt->wait, &member->lock, &member->client,
				      attempt->signo, attempt->err);
		if (event == WAIT_GRANTED) {
			hold_set_take(set, member);
			held->count++;
		} else {
			client_close(&member->client);
		}
	}
	if (event == WAIT_GRANTED)
		event = confirm_all(attempt);
	if (event != WAIT_GRANTED) {
		standby_end(attempt->standby);
		hold_set_give_up(held);
	}
	return event;
}

/* ---- All of it ---- */

/* Others may break a lock again and again: then it begins anew ten times a second at most. */
static int begin_anew(struct attempt *attempt, const struct wanted_locks *wanted, struct pace *pace)
{
	const struct error *err = attempt->err;
	const int64_t wait_ms = attempt->wait.options->wait_ms;

	if (wait_ms > 0 && clock_ms() >= attempt->wait.from_ms + wait_ms)
		return -1; /* *err tells which lock was lost */
	message_event(attempt->wait.messenger, LOG_NOTICE, "%s", err->text);
	message_step(attempt->wait.messenger, "gave all locks back; beginning anew");
	pace_take(pace);
	if (pause_until(&attempt->wait, attempt->job->lock, pace_ms(pace), attempt->signo,
			attempt->err) < 0)
		return -1;
	return take_locks_init(attempt->job, wanted, attempt->err);
}

enum wait_event take_locks(const struct job *job, const struct wanted_locks *wanted,
			   struct standby *standby, int *signo, struct error *err)
{
	struct attempt attempt = {.wait = {.options = job->options,
					   .messenger = job->messenger,
					   .signals = job->signals,
					   .loop = job->loop,
					   .pidfd = -1},
				  .job = job,
				  .standby = standby,
				  .signo = signo,
				  .err = err};
	enum wait_event event;
	struct pace pace = {0};

	if (wait_for_jitter(&attempt.wait, job->lock, signo, err) < 0)
		return WAIT_FAILED;
	attempt.wait.from_ms = clock_ms();
	while ((event = take_all(&attempt)) == WAIT_LOST)
		if (begin_anew(&attempt, wanted, &pace) < 0)
			return WAIT_FAILED;
	return event;
}
