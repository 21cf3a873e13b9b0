/* One lock: its keys, the requests about it as the scripts in lua/ want their arguments, and the
 * replies. Believes no reply: a number is brought within bounds, and a text that does not fit is
 * refused. */
#include "lock/lock.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/text.h"
#include "cli/options.h"
#include "redis/reply.h"
#include "redis/script.h"

/* Our leases last 30 days at most, but a Redisson client may hold the lock. */
#define TTL_MAX_MS (INT64_C(1) << 50)

/* Stands before the period of --once-ok in requests. */
#define ONCE_OK "ok"

/* ---- Keys: Redisson's, and ours beside them, all in the slot of NAME in a cluster ---- */

static const struct {
	const char *prefix;
	size_t at; /* where struct lock_keys has the key */
} derived[] = {
	{"redisson_lock_queue:", offsetof(struct lock_keys, queue)},
	{"redisson_lock_timeout:", offsetof(struct lock_keys, timeouts)},
	{"fairlock:", offsetof(struct lock_keys, state)},
	{"fairlock_log:", offsetof(struct lock_keys, log)},
	{"fairlock_queue:", offsetof(struct lock_keys, ours)},
	{"fairlock_holders:", offsetof(struct lock_keys, holders)},
	{"fairlock_done:", offsetof(struct lock_keys, done)},
	{"redisson_lock__channel:", offsetof(struct lock_keys, channel)},
};

#define DERIVED (sizeof(derived) / sizeof(derived[0]))

static bool is_blank(uint32_t code)
{
	return code == ' ' || code == 0x1680 || (code >= 0x2000 && code <= 0x200a) ||
	       code == 0x205f || code == 0x3000;
}

/* Characters that are not harmful in other text: with them two names look alike. Most of them are
 * what Unicode calls default-ignorable, such as variation selectors and fillers. */
static bool is_invisible(uint32_t code)
{
	static const uint32_t ranges[][2] = {
		{0x34f, 0x34f},   {0x115f, 0x1160},   {0x17b4, 0x17b5},   {0x180b, 0x180f},
		{0x2800, 0x2800}, {0x3164, 0x3164},   {0xfe00, 0xfe0f},   {0xffa0, 0xffa0},
		{0xfff0, 0xfff8}, {0x1bca0, 0x1bca3}, {0x1d173, 0x1d17a}, {0xe0080, 0xe0fff},
	};

	for (size_t i = 0; i < sizeof(ranges) / sizeof(ranges[0]); i++)
		if (code >= ranges[i][0] && code <= ranges[i][1])
			return true;
	return utf8_is_harmful(code);
}

/* Why a NAME must not have this character; NULL: it may. */
static const char *fault_of(uint32_t code, bool is_first)
{
	const bool is_dash = (code >= 0x2010 && code <= 0x2015) || code == 0x2212;

	if (utf8_is_control(code))
		return "a control character";
	if (code == 0xa0 || code == 0x2007 || code == 0x2011 || code == 0x202f)
		return "a no-break character";
	if (is_invisible(code))
		return "which cannot be seen";
	return is_first && is_dash ? "a dash that is not '-'" : NULL;
}

/* A NAME that looks like an option, or like another NAME, is a mistake: that lock excludes nobody.
 */
static int check_text(const char *name, struct error *err)
{
	uint32_t code = 0;
	size_t length;

	for (const char *at = name; *at != '\0'; at += length) {
		const ptrdiff_t byte = at - name + 1;
		const char *fault;

		length = utf8_decode(at, &code);
		if (length == 0)
			return fail(err, STATUS_USAGE,
				    "cannot use NAME: byte %td is not valid UTF-8", byte);
		fault = fault_of(code, at == name);
		if (fault)
			return fail(err, STATUS_USAGE, "cannot use NAME: byte %td is U+%04X, %s",
				    byte, code, fault);
		if (is_blank(code) && (at == name || at[length] == '\0'))
			return fail(err, STATUS_USAGE, "cannot use NAME: it %s with a blank",
				    at == name ? "begins" : "ends");
	}
	return 0;
}

