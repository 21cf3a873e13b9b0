/* Believes no reply: a number is brought within bounds, and a text that does not fit is refused. */
#include "lock/lock.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "lock/want.h"
#include "redis/reply.h"

/* Our leases last 30 days at most, but a Redisson client may hold the lock. */
#define TTL_MAX_MS (INT64_C(1) << 50)

/* Stands before the period of --once-ok in requests. */
#define ONCE_OK "ok"

/* Writes nothing if the number is below the least. */
static void put_number(char text[NUMBER_MAX_BYTES], int64_t number, int64_t least)
{
	if (number >= least)
		snprintf(text, NUMBER_MAX_BYTES, "%" PRId64, number);
}

static int act_as(struct lock *lock, const char *owner, struct error *err)
{
	char shown[SHORT_MAX_BYTES];

	if (!owner_is_valid(owner))
		return fail(err, STATUS_USAGE,
			    "cannot act as owner '%s': this is no id; acquire prints the id",
			    shorten(shown, owner));
	snprintf(lock->id, sizeof(lock->id), "%s", owner);
	lock->inherited = &lock->id;
	lock->inherited_count = 1;
	return 0;
}

int lock_init(struct lock *lock, const struct lock_options *options, struct error *err)
{
	memset(lock, 0, sizeof(*lock));
	if (lock_keys_make(&lock->keys, options->name, err) < 0 || owner_new(lock->id, err) < 0)
		return -1;
	memcpy(lock->request, lock->id, sizeof(lock->request));
	lock->kind = options->kind;
	lock->lease_ms = options->lease_ms;
	lock->replicas = options->replicas;
	lock->replicas_ms = earliest(options->replicas_ms, options->lease_ms / 3);
	lock->inherited_count = owner_inherited(&lock->inherited);
	if (lock->inherited_count == HELD_MAX)
		return fail(err, STATUS_USAGE,
			    "cannot take lock %s: this process is inside %d locks already",
			    lock->keys.shown, HELD_MAX);
	owner_describe(lock->by, options->pid ? options->pid : getpid(), options->words,
		       options->reason);
	lock->want = want_make(options->slots, options->shared);
	strcpy(lock->mode, MODE_EXCLUSIVE);
	lock->supersede = options->supersede;
	put_number(lock->lease, options->lease_ms, 0);
	put_number(lock->limit, options->max_queue, 0);
	put_number(lock->min_hold, options->min_hold_ms, 1);
	put_number(lock->period, options->once_per_ms, 1);
	if (options->once_ok_ms)
		snprintf(lock->period, sizeof(lock->period), ONCE_OK "%" PRId64,
			 options->once_ok_ms);
	lock->handable =
		(lock->kind == LOCK_WRAP || lock->kind == LOCK_WRAP_EARLY) && lock->replicas == 0;
	return options->owner ? act_as(lock, options->owner, err) : 0;
}

const char *lock_slot(const struct lock *lock)
{
	return lock->mode[0] == MODE_SLOT ? lock->mode + 1 : NULL;
}

bool lock_is_fresh(const struct lock *lock)
{
	return lock->deadline_ms - clock_ms() > lock->ttl_ms / 5 * 3;
}

static bool is_tagged(const struct redisReply *reply, const char *tag, size_t elements)
{
	return reply_count(reply) >= elements && strcmp(reply_text(reply, 0), tag) == 0;
}

int lock_refused(const struct redisReply *reply, struct error *err)
{
	char other[SHORT_MAX_BYTES];

	if (is_tagged(reply, "spelled", 2))
		return fail(err, STATUS_USAGE,
			    "cannot use this name: it shares keys with lock %s, which is in use",
			    shorten(other, reply_text(reply, 1)));
	if (is_tagged(reply, "version", 3))
		return fail(
			err, STATUS_CONFIG,
			"cannot use this lock: another fairlock uses it with protocol %lld, this one "
			"has protocol %lld; install the same version on all hosts",
			reply_number(reply, 1), reply_number(reply, 2));
	return reply_nonsense(err);
}

/* Returns -1 for a text that does not fit, or is empty. */
static int copy_text(char *to, size_t size, const char *from)
{
	size_t length = strlen(from);

	if (length == 0 || length >= size)
		return -1;
	memcpy(to, from, length + 1);
	return 0;
}

