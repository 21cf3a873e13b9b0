/* Renews every third of the lease, and sooner if something may have happened to the hold. */
#include "lock/hold.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/message.h"
#include "redis/client.h"

/* After so many events the caller looks at the deadline and at COMMAND's end. */
#define EVENTS_AT_ONCE 100

/* A late reply may still come, so a holder waits this long for it before it asks again; less only
 * if its lease is so short that it could not ask a second time. */
#define HURRY_MIN_MS 1000

/* How soon a holder renews if its lock was handed over, with a short lease, or if it may not have
 * heard all: without a connection, or while it waited. Many a COMMAND has ended by then. */
#define EARLY_RENEW_MS 50

/* How long a process that is about to end waits for the answers. */
#define GIVE_UP_MS 2000

/* Each lock of a set has so long, although the servers of others took all the time. */
#define LEAST_MS 200

/* ---- Renewals ---- */

/* A holder gives a connection up soon: the server may have moved, and the lease does not wait. */
static void hurry(struct hold *hold, int64_t timeout_ms)
{
	const int64_t least_ms = earliest(HURRY_MIN_MS, hold->lock.lease_ms / 4);
	struct client *client = &hold->client;

	if (timeout_ms < least_ms)
		timeout_ms = least_ms;
	connection_set_timeout(&client->connection,
			       earliest(hold->lock.options->connect_timeout_ms, timeout_ms));
	client->connection.back_off_max_ms = earliest(BACK_OFF_MAX_MS, hold->lock.lease_ms / 20);
}

void hold_take(struct hold *hold)
{
	const struct lock *lock = &hold->lock;
	struct client *client = &hold->client;
	char channel[CHANNEL_MAX_BYTES];

	hold->state = HOLD_HELD;
	hold->is_told = hold->is_told_late = false;
	hold->ends_ms = lock->deadline_ms;
	hold->pace = (struct pace){0};
	hold->why[0] = hold->asked_by[0] = '\0';
	hold->renew_ms = client->sent_ms + lock->lease_ms / 3;
	if (lock->handed || lock->was_told || client->connection.stage == CONNECTION_DOWN)
		hold->renew_ms = clock_ms() + EARLY_RENEW_MS;
	hurry(hold, lock->handed ? (lock->deadline_ms - lock->since_ms) / 3 : lock->lease_ms / 6);
	wire_channel(&lock->keys, lock->owner, channel);
	client_subscribe(client, channel);
}

static void renew(struct hold *hold)
{
	struct request request;

	wire_renew(&hold->lock, &request);
	client_request(&hold->client, &request);
	hold->renew_ms = NEVER_MS;
	pace_take(&hold->pace);
}

static void lose(struct hold *hold, const struct renew_reply *reply)
{
	/* stopping COMMAND */
	const size_t room =
		message_room("lost lock %s: it is held by  now; stopping ", hold->lock.keys.shown) -
		SHORT_CHARACTERS;
	char holder[OWNER_SHOWN_BYTES];

	const bool is_forced = strcmp(reply->why, "forced") == 0;
	const bool is_taken = strcmp(reply->why, "taken") == 0;

	/* DEL and the end of a lease publish nothing: a message means a release */
	hold->state = !is_forced && hold->is_told && hold->lock.kind == LOCK_ACQUIRE ? HOLD_RELEASED
										     : HOLD_LOST;
	snprintf(hold->why, sizeof(hold->why), "%s",
		 is_forced  ? "somebody broke it by force"
		 : is_taken ? "somebody else holds it now"
			    : "its lease ended or its key was deleted");
	if (is_taken && *reply->by)
		snprintf(hold->why, sizeof(hold->why), "it is held by %s now",
			 owner_show(holder, room, reply->by));
}