/* A cluster hashes the text between the first { and the next }, or the whole key if that is empty.
 * Whether it is the same in NAME and in the other keys, which have NAME behind a prefix, in braces
 * if it has no {. */
static bool braces_agree(const char *name)
{
	const char *open = strchr(name, '{');
	const char *close = strchr(open ? open : name, '}');

	return open ? close && close > open + 1 : !close;
}

int lock_keys_make(struct lock_keys *keys, const char *name, struct error *err)
{
	const bool braces = strchr(name, '{') == NULL;
	const size_t length = strlen(name);

	if (length == 0)
		return fail(err, STATUS_USAGE, "cannot use NAME: it is empty");
	if (length > NAME_MAX_BYTES)
		return fail(err, STATUS_USAGE, "cannot use NAME: it is longer than %d bytes",
			    NAME_MAX_BYTES);
	if (check_text(name, err) < 0)
		return -1;
	memcpy(keys->name, name, length + 1);
	shorten(keys->shown, name);
	for (size_t i = 0; i < DERIVED; i++) {
		const char *prefix = derived[i].prefix;

		if (strncmp(name, prefix, strlen(prefix)) == 0)
			return fail(err, STATUS_USAGE,
				    "cannot use NAME: names that begin with '%s' are reserved",
				    prefix);
		snprintf((char *)keys + derived[i].at, KEY_MAX_BYTES, "%s%s%s%s", prefix,
			 braces ? "{" : "", name, braces ? "}" : "");
	}
	if (!braces_agree(name))
		return fail(
			err, STATUS_USAGE,
			"cannot use NAME: its braces would put its keys on different nodes of a cluster");
	return 0;
}

/* ---- State ---- */

/* The longest list of slots is long, and most processes want none: so it has static memory. */
static const char *make_want(const char *slots, bool shared)
{
	static char text[SLOTS_MOST * SLOT_MAX_BYTES + 1];

	if (!slots)
		return shared ? MODE_SHARED : MODE_EXCLUSIVE;
	snprintf(text, sizeof(text), "%c%s", slots_are_counted(slots) ? '#' : MODE_SLOT, slots);
	return text;
}

/* Writes nothing if the number is below the least. */
static void put_number(char text[NUMBER_MAX_BYTES], int64_t number, int64_t least)
{
	if (number >= least)
		snprintf(text, NUMBER_MAX_BYTES, "%" PRId64, number);
}

int lock_init(struct lock *lock, const char *name, enum lock_kind kind,
	      const struct options *options, char *const *words, struct error *err)
{
	char shown[SHORT_MAX_BYTES];

	memset(lock, 0, sizeof(*lock));
	if (lock_keys_make(&lock->keys, name, err) < 0 ||
	    owner_new(lock->id, kind <= LOCK_WRAP_EARLY, err) < 0)
		return -1;
	memcpy(lock->request, lock->id, sizeof(lock->request));
	lock->options = options;
	lock->kind = kind;
	lock->lease_ms = options->lease_ms ? options->lease_ms : DEFAULT_LEASE_MS;
	lock->inherited_count = owner_inherited(&lock->inherited);
	if (lock->inherited_count == HELD_MAX)
		return fail(err, STATUS_USAGE,
			    "cannot take lock %s: this process is inside %d locks already",
			    lock->keys.shown, HELD_MAX);
	owner_describe(lock->by, options->while_pid ? options->while_pid : getpid(), words,
		       options->reason);
	strcpy(lock->mode, MODE_EXCLUSIVE);
	lock->wish.mode = make_want(options->slots, options->shared);
	put_number(lock->wish.lease, lock->lease_ms, 0);
	put_number(lock->wish.limit, options->max_queue, 0);
	put_number(lock->wish.period, options->once_per_ms, 1);
	if (options->once_ok_ms)
		snprintf(lock->wish.period, sizeof(lock->wish.period), ONCE_OK "%" PRId64,
			 options->once_ok_ms);
	put_number(lock->end.min_hold, options->min_hold_ms, 1);
	if (!options->owner)
		return 0;
	if (!owner_is_valid(options->owner))
		return fail(err, STATUS_USAGE,
			    "cannot act as owner '%s': this is no id; acquire prints the id",
			    shorten(shown, options->owner));
	snprintf(lock->id, sizeof(lock->id), "%s", options->owner);
	lock->inherited = &lock->id;
	lock->inherited_count = 1;
	return 0;
}