/* Checks it, since it is printed and given to COMMAND. */
static int copy_token(struct lock *lock, const char *token)
{
	if (token[strspn(token, DIGITS)] != '\0')
		return -1;
	return copy_text(lock->token, sizeof(lock->token), token);
}

/* Takes the server's token if it is newer: the hold was taken up. A server that went back to an old
 * copy of its data may know an older one. */
static void raise_token(struct lock *lock, const char *token)
{
	const size_t length = strlen(token), before = strlen(lock->token);

	if (length > before || (length == before && strcmp(token, lock->token) > 0))
		(void)copy_token(lock, token); /* keeps the old one if this is none */
}

static int copy_grant(struct lock *lock, const char *owner, const char *token)
{
	bool is_ours = strcmp(owner, lock->id) == 0;

	for (int i = 0; i < lock->inherited_count; i++)
		is_ours |= strcmp(owner, lock->inherited[i]) == 0;
	if (!is_ours || copy_text(lock->owner, sizeof(lock->owner), owner) < 0)
		return -1;
	return copy_token(lock, token);
}

/* Whatever a server says, our sums do not overflow, and we do not spin. */
static int64_t within(long long value, int64_t low, int64_t high)
{
	return value < low ? low : value > high ? high : value;
}

/* granted OWNER TOKEN MS WAITED HOLDS MODE */
static int read_grant(struct lock *lock, const struct client *client, struct ask_reply *out)
{
	if (client->replicas < lock->replicas)
		out->outcome = ASK_UNSAFE;
	lock->since_ms = client->sent_ms;
	lock->ttl_ms = within(reply_number(client->reply, 3), 0, TTL_MAX_MS);
	lock->deadline_ms = client->sent_ms + lock->ttl_ms;
	if (copy_text(lock->mode, sizeof(lock->mode), reply_text(client->reply, 6)) < 0)
		return -1;
	return copy_grant(lock, reply_text(client->reply, 1), reply_text(client->reply, 2));
}

/* queued TICKET MS FIRST TTL NOW MARKER */
static int read_place(struct lock *lock, const struct client *client, struct ask_reply *out)
{
	lock->heard_ms = client->sent_ms;
	lock->server_ms = within(reply_number(client->reply, 5), 0, TTL_MAX_MS);
	out->ask_in_ms = within(reply_number(client->reply, 2), 1, TTL_MAX_MS);
	out->first = reply_number(client->reply, 3) == 1;
	out->ttl_ms = reply_number(client->reply, 4);
	out->marker = reply_text(client->reply, 6);
	if (strlen(out->marker) >= TOKEN_MAX_BYTES || out->marker[strspn(out->marker, DIGITS)])
		return -1;
	if (lock->supersede && !*lock->ticket)
		put_number(lock->newest, lock->server_ms - (client->sent_ms - lock->wanted_ms), 1);
	return copy_text(lock->ticket, sizeof(lock->ticket), reply_text(client->reply, 1));
}

/* OWNER BY HELD MODE COUNT NEXT HAND */
struct holder lock_read_holder(const struct lock *lock, const struct redisReply *reply, size_t at)
{
	if (reply_count(reply) < at + 7)
		return (struct holder){
			.owner = "", .by = "", .held_ms = -1, .next_ms = -1, .want = lock->want};
	return (struct holder){
		.owner = reply_text(reply, at),
		.by = reply_text(reply, at + 1),
		.held_ms = holder_held_ms(reply_number(reply, at + 2)),
		.mode = *reply_text(reply, at + 3),
		.slots = mode_slots(reply_text(reply, at + 3)),
		.count = within(reply_number(reply, at + 4), 0, HOLDERS_MAX),
		.next_ms = within(reply_number(reply, at + 5), -1, TTL_MAX_MS),
		.by_hand = strcmp(reply_text(reply, at + 6), "1") == 0,
		.want = lock->want,
	};
}

static bool is_once_ok(const struct lock *lock)
{
	return strncmp(lock->period, ONCE_OK, strlen(ONCE_OK)) == 0;
}

int lock_read_answer(struct lock *lock, const struct client *client, struct ask_reply *out,
		     struct error *err)
{
	static const struct {
		const char *tag;
		size_t elements; /* at least, of which the holder's are the last */
		enum ask_outcome outcome;
		size_t holder;
	} answers[] = {
		{"granted", 7, ASK_GRANTED, 7},
		{"queued", 7, ASK_QUEUED, 7},
		{"busy", 3, ASK_BUSY, 1},
		{"full", 2, ASK_FULL, 2},
		{"ran", 2, ASK_RAN, 2},
		{"removed", 1, ASK_REMOVED, 1},
		{"other", 2, ASK_MISFIT, 2},
		{"ran ok", 2, ASK_RAN_OK, 2},
		{"superseded", 2, ASK_SUPERSEDED, 2},
	};
	const struct redisReply *reply = client->reply;