/* token: the one that the lock had before. left_ms: how much of the lease was left. */
static void tell_renewal(const struct hold *hold, const char *token, int64_t left_ms)
{
	struct messenger *messenger = hold->client.connection.story.messenger;
	const struct lock *lock = &hold->lock;
	char took[DURATION_MAX_BYTES], left[DURATION_MAX_BYTES];

	if (strcmp(lock->token, token) != 0)
		message_event(messenger, LOG_INFO,
			      "took lock %s up again after a loss of data, token %s",
			      lock->keys.shown, lock->token);
	if (hold->state == HOLD_HELD)
		message_step(messenger, "renewed lock %s in %s, with %s of its lease left%s%s",
			     lock->keys.shown,
			     duration_show(took, clock_ms() - hold->client.sent_ms),
			     duration_show(left, left_ms), *hold->why ? ", but " : "", hold->why);
}

static void renewed(struct hold *hold)
{
	struct lock *lock = &hold->lock;
	struct client *client = &hold->client;
	const int64_t left_ms = hold->ends_ms - client->sent_ms;
	char token[TOKEN_MAX_BYTES];
	struct renew_reply reply;

	strcpy(token, lock->token);
	/* after an answer that makes no sense the next one perhaps does */
	if (lock_read_renewal(lock, client, &reply, &client->error) < 0) {
		hold->renew_ms = clock_ms() + lock->lease_ms / 3;
		return;
	}
	hold->renew_ms = client->sent_ms + lock->lease_ms / 3;
	hold->why[0] = '\0';
	switch (reply.outcome) {
	case RENEWED:
		hold->ends_ms = client->sent_ms + reply.ttl_ms;
		if (hold->is_told_late)
			hold->renew_ms = pace_ms(&hold->pace);
		hold->is_told = hold->is_told_late;
		hurry(hold, lock->lease_ms / 6);
		break;
	case RENEW_UNSAFE:
		hold->ends_ms = client->sent_ms + reply.ttl_ms;
		hold->renew_ms = clock_ms() + lock->lease_ms / 20;
		snprintf(hold->why, sizeof(hold->why),
			 "only %lld of %" PRId64 " replicas confirmed it", client->replicas,
			 lock->options->replicas);
		break;
	case RENEW_LATE:
		snprintf(hold->why, sizeof(hold->why),
			 "its lease had ended when the server took it up again");
		break;
	case RENEW_LOST:
		lose(hold, &reply);
		break;
	case RENEW_RELEASED:
		hold->state = HOLD_RELEASED;
		break;
	case RENEW_NOT_BY_HAND:
		break;
	}
	hold->is_told_late = false;
	if ((reply.outcome == RENEWED || reply.outcome == RENEW_UNSAFE) && *reply.by)
		snprintf(hold->asked_by, sizeof(hold->asked_by), "%s", reply.by);
	tell_renewal(hold, token, left_ms);
}

void hold_expire(struct hold *hold)
{
	hold->state = HOLD_EXPIRED;
	if (hold->client.error.status)
		snprintf(hold->why, sizeof(hold->why), "%s", hold->client.error.text);
	else if (!*hold->why)
		snprintf(hold->why, sizeof(hold->why), "%s",
			 hold->client.phase == REQUEST_CONFIRMING
				 ? "too few replicas confirmed it"
				 : "its lease could not be renewed in time");
}

/* Returns false when nothing more is to be done now. */
static bool step(struct hold *hold)
{
	struct client *client = &hold->client;
	/* the answer to a renewal that left in time may have come, and count */
	const bool is_over = clock_ms() >= hold->ends_ms;
	enum client_event event;

	if (is_over && client->phase < REQUEST_SENT) {
		hold_expire(hold);
		return false;
	}
	if (!client_has_request(client) && clock_ms() >= hold->renew_ms)
		renew(hold);
	event = client_step(client);
	switch (event) {
	case CLIENT_NOTHING:
		if (is_over)
			hold_expire(hold);
		return false;
	case CLIENT_REPLY:
		renewed(hold);
		break;
	case CLIENT_MESSAGE:
		/* the lock was broken, a hold of this owner given back, or its wrap asked to
		 * stop */
		hold->is_told = true;
		hold->is_told_late |= client->phase == REQUEST_CONFIRMING;
		if (!client_has_request(client))
			hold->renew_ms = earliest(hold->renew_ms, pace_ms(&hold->pace));
		break;
	case CLIENT_FAILED:
		/* the renewal goes out with the next connection: a server that was restarted
		 * without its data gives the lock to the first that asks */
		if (!client_has_request(client))
			renew(hold);
		break;
	case CLIENT_REFUSED:
		/* a refusal is not a loss of the lock: the deadline decides */
		hold->renew_ms = clock_ms() + hold->lock.lease_ms / 20;
		break;
	}
	return hold->state == HOLD_HELD;
}