const char *lock_slot(const struct lock *lock)
{
	return lock->mode[0] == MODE_SLOT ? lock->mode + 1 : NULL;
}

/* ---- Requests ---- */

void wire_add_all(struct request *request, ...)
{
	const char *argument;
	va_list arguments;

	va_start(arguments, request);
	while ((argument = va_arg(arguments, const char *)))
		request->argv[request->argc++] = argument;
	va_end(arguments);
}

/* How many requests the client has left under way: every script that changes something uses it, so
 * that a late copy of a request changes nothing. */
static void add_strays(struct request *request)
{
	request->strays = request->argc;
	wire_add(request, "0");
}

/* mode: of the hold that the request is about, or the want of the process. A request about a shared
 * hold or a slot declares the seventh key, too; lua/parts/base.lua says why others do not. */
static void begin(const struct lock_keys *keys, struct request *request,
		  const struct script *script, const char *mode)
{
	*request = (struct request){.script = script};
	wire_add(request, keys->name, keys->queue, keys->timeouts, keys->state, keys->log,
		 keys->ours);
	if (strcmp(mode, MODE_EXCLUSIVE) != 0)
		wire_add(request, keys->holders);
	request->keys = request->argc;
	wire_add(request, keys->channel);
}

void wire_look(const struct lock_keys *keys, struct request *request, const char *what)
{
	begin(keys, request, &script_look, MODE_EXCLUSIVE);
	wire_add(request, what);
}

void wire_channel(const struct lock_keys *keys, const char *id, char channel[CHANNEL_MAX_BYTES])
{
	snprintf(channel, CHANNEL_MAX_BYTES, "%s:%s", keys->channel, id);
}

static void demand_replicas(const struct lock *lock, struct request *request, const char *durable)
{
	request->replicas = lock->options->replicas;
	request->replicas_ms = earliest(lock->options->connect_timeout_ms, lock->lease_ms / 3);
	request->durable = durable;
}

static const char *kind_word(const struct lock *lock)
{
	static const char words[][2] = {[LOCK_WRAP] = "w",
					[LOCK_WRAP_EARLY] = "v",
					[LOCK_ACQUIRE] = "a",
					[LOCK_BY_HAND] = "h"};

	return words[lock->starts ? LOCK_WRAP : lock->kind];
}

static void add_inherited(const struct lock *lock, struct request *request)
{
	for (int i = 0; i < lock->inherited_count; i++)
		wire_add(request, lock->inherited[i]);
}

void wire_ask(struct lock *lock, struct request *request, bool try)
{
	begin(&lock->keys, request, &script_acquire, lock->wish.mode);
	wire_add(request, lock->id, lock->request, kind_word(lock), lock->wish.lease,
		 try ? "try" : "wait", lock->place.ticket);
	request->again = request->argc;
	wire_add(request, "0");
	wire_add(request, lock->wish.limit, lock->by, lock->wish.period);
	add_strays(request);
	owner_draw_secret(lock->place.secret);
	wire_add(request, lock->place.secret, lock->wish.mode);
	if (lock->options->supersede && !*lock->place.newest) {
		request->age = request->argc;
		request->since_ms = lock->place.wanted_ms;
	}
	wire_add(request, lock->place.newest);
	add_inherited(lock, request);
	demand_replicas(lock, request, "granted");
}