	for (size_t i = 0; i < sizeof(answers) / sizeof(answers[0]); i++) {
		if (!is_tagged(reply, answers[i].tag, answers[i].elements))
			continue;
		*out = (struct ask_reply){.outcome = answers[i].outcome,
					  .waiters = reply_number(reply, 1),
					  .replicas = client->replicas,
					  .mode = reply_text(reply, 1),
					  .by = reply_text(reply, 1),
					  .ran_ms = within(reply_number(reply, 1), 0, TTL_MAX_MS),
					  .holder =
						  lock_read_holder(lock, reply, answers[i].holder)};
		out->holder.is_last = out->outcome != ASK_RAN;
		if ((out->outcome == ASK_GRANTED && read_grant(lock, client, out) < 0) ||
		    (out->outcome == ASK_QUEUED && read_place(lock, client, out) < 0) ||
		    (out->outcome == ASK_RAN_OK && !is_once_ok(lock)))
			return reply_nonsense(err);
		return 0;
	}
	return lock_refused(reply, err);
}

/* Others may have had a lock that was taken up again after the end of our lease, by this request or
 * by an earlier copy of it. */
static enum renew_outcome renewal_outcome(const struct lock *lock, const struct client *client)
{
	const bool may_be_taken_up = reply_number(client->reply, 3) == 1 || client->retried;

	if (may_be_taken_up && clock_ms() >= lock->deadline_ms)
		return RENEW_LATE;
	return client->replicas < lock->replicas ? RENEW_UNSAFE : RENEWED;
}

int lock_read_renewal(struct lock *lock, const struct client *client, struct renew_reply *out,
		      struct error *err)
{
	const struct redisReply *reply = client->reply;

	*out = (struct renew_reply){.why = reply_text(reply, 1), .by = reply_text(reply, 3)};
	if (is_tagged(reply, "renewed", 5)) {
		out->outcome = renewal_outcome(lock, client);
		out->ttl_ms = within(reply_number(reply, 1), 0, TTL_MAX_MS);
		out->by = reply_text(reply, 4);
		if (out->outcome != RENEW_LATE && (lock->starts || lock->kind == LOCK_WRAP_EARLY))
			raise_token(lock, reply_text(reply, 2));
		if (out->outcome == RENEWED) {
			lock->ttl_ms = out->ttl_ms;
			lock->deadline_ms = client->sent_ms + out->ttl_ms;
			lock->handed = false;
			if (lock->starts)
				lock->kind = LOCK_WRAP;
		}
	} else if (is_tagged(reply, "released", 1)) {
		out->outcome = RENEW_RELEASED;
	} else if (is_tagged(reply, "not by hand", 1)) {
		out->outcome = RENEW_NOT_BY_HAND;
	} else if (is_tagged(reply, "lost", 4)) {
		out->outcome = RENEW_LOST;
	} else {
		return lock_refused(reply, err);
	}
	return 0;
}

int lock_read_release(const struct redisReply *reply, enum release_outcome *outcome,
		      struct error *err)
{
	if (is_tagged(reply, "released", 2))
		*outcome = RELEASED;
	else if (is_tagged(reply, "kept", 2))
		*outcome = RELEASE_KEPT;
	else if (is_tagged(reply, "forced", 3))
		*outcome = RELEASE_FORCED;
	else if (is_tagged(reply, "free", 1))
		*outcome = RELEASE_FREE;
	else if (is_tagged(reply, "forgot", 2))
		*outcome = RELEASE_FORGOT;
	else if (is_tagged(reply, "not held", 3))
		*outcome = RELEASE_NOT_HELD;
	else if (is_tagged(reply, "not acquired", 1))
		*outcome = RELEASE_NOT_ACQUIRED;
	else
		return lock_refused(reply, err);
	return 0;
}

const struct holder *lock_read_leave(const struct lock *lock, const struct redisReply *reply,
				     struct holder *holder)
{
	*holder = lock_read_holder(lock, reply, 1);
	holder->is_last = true;
	return is_tagged(reply, "left", 4) && *holder->owner ? holder : NULL;
}
