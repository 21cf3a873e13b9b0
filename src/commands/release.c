/* fairlock release: gives back what acquire took, asks the holder to stop, or breaks a lock. */
#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "commands/owner_call.h"
#include "lock/lock_list.h"
#include "redis/reply.h"

/* Prints which process held the lock; by is "" if nobody knows. --stop may wait for long after
 * that, so the line leaves at once. */
static void say_whose(const struct lock *lock, const char *owner, const char *by)
{
	const char *name = lock->keys.shown;
	char holder[OWNER_SHOWN_BYTES], id[OWNER_MAX_BYTES];

	owner_show(holder, MESSAGE_CHARACTERS, by);
	snprintf(id, sizeof(id), "%s", owner);
	tame(holder);
	tame(id);
	if (*by)
		printf("lock %s was held by %s as %s\n", name, holder, id);
	else
		printf("lock %s was held by %s\n", name, id);
	fflush(stdout);
}

/* Writes which hold --owner or --slot means, as the script wants it. Returns text. */
static const char *only_hold(char text[OWNER_MAX_BYTES], const struct options *options)
{
	*text = '\0';
	if (options->slot)
		snprintf(text, OWNER_MAX_BYTES, "%c%s", MODE_SLOT, options->slot);
	else if (options->owner)
		snprintf(text, OWNER_MAX_BYTES, "%s", options->owner);
	return text;
}

/* ---- Giving back, breaking, forgetting ---- */

/* The reply lives in call->client. */
static int release_as(struct owner_call *call, const char *owner, enum release_outcome *outcome,
		      struct error *err)
{
	const struct options *options = call->invocation->options;
	const struct messenger *messenger = call->invocation->messenger;
	const char *name = call->lock.keys.shown;
	struct request request;
	char token[NUMBER_MAX_BYTES] = "", only[OWNER_MAX_BYTES];

	if (options->token >= 0)
		snprintf(token, sizeof(token), "%" PRId64, options->token);
	if (options->forget_run) {
		message_step(messenger, "forgetting the last run of lock %s", name);
		wire_intervene(&call->lock, &request, "forget", "", "");
	} else if (options->force) {
		message_step(messenger, "breaking lock %s", name);
		wire_intervene(&call->lock, &request, "force", token, only_hold(only, options));
	} else {
		message_step(messenger, "giving lock %s back as %s", name, owner);
		wire_release_as(&call->lock, &request, owner);
	}
	if (client_ask(&call->client, &request, NEVER_MS, err) < 0)
		return -1;
	return lock_read_release(call->client.reply, outcome, err);
}

static void say(const struct owner_call *call, enum release_outcome outcome)
{
	const struct redisReply *reply = call->client.reply;
	const struct lock *lock = &call->lock;
	const struct options *options = call->invocation->options;
	char ago[DURATION_MAX_BYTES];

	if (outcome == RELEASE_FREE)
		printf("lock %s %s\n", lock->keys.shown,
		       options->owner || options->slot ? "has no such hold" : "was free");
	else if (outcome == RELEASE_FORGOT && reply_number(reply, 1) < 0)
		printf("lock %s had no last start\n", lock->keys.shown);
	else if (outcome == RELEASE_FORGOT)
		printf("forgot the last start of lock %s, %s ago\n", lock->keys.shown,
		       duration_show(ago, reply_number(reply, 1)));
	else if (outcome != RELEASE_FORCED && **call->by_hand)
		say_whose(lock, *call->by_hand, call->by);
	for (size_t i = 1; outcome == RELEASE_FORCED && i + 1 < reply_count(reply); i += 2)
		say_whose(lock, reply_text(reply, i), reply_text(reply, i + 1));
}

static int report(const struct owner_call *call, enum release_outcome outcome, struct error *err)
{
	const struct options *options = call->invocation->options;
	const char *cause = outcome == RELEASE_NOT_ACQUIRED ? "wrap holds it until its command ends"
			    : options->force
				    ? "no holder has this token; see status -o +TOKEN"
				    : "this owner does not hold it now; see fairlock status";

	if (outcome == RELEASE_NOT_ACQUIRED || outcome == RELEASE_NOT_HELD)
		return fail(err, STATUS_NOT_HELD, "cannot release lock %s: %s",
			    call->lock.keys.shown, cause);
	if (!options->quiet)
		say(call, outcome);
	return 0;
}

static int release(struct owner_call *call, struct error *err)
{
	const int tries = call->needs_owner ? call->lock.inherited_count : 1;
	enum release_outcome outcome = RELEASE_NOT_HELD;
	char took[DURATION_MAX_BYTES];

	for (int i = 0; outcome == RELEASE_NOT_HELD && i < tries; i++)
		if (release_as(call, call->needs_owner ? call->lock.inherited[i] : "", &outcome,
			       err) < 0)
			return -1;
	if (report(call, outcome, err) < 0)
		return -1;
	message_step(call->invocation->messenger, "the server has answered after %s",
		     duration_show(took, clock_ms() - call->client.sent_ms));
	return 0;
}