void wire_renew(const struct lock *lock, struct request *request)
{
	begin(&lock->keys, request, &script_renew, lock->mode);
	wire_add(request, lock->owner, lock->request, kind_word(lock), lock->wish.lease,
		 lock->token, lock->by, lock->wish.period);
	add_strays(request);
	wire_add(request, lock->mode);
	if (*lock->wish.mode == '#')
		wire_add(request, lock->starts ? "1" : "", lock->wish.mode);
	else if (lock->starts)
		wire_add(request, "1");
	demand_replicas(lock, request, "renewed");
}

void wire_renew_as(const struct lock *lock, struct request *request, const char *owner)
{
	begin(&lock->keys, request, &script_renew, MODE_EXCLUSIVE);
	wire_add(request, owner, lock->request, "", lock->options->lease_ms ? lock->wish.lease : "",
		 "", "", "");
	add_strays(request);
}

static void put_release(const struct lock *lock, struct request *request, const char *owner,
			const char *mode, const char *token, const char *min_hold, const char *only)
{
	begin(&lock->keys, request, &script_release, lock->mode);
	wire_add(request, owner, lock->request, mode, token);
	request->again = request->argc;
	wire_add(request, "0");
	wire_add(request, min_hold);
	add_strays(request);
	wire_add(request, lock->end.status, lock->end.cause, only);
}

void wire_release(const struct lock *lock, struct request *request)
{
	put_release(lock, request, lock->owner, lock->end.unused ? "unused" : "own", "",
		    lock->end.min_hold, "");
	request->tells = *lock->place.ticket != '\0'; /* where we have waited, others may wait */
}

void wire_release_as(const struct lock *lock, struct request *request, const char *owner)
{
	put_release(lock, request, owner, "any", "", "", "");
}

void wire_intervene(const struct lock *lock, struct request *request, const char *what,
		    const char *token, const char *only)
{
	put_release(lock, request, "", what, token, "", only);
	wire_add(request, lock->by);
}

static void put_leave(struct request *request, const char *id, const char *own_id, const char *mode)
{
	wire_add(request, id, own_id);
	add_strays(request);
	wire_add(request, mode);
}

void wire_leave(const struct lock *lock, struct request *request)
{
	begin(&lock->keys, request, &script_leave, lock->wish.mode);
	put_leave(request, lock->id, lock->request, "own");
	add_inherited(lock, request);
}

void wire_remove(const struct lock_keys *keys, struct request *request, const char *id,
		 const char *own_id, const char *by)
{
	begin(keys, request, &script_leave, MODE_EXCLUSIVE);
	put_leave(request, id, own_id, "remove");
	wire_add(request, by);
}

/* ---- Replies ---- */

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
	const size_t length = strlen(from);

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

/* Whatever a server says, our sums do not overflow, and we do not spin. */
static int64_t within(long long value, int64_t low, int64_t high)
{
	return value < low ? low : value > high ? high : value;
}

bool lock_inherits(const struct lock *lock, const char *owner)
{
	for (int i = 0; i < lock->inherited_count; i++)
		if (strcmp(lock->inherited[i], owner) == 0)
			return true;
	return false;
}

/* granted OWNER TOKEN MS WAITED HOLDS MODE */
static int read_grant(struct lock *lock, const struct client *client, struct ask_reply *out)
{
	const char *owner = reply_text(client->reply, 1);
	const bool is_ours = strcmp(owner, lock->id) == 0 || lock_inherits(lock, owner);

	if (client->replicas < lock->options->replicas)
		out->outcome = ASK_UNSAFE;
	lock->since_ms = client->sent_ms;
	lock->ttl_ms = within(reply_number(client->reply, 3), 0, TTL_MAX_MS);
	lock->deadline_ms = client->sent_ms + lock->ttl_ms;
	if (!is_ours || copy_text(lock->owner, sizeof(lock->owner), owner) < 0 ||
	    copy_text(lock->mode, sizeof(lock->mode), reply_text(client->reply, 6)) < 0)
		return -1;
	return copy_token(lock, reply_text(client->reply, 2));
}

