#include "lock/lock.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "redis/reply.h"
#include "redis/script.h"

/* No lease is longer than a day, but somebody else may hold. */
#define TTL_MAX_MS (INT64_C(1) << 50)

#define DIGITS "0123456789"

/* granted TOKEN MS NOW SECRET */
#define HANDED "granted"

/* This part of a time to live may pass until who was handed the lock hears it. */
#define HANDED_PART 10

/* Two clocks count so much more or less than each other, at most, and this part of what they count.
 */
#define CLOCKS_SLACK_MS 20
#define CLOCKS_SLACK_PART 1000

int lock_init(struct lock *lock, const char *name, enum lock_kind kind, int64_t lease_ms,
	      int64_t limit, char *const *words, struct error *err)
{
	memset(lock, 0, sizeof(*lock));
	if (lock_keys_make(&lock->keys, name, err) < 0 || owner_new(lock->id, err) < 0)
		return -1;
	memcpy(lock->request, lock->id, sizeof(lock->request));
	lock->kind = kind;
	lock->lease_ms = lease_ms;
	lock->inherited_count = owner_inherited(&lock->inherited);
	if (lock->inherited_count == HELD_MAX)
		return fail(err, STATUS_USAGE, "cannot take lock %s: inside %d others", name,
			    HELD_MAX);
	owner_describe(lock->by, words);
	snprintf(lock->lease, sizeof(lock->lease), "%" PRId64, lease_ms);
	if (limit >= 0)
		snprintf(lock->limit, sizeof(lock->limit), "%" PRId64, limit);
	return 0;
}

void lock_need_replicas(struct lock *lock, int64_t replicas, int64_t timeout_ms)
{
	lock->replicas = replicas;
	lock->replicas_ms = earliest(timeout_ms, lock->lease_ms / 3);
}

void lock_keep(struct lock *lock, int64_t min_hold_ms)
{
	if (min_hold_ms > 0)
		snprintf(lock->min_hold, sizeof(lock->min_hold), "%" PRId64, min_hold_ms);
}

void lock_once_per(struct lock *lock, int64_t once_per_ms)
{
	if (once_per_ms > 0)
		snprintf(lock->once_per, sizeof(lock->once_per), "%" PRId64, once_per_ms);
}

void lock_let_hand_over(struct lock *lock)
{
	lock->handable = lock->replicas == 0 && !*lock->once_per;
}

int lock_act_as(struct lock *lock, const char *owner, struct error *err)
{
	if (!owner)
		return 0;
	if (!owner_is_valid(owner))
		return fail(err, STATUS_USAGE, "cannot act as owner '%s': this is no owner id",
			    owner);
	snprintf(lock->id, sizeof(lock->id), "%s", owner);
	lock->inherited = &lock->id;
	lock->inherited_count = 1;
	return 0;
}

void request_add(struct request *request, const char *argument)
{
	request->argv[request->argc++] = argument;
}

void request_add_strays(struct request *request)
{
	request->strays = request->argc;
	request_add(request, "0");
}

void lock_request(const struct lock_keys *keys, struct request *request,
		  const struct script *script)
{
	*request = (struct request){.script = script};
	request_add(request, keys->name);
	request_add(request, keys->queue);
	request_add(request, keys->timeouts);
	request_add(request, keys->state);
	request_add(request, keys->log);
	request_add(request, keys->channel);
}

void lock_channel(const struct lock_keys *keys, const char *id, char channel[CHANNEL_MAX_BYTES])
{
	snprintf(channel, CHANNEL_MAX_BYTES, "%s:%s", keys->channel, id);
}

static void demand_replicas(const struct lock *lock, struct request *request, const char *durable)
{
	request->replicas = lock->replicas;
	request->replicas_ms = lock->replicas_ms;
	request->durable = durable;
}

static const char *kind_word(const struct lock *lock)
{
	return lock->kind == LOCK_WRAP ? "w" : "a";
}

