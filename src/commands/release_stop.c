/* The end of a hold comes as a message, and nothing depends on that message: we look again by
 * ourselves when a lease ends, and as often as a waiter does. */
#include "commands/release_stop.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/duration.h"
#include "base/message.h"
#include "cli/options.h"
#include "commands/release_words.h"
#include "lock/lock.h"
#include "lock/owner_call.h"
#include "redis/client_call.h"
#include "redis/reply.h"

/* As long as a waiter. */
#define LOOK_MS 10500

/* A hold that was asked. */
struct asked_hold {
	char *text; /* as the script wants it again: "TOKEN LEASE MODE OWNER" */
	char *by;
	bool is_there;
};

struct stopping {
	struct owner_call *call;
	int64_t until_ms; /* of --wait */
	int64_t look_ms;  /* when to look again, whatever comes */
	struct pace pace; /* of looking, since any client that may publish can demand it */
	struct asked_hold *holds;
	size_t count;
	size_t left;                    /* so many of them are there */
	const struct asked_hold *alone; /* one that cannot be asked, or NULL ... */
	bool is_by_hand;                /* ... since a person took it */
	char *list;                     /* of those that are there */
};

const char *release_only(char text[OWNER_MAX_BYTES], const struct options *options)
{
	*text = '\0';
	if (options->slot)
		snprintf(text, OWNER_MAX_BYTES, "%c%s", MODE_SLOT, options->slot);
	else if (options->owner)
		snprintf(text, OWNER_MAX_BYTES, "%s", options->owner);
	return text;
}

/* ---- The answer: {what, ttl, by, hold} for each hold ---- */

static const struct redisReply *row_at(const struct redisReply *reply, size_t row)
{
	return reply_at(reply, row + 1);
}

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

static int no_memory(struct error *err)
{
	return fail(err, STATUS_OS, "cannot list the holders: %s", strerror(ENOMEM));
}

/* Keeps the holds of the first answer. */
static int keep_holds(struct stopping *stopping, const struct redisReply *reply, struct error *err)
{
	const size_t rows = reply_count(reply) - 1;

	stopping->holds = calloc(rows + 1, sizeof(*stopping->holds));
	if (!stopping->holds)
		return no_memory(err);
	for (; stopping->count < rows; stopping->count++) {
		const struct redisReply *row = row_at(reply, stopping->count);
		struct asked_hold *hold = &stopping->holds[stopping->count];

		*hold = (struct asked_hold){.by = strdup(reply_text(row, 2)),
					    .text = strdup(reply_text(row, 3)),
					    .is_there = true};
		if (!hold->text || !hold->by)
			return no_memory(err);
	}
	return 0;
}

static void end_hold(const struct stopping *stopping, struct asked_hold *hold)
{
	if (hold->is_there && !stopping->call->invocation->options->quiet)
		release_say_whose(&stopping->call->lock, owner_of(hold), hold->by);
	hold->is_there = false;
}

/* One that is there: when to look at it. */
static void note_row(struct stopping *stopping, const struct asked_hold *hold,
		     const struct redisReply *row)
{
	const long long ttl_ms = reply_number(row, 1);

	stopping->left++;
	const bool is_by_hand = strcmp(reply_text(row, 0), "by hand") == 0;

	if ((is_by_hand || strcmp(reply_text(row, 0), "alone") == 0) && !stopping->alone) {
		stopping->alone = hold;
		stopping->is_by_hand = is_by_hand;
	}
	if (ttl_ms >= 0 && ttl_ms < LOOK_MS) /* the key is there until its last ms is over */
		stopping->look_ms =
			earliest(stopping->look_ms, stopping->call->client.sent_ms + ttl_ms + 1);
}

/* The answer has the holds that are not over, in the order in which they were listed. */
static void compare(struct stopping *stopping, const struct redisReply *reply)
{
	size_t next = 0;

	stopping->look_ms = clock_ms() + LOOK_MS;
	stopping->left = 0;
	stopping->alone = NULL;
	for (size_t i = 0; i < stopping->count; i++) {
		struct asked_hold *hold = &stopping->holds[i];
		const struct redisReply *row = row_at(reply, next);
		assert(hold->text);
		const bool is_told = row && strcmp(reply_text(row, 3), hold->text) == 0;

		next += is_told;
		if (!is_told || strcmp(reply_text(row, 0), "kept") == 0)
			end_hold(stopping, hold);
		else if (hold->is_there)
			note_row(stopping, hold, row);
	}
}

