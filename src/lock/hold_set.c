/* Each lock is renewed for itself; only the start of COMMAND concerns all of them. */
#include "lock/hold_set.h"

#include <string.h>

#include "base/clock.h"
#include "base/duration.h"
#include "base/message.h"

/* How long a process that is about to end waits for the answers. */
#define GIVE_UP_MS 2000

/* Each lock has so long, although the servers of others took all the time. */
#define LEAST_MS 200

void hold_set_take(const struct hold_set *set, struct member *member)
{
	hold_init(&member->hold, &member->lock, &member->client, set->timeout_ms);
	member->steps = (struct connection_trace){.messenger = set->messenger};
	connection_trace_skip(&member->steps, &member->client);
}

/* token: the one that the lock had before. */
static void tell_renewal(const struct hold_set *set, const struct hold *hold, const char *token)
{
	char took[DURATION_MAX_BYTES], left[DURATION_MAX_BYTES];

	if (strcmp(hold->lock->token, token) != 0)
		message_event(set->messenger, LOG_INFO,
			      "took lock %s up again after a loss of data, token %s",
			      hold->lock->keys.shown, hold->lock->token);
	if (hold->state == HOLD_HELD)
		message_step(set->messenger, "renewed lock %s in %s, with %s of its lease left%s%s",
			     hold->lock->keys.shown, duration_show(took, hold->took_ms),
			     duration_show(left, hold->left_ms), *hold->why ? ", but " : "",
			     hold->why);
}

struct member *hold_set_step(const struct hold_set *set)
{
	for (int i = 0; i < set->count; i++) {
		struct member *member = &set->members[i];
		const unsigned renewals = member->hold.renewals;
		char token[TOKEN_MAX_BYTES];

		if (member->hold.state != HOLD_HELD)
			continue;
		strcpy(token, member->lock.token);
		hold_step(&member->hold);
		connection_trace_tell(&member->steps, &member->client);
		if (member->hold.renewals != renewals)
			tell_renewal(set, &member->hold, token);
		if (member->hold.state != HOLD_HELD)
			return member;
	}
	return NULL;
}

const struct hold *hold_set_asked(const struct hold_set *set)
{
	for (int i = 0; i < set->count; i++) {
		const struct hold *hold = &set->members[i].hold;

		if (hold->state == HOLD_HELD && *hold->asked_by)
			return hold;
	}
	return NULL;
}

int64_t hold_set_wait(const struct hold_set *set, struct pollfd *slots)
{
	int64_t wake = NEVER_MS;

	for (int i = 0; i < set->count; i++)
		if (set->members[i].hold.state == HOLD_HELD)
			wake = earliest(wake, hold_wait(&set->members[i].hold, &slots[i]));
		else
			slots[i].fd = -1;
	return wake;
}

int64_t hold_set_least_ms(const struct hold_set *set, hold_set_time *time_of, const void *job)
{
	int64_t least = NEVER_MS;

	for (int i = 0; i < set->count; i++)
		if (set->members[i].hold.state == HOLD_HELD)
			least = earliest(least, time_of(&set->members[i].lock, job));
	return least;
}

static int64_t deadline_of(const struct lock *lock, const void *job)
{
	(void)job;
	return lock->deadline_ms;
}

int64_t hold_set_deadline_ms(const struct hold_set *set)
{
	return hold_set_least_ms(set, deadline_of, NULL);
}

/* The answer to a renewal that is under way, or that failed, may be that the lock was lost. A
 * message since the last renewal may mean that, too. */
static bool may_start(const struct member *member)
{
	return member->lock.kind == LOCK_WRAP && !client_has_request(&member->client) &&
	       member->client.error.status == STATUS_OK && !member->hold.is_told &&
	       lock_is_fresh(&member->lock);
}

/* Tells the server with the next renewal that COMMAND starts, and at once if it must know. */
static void say_start(struct member *member)
{
	if (member->lock.kind == LOCK_WRAP)
		member->lock.starts = true;
	else if (!member->lock.starts && !client_has_request(&member->client))
		hold_start(&member->hold);
}

struct member *hold_set_start(const struct hold_set *set)
{
	struct member *pending = NULL;

	for (int i = set->count - 1; i >= 0; i--) {
		struct member *member = &set->members[i];

		say_start(member);
		if (!may_start(member))
			pending = member;
	}
	for (int i = 0; i < set->count && !pending; i++)
		set->members[i].lock.starts = false;
	return pending;
}

void hold_set_release(const struct hold_set *set, int64_t until_ms)
{
	for (int i = set->count - 1; i >= 0; i--) {
		struct hold *hold = &set->members[i].hold;

		if (until_ms < clock_ms() + LEAST_MS)
			until_ms = clock_ms() + LEAST_MS;
		if (hold->state == HOLD_HELD)
			hold_release_and_tell(hold, set->messenger,
					      earliest(until_ms, hold->ends_ms));
		else if (hold->state == HOLD_EXPIRED)
			hold_let_go(hold, clock_ms() + LEAST_MS);
	}
}

void hold_set_give_up(const struct hold_set *set)
{
	for (int i = 0; i < set->count; i++) {
		struct hold *hold = &set->members[i].hold;

		set->members[i].lock.unused = true;
		if (hold->state == HOLD_HELD && clock_ms() >= hold->ends_ms)
			hold_expire(hold);
	}
	hold_set_release(set, clock_ms() + earliest(set->timeout_ms, GIVE_UP_MS));
	hold_set_close(set);
}

void hold_set_close(const struct hold_set *set)
{
	for (int i = 0; i < set->count; i++)
		client_close(&set->members[i].client);
}

bool hold_set_is_silent(const struct hold_set *set)
{
	for (int i = 0; i < set->count; i++)
		if (!connection_is_silent(&set->members[i].client.connection))
			return false;
	return true;
}

bool hold_set_is_still(const struct hold_set *set)
{
	for (int i = 0; i < set->count; i++)
		if (!client_is_still(&set->members[i].client))
			return false;
	return true;
}

unsigned hold_set_opened(const struct hold_set *set)
{
	unsigned opened = 0;

	for (int i = 0; i < set->count; i++)
		opened += set->members[i].client.connection.opened;
	return opened;
}