void lock_ask(struct lock *lock, struct request *request, bool try)
{
	lock_request(&lock->keys, request, &script_acquire);
	request_add(request, lock->id);
	request_add(request, lock->request);
	request_add(request, kind_word(lock));
	request_add(request, lock->lease);
	request_add(request, try ? "try" : "wait");
	request_add(request, lock->ticket);
	request->again = request->argc;
	request_add(request, "0");
	request_add(request, lock->limit);
	request_add(request, lock->by);
	request_add(request, lock->once_per);
	request_add_strays(request);
	if (lock->handable)
		owner_draw_secret(lock->secret);
	request_add(request, lock->secret);
	for (int i = 0; i < lock->inherited_count; i++)
		request_add(request, lock->inherited[i]);
	demand_replicas(lock, request, "granted");
}

void lock_renew(struct lock *lock, struct request *request)
{
	lock_request(&lock->keys, request, &script_renew);
	request_add(request, lock->owner);
	request_add(request, lock->request);
	request_add(request, kind_word(lock));
	request_add(request, lock->lease);
	request_add(request, lock->token);
	request_add(request, lock->by);
	request_add(request, lock->once_per);
	request_add_strays(request);
	demand_replicas(lock, request, "renewed");
}

void lock_release(struct lock *lock, struct request *request)
{
	lock_request(&lock->keys, request, &script_release);
	request_add(request, lock->owner);
	request_add(request, lock->request);
	request_add(request, lock->unused ? "unused" : "own");
	request_add(request, "");
	request->again = request->argc;
	request_add(request, "0");
	request_add(request, lock->min_hold);
	request_add_strays(request);
	request->tells = *lock->ticket != '\0'; /* where we have waited, others may wait */
}

void lock_leave(struct lock *lock, struct request *request)
{
	lock_request(&lock->keys, request, &script_leave);
	request_add(request, lock->id);
	request_add(request, lock->request);
	request_add_strays(request);
	request_add(request, "own");
}

static bool is_tagged(const struct redisReply *reply, const char *tag, size_t elements)
{
	return reply_count(reply) >= elements && strcmp(reply_text(reply, 0), tag) == 0;
}

int lock_refused(const struct redisReply *reply, struct error *err)
{
	if (is_tagged(reply, "spelled", 2))
		return fail(err, STATUS_USAGE,
			    "cannot use this name: it shares keys with %s, which is in use",
			    reply_text(reply, 1));
	if (is_tagged(reply, "version", 3))
		return fail(err, STATUS_CONFIG,
			    "cannot use this lock: fairlock with protocol version %lld uses it, "
			    "and this is version %lld",
			    reply_number(reply, 1), reply_number(reply, 2));
	return reply_nonsense(err);
}

/* Keeps a string of the reply; what does not fit makes no sense. */
static int keep(char *to, size_t size, const char *from)
{
	size_t length = strlen(from);

	if (length == 0 || length >= size)
		return -1;
	memcpy(to, from, length + 1);
	return 0;
}

/* Both are printed, and given to COMMAND. */
static int keep_grant(struct lock *lock, const char *owner, const char *token)
{
	bool is_ours = strcmp(owner, lock->id) == 0;

	for (int i = 0; i < lock->inherited_count; i++)
		is_ours |= strcmp(owner, lock->inherited[i]) == 0;
	if (!is_ours || token[strspn(token, DIGITS)] != '\0')
		return -1;
	return keep(lock->owner, sizeof(lock->owner), owner) < 0 ||
			       keep(lock->token, sizeof(lock->token), token) < 0
		       ? -1
		       : 0;
}

/* Whatever a server says, our clocks do not overflow, and we do not spin. */
static int64_t within(long long value, int64_t low, int64_t high)
{
	return value < low ? low : value > high ? high : value;
}