/* ---- Asking to stop ----
 *
 * The end of a hold comes as a message, and nothing depends on that message: we look again by
 * ourselves when a lease ends, and as often as a waiter does. */

#define LOOK_MS 10500

/* "TOKEN LEASE MODE OWNER", as the script wants it again. */
#define HOLD_MAX_BYTES 1024

/* A hold that was asked. */
struct asked_hold {
	char text[HOLD_MAX_BYTES];
	char by[BY_MAX_BYTES];
	bool is_over;
};

struct stopping {
	struct owner_call *call;
	int64_t until_ms; /* of --wait */
	int64_t look_ms;  /* when to look again, whatever comes */
	struct pace pace; /* of looking, since any client that may publish can demand it */
	struct asked_hold *holds;
	size_t count;
	size_t left;                    /* so many are not over */
	char *list;                     /* these, for the script; NULL before the first look */
	const struct asked_hold *first; /* of these; or the first that cannot be asked ... */
	const char *why;                /* ... and why, or NULL */
};

static bool is_answer(const struct redisReply *reply)
{
	for (size_t i = 1; i < reply_count(reply); i++)
		if (!reply_fits(reply_at(reply, i), "siss"))
			return false;
	return strcmp(reply_text(reply, 0), "stops") == 0;
}

static const char *owner_of(const struct asked_hold *hold)
{
	const char *owner = hold->text;

	for (int blanks = 0; blanks < 3 && strchr(owner, ' '); blanks++)
		owner = strchr(owner, ' ') + 1;
	return owner;
}

/* Keeps the holds of the first answer. */
static int keep_holds(struct stopping *stopping, const struct redisReply *reply, struct error *err)
{
	const size_t count = reply_count(reply) - 1;

	stopping->holds = calloc(count + 1, sizeof(*stopping->holds));
	stopping->list = calloc(count + 1, HOLD_MAX_BYTES);
	if (!stopping->holds || !stopping->list)
		return fail(err, STATUS_OS, "cannot list the holders: out of memory");
	stopping->count = count;
	for (size_t i = 0; i < count; i++) {
		const struct redisReply *row = reply_at(reply, i + 1);
		struct asked_hold *hold = &stopping->holds[i];

		snprintf(hold->by, sizeof(hold->by), "%s", reply_text(row, 2));
		snprintf(hold->text, sizeof(hold->text), "%s", reply_text(row, 3));
	}
	return 0;
}

/* The hold is not over: whether it can be asked, and when to look at it. */
static void note_row(struct stopping *stopping, const struct asked_hold *hold,
		     const struct redisReply *row)
{
	const char *state = reply_text(row, 0);
	const long long ttl_ms = reply_number(row, 1);

	if (stopping->left++ == 0)
		stopping->first = hold;
	if (!stopping->why && (strcmp(state, "by hand") == 0 || strcmp(state, "alone") == 0)) {
		stopping->first = hold;
		stopping->why = *state == 'b'
					? "it is held by hand, and --force breaks that: "
					: "only the wrap that took it can be asked to stop, not ";
	}
	if (ttl_ms >= 0 && ttl_ms < LOOK_MS) /* the key is there until its last ms is over */
		stopping->look_ms =
			earliest(stopping->look_ms, stopping->call->client.sent_ms + ttl_ms + 1);
}

/* The answer has those that are not over, in the order in which they were listed. */
static void compare(struct stopping *stopping, const struct redisReply *reply)
{
	const struct owner_call *call = stopping->call;
	char *end = stopping->list;
	size_t next = 1;

	assert(stopping->holds);
	stopping->look_ms = clock_ms() + LOOK_MS;
	stopping->left = 0;
	stopping->why = NULL;
	*end = '\0';
	for (size_t i = 0; i < stopping->count; i++) {
		struct asked_hold *hold = &stopping->holds[i];
		const struct redisReply *row = reply_at(reply, next);

		if (hold->is_over)
			continue;
		hold->is_over = !row || strcmp(reply_text(row, 3), hold->text) != 0;
		next += !hold->is_over;
		hold->is_over |= strcmp(reply_text(row, 0), "kept") == 0;
		if (!hold->is_over) {
			note_row(stopping, hold, row);
			end = stpcpy(stpcpy(end, hold->text), "\n");
		} else if (!call->invocation->options->quiet) {
			say_whose(&call->lock, owner_of(hold), hold->by);
		}
	}
}

static int look(struct stopping *stopping, struct error *err)
{
	struct owner_call *call = stopping->call;
	const bool is_first = !stopping->list;
	struct request request;
	char only[OWNER_MAX_BYTES];
	int result;

	pace_take(&stopping->pace);
	wire_intervene(&call->lock, &request, "stop", "",
		       only_hold(only, call->invocation->options));
	wire_add(&request, is_first ? "" : stopping->list);
	result = is_first ? client_ask(&call->client, &request, NEVER_MS, err)
			  : client_call(&call->client, &request, stopping->until_ms, true, err);
	if (result < 0)
		return -1;
	if (!is_answer(call->client.reply))
		return lock_refused(call->client.reply, err);
	if (is_first && keep_holds(stopping, call->client.reply, err) < 0)
		return -1;
	compare(stopping, call->client.reply);
	message_step(call->invocation->messenger, "lock %s: holds that are not over: %zu of %zu",
		     call->lock.keys.shown, stopping->left, stopping->count);
	return 0;
}