const char *hold_why(char text[OWNER_SHOWN_BYTES], size_t characters, const struct hold *hold)
{
	static const char words[] = "was asked to stop by ";
	char asker[OWNER_SHOWN_BYTES];

	if (hold->state == HOLD_RELEASED)
		return strcpy(text, "somebody gave it back");
	if (hold->state != HOLD_HELD)
		return shorten_to(text, characters, hold->why);
	owner_show(asker, characters - strlen(words), hold->asked_by);
	strcpy(text, words);
	return strcat(text, asker);
}

/* ---- Giving back ---- */

/* Waits until until_ms for the server. Returns 0; 1 if the server keeps the lock for the rest of
 * --min-hold; or -1. */
static int release(struct hold *hold, int64_t until_ms, struct error *err)
{
	struct request request;
	enum release_outcome outcome;

	/* A renewal that is not answered soon never will be: the connection is no good. One that
	 * has not left must not leave behind the end. */
	client_cancel(&hold->client,
		      clock_ms() < hold->ends_ms
			      ? clock_ms() + earliest((until_ms - clock_ms()) / 2, HURRY_MIN_MS)
			      : 0);
	wire_release(&hold->lock, &request);
	if (client_call(&hold->client, &request, until_ms, true, err) < 0 ||
	    lock_read_release(hold->client.reply, &outcome, err) < 0)
		return -1;
	if (outcome != RELEASED && outcome != RELEASE_KEPT)
		return fail(err, STATUS_NOT_HELD, "cannot release lock %s: it is not held any more",
			    hold->lock.keys.shown);
	return outcome == RELEASE_KEPT;
}

static void release_and_tell(struct hold *hold, int64_t until_ms)
{
	struct messenger *messenger = hold->client.connection.story.messenger;
	const char *name = hold->lock.keys.shown;
	const int64_t from_ms = clock_ms();
	char took[DURATION_MAX_BYTES], held[DURATION_MAX_BYTES], cause[OWNER_SHOWN_BYTES];
	struct error err;
	const int result = release(hold, until_ms, &err);

	duration_show(took, clock_ms() - from_ms);
	duration_show(held, from_ms - hold->lock.since_ms);
	if (result < 0 && err.status == STATUS_NOT_HELD)
		message(messenger, LOG_ERR, "%s", err.text);
	else if (result < 0) /* the words of a failed request do not name the lock */
		message(messenger, LOG_ERR, "giving back lock %s: %s", name,
			shorten_to(cause, message_room("giving back lock %s: ", name), err.text));
	else
		message_event(messenger, LOG_INFO, "gave lock %s back in %s, held for %s%s", name,
			      took, held,
			      result > 0 ? "; the server keeps it for the rest of --min-hold" : "");
}

/* ---- Sets ---- */

struct hold *hold_set_next(const struct hold_set *set, int *at)
{
	while (*at < set->count) {
		struct hold *hold = &set->holds[(*at)++];

		if (hold->state == HOLD_HELD)
			return hold;
	}
	return NULL;
}

struct hold *hold_set_step(const struct hold_set *set)
{
	struct hold *hold;

	for (int at = 0; (hold = hold_set_next(set, &at));) {
		for (int events = 0; events < EVENTS_AT_ONCE && step(hold); events++)
			;
		if (hold->state != HOLD_HELD)
			return hold;
	}
	return NULL;
}