static int make_list(struct stopping *stopping, struct error *err)
{
	size_t size = 1;
	char *at;

	for (size_t i = 0; i < stopping->count; i++) {
		assert(stopping->holds[i].text);
		size += strlen(stopping->holds[i].text) + 1;
	}
	free(stopping->list);
	at = stopping->list = malloc(size);
	if (!at)
		return no_memory(err);
	*at = '\0';
	for (size_t i = 0; i < stopping->count; i++)
		if (stopping->holds[i].is_there)
			at = stpcpy(stpcpy(at, stopping->holds[i].text), "\n");
	return 0;
}

/* ---- Asking ---- */

static int look(struct stopping *stopping, bool is_first, struct error *err)
{
	struct owner_call *call = stopping->call;
	const struct options *options = call->invocation->options;
	struct request request;
	char only[OWNER_MAX_BYTES];
	int result;

	pace_take(&stopping->pace);
	wire_stop(&call->lock, &request, release_only(only, options),
		  is_first ? "" : stopping->list);
	result = is_first ? owner_call_make(call, &request, err)
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
	return make_list(stopping, err);
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

/* ---- Outcomes ---- */

/* Fails with "cannot release lock NAME: WORDS HOLDER and N others". */
static int fail_for(const struct stopping *stopping, const char *words,
		    const struct asked_hold *hold, size_t others, struct error *err)
{
	const char *name = stopping->call->lock.keys.shown;
	char holder[OWNER_SHOWN_BYTES], cut[OWNER_SHOWN_BYTES], behind[40] = "";
	size_t taken = strlen("cannot release lock : ") + count_characters(name) + strlen(words);

	if (others > 0)
		snprintf(behind, sizeof(behind), " and %zu other%s", others,
			 others == 1 ? "" : "s");
	taken += strlen(behind);
	if (*hold->by)
		owner_show(holder, MESSAGE_CHARACTERS - taken, hold->by);
	return fail(
		err, STATUS_NOT_OBTAINED, "cannot release lock %s: %s%s%s", name, words,
		shorten_to(cut, MESSAGE_CHARACTERS - taken, *hold->by ? holder : owner_of(hold)),
		behind);
}

static int time_is_over(const struct stopping *stopping, int64_t wait_ms, struct error *err)
{
	const struct asked_hold *hold = stopping->holds;
	char time[DURATION_MAX_BYTES], words[64] = "still held by ";

	while (!hold->is_there)
		hold++;
	if (wait_ms > 0)
		snprintf(words, sizeof(words), "after %s it is still held by ",
			 duration_show_fraction(time, wait_ms));
	return fail_for(stopping, words, hold, stopping->left - 1, err);
}

/* A default of --wait is for those who want the lock. */
static int64_t wait_of(const struct options *options)
{
	const struct origin *origin = options_origin(options, option_named("wait"));

	return origin->source == SOURCE_FLAG ? options->wait_ms : -1;
}

static int ask_and_wait(struct stopping *stopping, struct error *err)
{
	const struct options *options = stopping->call->invocation->options;
	const int64_t wait_ms = wait_of(options);

	stopping->until_ms = wait_ms >= 0 ? clock_ms() + wait_ms + 1 : NEVER_MS;
	message_step(stopping->call->invocation->messenger, "asking the holder of lock %s to stop",
		     stopping->call->lock.keys.shown);
	if (look(stopping, true, err) < 0)
		return -1;
	if (stopping->count == 0 && !options->quiet)
		release_say_free(&stopping->call->lock);
	while (stopping->left > 0) {
		if (stopping->alone)
			return fail_for(
				stopping,
				stopping->is_by_hand
					? "it is held by hand, and --force breaks that: "
					: "only the wrap that took it can be asked to stop, not ",
				stopping->alone, 0, err);
		if (wait_ms == 0 || clock_ms() >= stopping->until_ms)
			return time_is_over(stopping, wait_ms, err);
		if (doze(stopping, err) < 0)
			return -1;
		if (clock_ms() < stopping->until_ms && look(stopping, false, err) < 0)
			return -1;
	}
	return 0;
}

int release_stop(struct owner_call *call, int *status, struct error *err)
{
	struct stopping stopping = {.call = call};
	char channel[CHANNEL_MAX_BYTES];
	int result;

	wire_channel(&call->lock.keys, call->lock.request, channel);
	client_subscribe(&call->client, channel);
	result = ask_and_wait(&stopping, err);
	for (size_t i = 0; i < stopping.count; i++) {
		free(stopping.holds[i].text);
		free(stopping.holds[i].by);
	}
	free(stopping.holds);
	free(stopping.list);
	*status = STATUS_OK;
	if (result == 0 || !call->invocation->options->quiet || err->status != STATUS_NOT_OBTAINED)
		return result;
	*status = STATUS_NOT_OBTAINED;
	return 0;
}