/* queued TICKET MS FIRST TTL NOW MARKER */
static int read_place(struct lock *lock, const struct client *client, struct ask_reply *out)
{
	struct lock_place *place = &lock->place;

	place->asked_ms = client->sent_ms;
	place->heard_ms = clock_ms();
	place->server_ms = within(reply_number(client->reply, 5), 0, TTL_MAX_MS);
	out->ask_in_ms = within(reply_number(client->reply, 2), 1, TTL_MAX_MS);
	out->first = reply_number(client->reply, 3) == 1;
	out->ttl_ms = reply_number(client->reply, 4);
	out->marker = reply_text(client->reply, 6);
	if (strlen(out->marker) >= TOKEN_MAX_BYTES || out->marker[strspn(out->marker, DIGITS)])
		return -1;
	if (lock->options->supersede && !*place->ticket)
		put_number(place->newest, place->server_ms - (client->sent_ms - place->wanted_ms),
			   1);
	return copy_text(place->ticket, sizeof(place->ticket), reply_text(client->reply, 1));
}

/* OWNER BY HELD MODE COUNT NEXT HAND */
struct holder lock_read_holder(const struct lock *lock, const struct redisReply *reply, size_t at)
{
	const char *mode = reply_text(reply, at + 3);
	int64_t slots = 0;

	if (reply_count(reply) < at + 7)
		return (struct holder){.owner = "",
				       .by = "",
				       .held_ms = -1,
				       .next_ms = -1,
				       .want = lock->wish.mode};
	/* a script says =N where holders take one of N slots */
	if (sscanf(mode, "=%4" SCNd64, &slots) != 1 || slots < 0)
		slots = 0;
	return (struct holder){
		.owner = reply_text(reply, at),
		.by = reply_text(reply, at + 1),
		.held_ms = within(reply_number(reply, at + 2), -TIMESTAMP_LAST_MS, TTL_MAX_MS),
		.mode = *mode,
		.slots = slots,
		.count = reply_number(reply, at + 4),
		.next_ms = within(reply_number(reply, at + 5), -1, TTL_MAX_MS),
		.by_hand = strcmp(reply_text(reply, at + 6), "1") == 0,
		.want = lock->wish.mode,
	};
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
		{"granted", 7, ASK_GRANTED, 7}, /* no holder behind it */
		{"queued", 7, ASK_QUEUED, 7},
		{"busy", 3, ASK_BUSY, 1},
		{"full", 2, ASK_FULL, 2},
		{"ran", 2, ASK_RAN, 2},
		{"removed", 1, ASK_REMOVED, 1},
		{"forced", 1, ASK_FORCED, 1},
		{"other", 2, ASK_MISFIT, 2},
		{"ran ok", 2, ASK_RAN_OK, 2},
		{"superseded", 2, ASK_SUPERSEDED, 2},
	};
	const struct redisReply *reply = client->reply;

	for (size_t i = 0; i < sizeof(answers) / sizeof(answers[0]); i++) {
		if (!is_tagged(reply, answers[i].tag, answers[i].elements))
			continue;
		*out = (struct ask_reply){.outcome = answers[i].outcome,
					  .number = within(reply_number(reply, 1), 0, TTL_MAX_MS),
					  .word = reply_text(reply, 1),
					  .holder =
						  lock_read_holder(lock, reply, answers[i].holder)};
		out->holder.is_last = out->outcome != ASK_RAN;
		if ((out->outcome == ASK_GRANTED && read_grant(lock, client, out) < 0) ||
		    (out->outcome == ASK_QUEUED && read_place(lock, client, out) < 0) ||
		    (out->outcome == ASK_RAN_OK && !lock->options->once_ok_ms))
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
	return client->replicas < lock->options->replicas ? RENEW_UNSAFE : RENEWED;
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
	static const struct {
		const char *tag;
		size_t elements;
	} answers[] = {
		[RELEASED] = {"released", 2},
		[RELEASE_KEPT] = {"kept", 2},
		[RELEASE_FORCED] = {"forced", 3},
		[RELEASE_FREE] = {"free", 1},
		[RELEASE_FORGOT] = {"forgot", 2},
		[RELEASE_NOT_HELD] = {"not held", 3},
		[RELEASE_NOT_ACQUIRED] = {"not acquired", 1},
	};

	for (size_t i = 0; i < sizeof(answers) / sizeof(answers[0]); i++)
		if (is_tagged(reply, answers[i].tag, answers[i].elements)) {
			*outcome = (enum release_outcome)i;
			return 0;
		}
	return lock_refused(reply, err);
}