const struct hold *hold_set_asked(const struct hold_set *set)
{
	const struct hold *hold;

	for (int at = 0; (hold = hold_set_next(set, &at));)
		if (*hold->asked_by)
			return hold;
	return NULL;
}

int64_t hold_set_wait(const struct hold_set *set, struct pollfd *slots)
{
	int64_t wake = NEVER_MS;

	for (int i = 0; i < set->count; i++) {
		const struct hold *hold = &set->holds[i];

		slots[i].fd = -1;
		if (hold->state != HOLD_HELD)
			continue;
		wake = earliest(wake, client_wait(&hold->client, &slots[i]));
		wake = earliest(wake, earliest(hold->renew_ms, hold->ends_ms));
	}
	return wake;
}

struct hold *hold_set_start(const struct hold_set *set)
{
	struct hold *pending = NULL;

	for (int i = set->count - 1; i >= 0; i--) {
		struct hold *hold = &set->holds[i];
		struct lock *lock = &hold->lock;
		const bool has_request = client_has_request(&hold->client);

		/* the next renewal says that COMMAND starts; and at once if the server must know */
		if (lock->kind != LOCK_WRAP && !lock->starts && !has_request)
			hold->renew_ms = 0;
		lock->starts |= lock->kind == LOCK_WRAP || !has_request;
		/* The lock becomes one of the kind LOCK_WRAP when the server has confirmed that.
		 * The answer to a renewal that is under way, or that failed, may be that the lock
		 * was lost. A message since the last renewal may mean that, too. And one that
		 * too few replicas confirmed is repeated. */
		if (lock->kind != LOCK_WRAP || has_request || hold->client.error.status ||
		    hold->is_told || *hold->why)
			pending = hold;
	}
	for (int i = 0; i < set->count && !pending; i++)
		set->holds[i].lock.starts = false;
	return pending;
}

void hold_set_release(const struct hold_set *set, int64_t until_ms)
{
	struct request request;
	struct error ignored;

	for (int i = set->count - 1; i >= 0; i--) {
		struct hold *hold = &set->holds[i];

		if (until_ms < clock_ms() + LEAST_MS)
			until_ms = clock_ms() + LEAST_MS;
		if (hold->state == HOLD_HELD) {
			release_and_tell(hold, earliest(until_ms, hold->ends_ms));
		} else if (hold->state == HOLD_EXPIRED) {
			client_cancel(&hold->client, 0);
			wire_release(&hold->lock, &request);
			client_call(&hold->client, &request, clock_ms() + LEAST_MS, false,
				    &ignored);
		}
	}
}

void hold_set_give_up(const struct hold_set *set)
{
	for (int i = 0; i < set->count; i++) {
		struct hold *hold = &set->holds[i];

		hold->lock.end.unused = true;
		if (hold->state == HOLD_HELD && clock_ms() >= hold->ends_ms)
			hold_expire(hold);
	}
	hold_set_release(set, clock_ms() + earliest(set->holds->lock.options->connect_timeout_ms,
						    GIVE_UP_MS));
	hold_set_close(set);
}

void hold_set_close(const struct hold_set *set)
{
	for (int i = 0; i < set->count; i++)
		client_close(&set->holds[i].client);
}

bool hold_set_is_silent(const struct hold_set *set)
{
	for (int i = 0; i < set->count; i++)
		if (!connection_is_silent(&set->holds[i].client.connection))
			return false;
	return true;
}

bool hold_set_is_still(const struct hold_set *set)
{
	for (int i = 0; i < set->count; i++)
		if (!client_is_still(&set->holds[i].client))
			return false;
	return true;
}

unsigned hold_set_opened(const struct hold_set *set)
{
	unsigned opened = 0;

	for (int i = 0; i < set->count; i++)
		opened += set->holds[i].client.connection.opened;
	return opened;
}