int lock_asked(struct lock *lock, const struct client *client, struct ask_reply *out,
	       struct error *err)
{
	const struct redisReply *reply = client->reply;

	*out = (struct ask_reply){.replicas = client->replicas};
	if (is_tagged(reply, "granted", 6)) {
		out->outcome = client->replicas < lock->replicas ? ASK_UNSAFE : ASK_GRANTED;
		lock->since_ms = client->sent_ms;
		lock->ttl_ms = within(reply_number(reply, 3), 0, TTL_MAX_MS);
		lock->deadline_ms = client->sent_ms + lock->ttl_ms;
		return keep_grant(lock, reply_text(reply, 1), reply_text(reply, 2)) < 0
			       ? reply_nonsense(err)
			       : 0;
	}
	if (is_tagged(reply, "queued", 6)) {
		out->outcome = ASK_QUEUED;
		lock->heard_ms = client->sent_ms;
		lock->server_ms = within(reply_number(reply, 5), 0, TTL_MAX_MS);
		out->ask_in_ms = within(reply_number(reply, 2), 1, TTL_MAX_MS);
		out->first = reply_number(reply, 3) == 1;
		out->ttl_ms = reply_number(reply, 4);
		return keep(lock->ticket, sizeof(lock->ticket), reply_text(reply, 1)) < 0
			       ? reply_nonsense(err)
			       : 0;
	}
	out->by = "";
	if (is_tagged(reply, "busy", 3)) {
		out->outcome = ASK_BUSY;
		out->by = reply_text(reply, 2);
	} else if (is_tagged(reply, "full", 2)) {
		out->outcome = ASK_FULL;
		out->waiters = reply_number(reply, 1);
	} else if (is_tagged(reply, "ran", 2)) {
		out->outcome = ASK_RAN;
		out->ran_ms = within(reply_number(reply, 1), 0, TTL_MAX_MS);
	} else if (is_tagged(reply, "removed", 1)) {
		out->outcome = ASK_REMOVED;
	} else {
		return lock_refused(reply, err);
	}
	return 0;
}

/* What a message says that hands the lock over. */
struct handing {
	char token[TOKEN_MAX_BYTES];
	char ttl_ms[TOKEN_MAX_BYTES];
	char at_ms[TOKEN_MAX_BYTES]; /* when, by the server's clock */
	char secret[SECRET_BYTES];
};

/* Takes a blank and one to size - 1 of these characters. Returns what follows, or NULL. */
static const char *take_word(const char *text, const char *characters, char *word, size_t size)
{
	const size_t length = *text == ' ' ? strspn(text + 1, characters) : 0;

	if (length == 0 || length >= size)
		return NULL;
	memcpy(word, text + 1, length);
	word[length] = '\0';
	return text + 1 + length;
}

/* The whole message has this form, or it is something else. */
static bool read_handing(struct handing *out, const char *text)
{
	if (strncmp(text, HANDED, strlen(HANDED)) != 0)
		return false;
	text += strlen(HANDED);
	return (text = take_word(text, DIGITS, out->token, sizeof(out->token))) &&
	       (text = take_word(text, DIGITS, out->ttl_ms, sizeof(out->ttl_ms))) &&
	       (text = take_word(text, DIGITS, out->at_ms, sizeof(out->at_ms))) &&
	       (text = take_word(text, SECRET_DIGITS, out->secret, sizeof(out->secret))) &&
	       *text == '\0';
}

/* How long this takes tells nothing of the secret. */
static bool is_secret(const struct lock *lock, const char *word)
{
	unsigned difference = strlen(word) != SECRET_BYTES - 1 || !*lock->secret;

	for (size_t i = 0; i < SECRET_BYTES - 1 && word[i]; i++)
		difference |= (unsigned char)(word[i] ^ lock->secret[i]);
	return difference == 0;
}