/* ---- Grants by message ---- */

/* At most this part of the time to live may have passed when the waiter hears the message. */
#define HANDED_PART 10

/* While two clocks count the same time they differ by at most this much, and this part of it. The
 * server's may run 8 % fast: then this part of what it counts has not passed. */
#define CLOCKS_SLACK_MS 20
#define CLOCKS_SLACK_PART 1000
#define CLOCK_FAST_PART 13

/* Converts a time of the server's clock to ours. Returns -1 if it may not have come by ours yet.
 * Then ours stood still for a while, as that of a virtual machine does, or the server's was set: we
 * cannot tell how old the message is. */
static int64_t ours_of(const struct lock_place *place, int64_t at_ms)
{
	const int64_t since = at_ms > place->server_ms ? at_ms - place->server_ms : 0;
	const int64_t now = clock_ms(), waited = now - place->heard_ms;

	if (since > waited + CLOCKS_SLACK_MS + waited / CLOCKS_SLACK_PART)
		return -1;
	return earliest(place->asked_ms + since, now);
}

/* granted TOKEN MS NOW SECRET, and SLOT behind it if there is one, in exactly this form. Such a
 * message saves the waiter a request, which with --replicas, and for acquire, must be made all the
 * same. Any client that may publish can send one, so a real one repeats the secret of the waiter's
 * last request. */
bool handover_accept(struct lock *lock, const struct client *client)
{
	const bool wants_slot = want_is_slot(lock->wish.mode);
	char token[TOKEN_MAX_BYTES], ttl[TOKEN_MAX_BYTES], at[TOKEN_MAX_BYTES];
	char slot[SLOT_MAX_BYTES] = "", form[MESSAGE_MAX_BYTES];
	char channel[CHANNEL_MAX_BYTES];
	int64_t ttl_ms, since_ms, least_ms;
	bool is_own_channel;

	wire_channel(&lock->keys, lock->request, channel);
	is_own_channel =
		client->heard_on >= 0 && strcmp(client->channels[client->heard_on], channel) == 0;
	if (lock->options->replicas > 0 || lock->kind > LOCK_WRAP_EARLY || !is_own_channel ||
	    !*lock->place.secret ||
	    sscanf(client->message, "granted %16[0-9] %16[0-9] %16[0-9] %*s %64[^ ]", token, ttl,
		   at, slot) != (wants_slot ? 4 : 3))
		return false;
	snprintf(form, sizeof(form), "granted %s %s %s %s%s%s", token, ttl, at, lock->place.secret,
		 wants_slot ? " " : "", slot);
	if (strcmp(client->message, form) != 0)
		return false;
	ttl_ms = strtoll(ttl, NULL, 10);
	since_ms = ours_of(&lock->place, strtoll(at, NULL, 10));
	least_ms = since_ms - (since_ms - lock->place.asked_ms) / CLOCK_FAST_PART;
	/* a message that was long under way may be out of date: another owner may hold the lock */
	if (since_ms < 0 || ttl_ms == 0 || ttl_ms > lock->lease_ms ||
	    clock_ms() - least_ms > ttl_ms / HANDED_PART)
		return false;
	lock->since_ms = since_ms;
	lock->ttl_ms = ttl_ms;
	lock->deadline_ms = least_ms + ttl_ms;
	lock->handed = true;
	strcpy(lock->token, token);
	strcpy(lock->owner, lock->id);
	if (wants_slot)
		snprintf(lock->mode, sizeof(lock->mode), "%c%s", MODE_SLOT, slot);
	else
		snprintf(lock->mode, sizeof(lock->mode), "%s", lock->wish.mode);
	return true;
}