/* Returns when there is a reason to look. */
static int doze(struct stopping *stopping, struct error *err)
{
	struct client *client = &stopping->call->client;
	int64_t wake = earliest(stopping->look_ms, stopping->until_ms);

	if (client_listen(client, wake, err) < 0)
		return -1;
	wake = earliest(pace_ms(&stopping->pace), stopping->until_ms);
	while (clock_ms() < wake)
		if (client_listen(client, wake, err) < 0)
			return -1;
	return 0;
}

/* Fails with "cannot release lock NAME: WORDS HOLDER and N others". */
static int give_up(const struct stopping *stopping, int64_t wait_ms, struct error *err)
{
	const struct asked_hold *hold = stopping->first;
	const size_t others = stopping->why ? 0 : stopping->left - 1;
	char holder[OWNER_SHOWN_BYTES], object[SHORT_MAX_BYTES + 8], cause[HOLD_MAX_BYTES + 128];
	char time[DURATION_MAX_BYTES], words[64] = "still held by ", more[40] = "";

	if (wait_ms > 0)
		snprintf(words, sizeof(words), "after %s it is still held by ",
			 duration_show_fraction(time, wait_ms));
	if (others > 0)
		snprintf(more, sizeof(more), " and %zu other%s", others, others == 1 ? "" : "s");
	snprintf(object, sizeof(object), "lock %s", stopping->call->lock.keys.shown);
	owner_show(holder, MESSAGE_CHARACTERS, hold->by);
	snprintf(cause, sizeof(cause), "%s%s%s", stopping->why ? stopping->why : words,
		 *hold->by ? holder : owner_of(hold), more);
	return fail_about(err, STATUS_NOT_OBTAINED, "release", object, cause);
}

static int ask_and_wait(struct stopping *stopping, struct error *err)
{
	const struct options *options = stopping->call->invocation->options;
	/* a default of --wait is for those who want the lock */
	const int64_t wait_ms =
		options_origin(options, "wait")->source == SOURCE_FLAG ? options->wait_ms : -1;

	stopping->until_ms = wait_ms >= 0 ? clock_ms() + wait_ms + 1 : NEVER_MS;
	message_step(stopping->call->invocation->messenger, "asking the holder of lock %s to stop",
		     stopping->call->lock.keys.shown);
	if (look(stopping, err) < 0)
		return -1;
	if (stopping->count == 0 && !options->quiet)
		say(stopping->call, RELEASE_FREE);
	while (stopping->left > 0) {
		if (stopping->why || wait_ms == 0 || clock_ms() >= stopping->until_ms)
			return give_up(stopping, wait_ms, err);
		if (doze(stopping, err) < 0)
			return -1;
		if (clock_ms() < stopping->until_ms && look(stopping, err) < 0)
			return -1;
	}
	return 0;
}

static int stop(struct owner_call *call, int *status, struct error *err)
{
	struct stopping stopping = {.call = call};
	char channel[CHANNEL_MAX_BYTES];
	int result;

	wire_channel(&call->lock.keys, call->lock.request, channel);
	client_subscribe(&call->client, channel);
	result = ask_and_wait(&stopping, err);
	free(stopping.holds);
	free(stopping.list);
	if (result == 0 || !call->invocation->options->quiet || err->status != STATUS_NOT_OBTAINED)
		return result;
	*status = STATUS_NOT_OBTAINED;
	return 0;
}

/* ---- The command ---- */

static int run_release(const struct invocation *invocation, int *status, struct error *err)
{
	const struct options *options = invocation->options;
	struct owner_call call;
	bool is_known = true;
	int result = 0;

	*status = STATUS_OK;
	if (owner_call_init(&call, invocation, "release", err) < 0)
		return -1;
	if (!call.needs_owner)
		result = lock_list_check(&call.client, &call.lock.keys, &is_known, err);
	if (result == 0 && is_known)
		result = options->stop ? stop(&call, status, err) : release(&call, err);
	else if (result == 0 && options->token >= 0) /* of a holder that there is not */
		result = report(&call, RELEASE_NOT_HELD, err);
	client_close(&call.client);
	return result;
}

const struct command release_command = {
	.name = "release",
	.operands = "NAME",
	.summary = "give the lock back, or take it from its holder",
	.examples = "  fairlock release --owner \"$owner\" deploy    acquire printed the ID\n"
		    "  fairlock release --stop --wait 1m deploy    ask its holder to stop\n"
		    "  fairlock release --force deploy             break the lock\n",
	.bit = COMMAND_RELEASE,
	.run = run_release,
};