static bool is_own_channel(const struct lock *lock, const struct client *client)
{
	char channel[CHANNEL_MAX_BYTES];

	lock_channel(&lock->keys, lock->id, channel);
	return client->heard_on >= 0 && strcmp(client->channels[client->heard_on], channel) == 0;
}

/* When the server did something at_ms by its clock, by ours: not before what it had done for us
 * before. Returns -1 for what is still to come: then our clock stood still for a while, as that of
 * a virtual machine does, or the server's was set, and our clock cannot tell how old a message is.
 */
static int64_t ours_of(const struct lock *lock, int64_t at_ms)
{
	const int64_t since = at_ms - lock->server_ms;
	const int64_t waited = clock_ms() - lock->heard_ms;

	if (since > waited + CLOCKS_SLACK_MS + waited / CLOCKS_SLACK_PART)
		return -1;
	return lock->heard_ms + within(since, 0, waited);
}

bool lock_is_fresh(const struct lock *lock)
{
	return lock->deadline_ms - clock_ms() > lock->ttl_ms / 5 * 3;
}

bool lock_was_handed(struct lock *lock, const struct client *client)
{
	struct handing handing;
	int64_t ttl_ms, since_ms;

	if (!lock->handable || !is_own_channel(lock, client) ||
	    !read_handing(&handing, client->message) || !is_secret(lock, handing.secret))
		return false;
	ttl_ms = strtoll(handing.ttl_ms, NULL, 10);
	since_ms = ours_of(lock, strtoll(handing.at_ms, NULL, 10));
	/* one that was long under way may have been overtaken: the lock may be somebody else's */
	if (since_ms < 0 || ttl_ms == 0 || ttl_ms > lock->lease_ms ||
	    clock_ms() - since_ms > ttl_ms / HANDED_PART)
		return false;
	lock->since_ms = since_ms;
	lock->ttl_ms = ttl_ms;
	lock->deadline_ms = since_ms + ttl_ms;
	lock->handed = true;
	memcpy(lock->token, handing.token, sizeof(lock->token));
	memcpy(lock->owner, lock->id, sizeof(lock->owner));
	return true;
}

int lock_renewed(struct lock *lock, const struct client *client, struct renew_reply *out,
		 struct error *err)
{
	const struct redisReply *reply = client->reply;

	*out = (struct renew_reply){.why = "", .by = ""};
	if (is_tagged(reply, "renewed", 4)) {
		out->outcome = client->replicas < lock->replicas ? RENEW_UNSAFE : RENEWED;
		out->ttl_ms = within(reply_number(reply, 1), 0, TTL_MAX_MS);
		if (out->outcome == RENEWED) {
			lock->ttl_ms = out->ttl_ms;
			lock->deadline_ms = client->sent_ms + out->ttl_ms;
		}
	} else if (is_tagged(reply, "released", 1)) {
		out->outcome = RENEW_RELEASED;
	} else if (is_tagged(reply, "lost", 4)) {
		out->outcome = RENEW_LOST;
		out->why = reply_text(reply, 1);
		out->by = reply_text(reply, 3);
	} else {
		return lock_refused(reply, err);
	}
	return 0;
}

int lock_released(const struct redisReply *reply, struct release_reply *out, struct error *err)
{
	*out = (struct release_reply){.owner = reply_text(reply, 1), .by = reply_text(reply, 2)};
	if (is_tagged(reply, "released", 2))
		out->outcome = RELEASED;
	else if (is_tagged(reply, "kept", 2))
		out->outcome = RELEASE_KEPT;
	else if (is_tagged(reply, "forced", 3))
		out->outcome = RELEASE_FORCED;
	else if (is_tagged(reply, "free", 1))
		out->outcome = RELEASE_FREE;
	else if (is_tagged(reply, "not held", 3))
		out->outcome = RELEASE_NOT_HELD;
	else if (is_tagged(reply, "not acquired", 1))
		out->outcome = RELEASE_NOT_ACQUIRED;
	else
		return lock_refused(reply, err);
	return 0;
}
