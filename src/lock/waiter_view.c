/* The request tells the last view's token, so that the usual times of one hold come only once. */
#include "lock/waiter_view.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "lock/wire.h"
#include "redis/reply.h"

#define WAITERS_MAX 100000000

void waiter_view_ask(const struct waiter_view *view, const struct lock *lock,
		     struct request *request)
{
	wire_look(&lock->keys, request, "view");
	wire_add(request, lock->request, view->token);
}

static int64_t number_at(const struct redisReply *list, size_t index, int64_t most)
{
	const long long value = reply_number(list, index);

	return value < 0 ? 0 : value > most ? most : value;
}

static struct usual usual_at(const struct redisReply *list, size_t index)
{
	return (struct usual){.count = number_at(list, index, WAITERS_MAX),
			      .ms = number_at(list, index + 1, HELD_MAX_MS)};
}

void waiter_view_read(struct waiter_view *view, const struct client *client)
{
	const struct redisReply *reply = client->reply, *usual;
	const char *token;

	if (reply_count(reply) < 12 || strcmp(reply_text(reply, 0), "view") != 0)
		return;
	view->is_known = true;
	view->at_ms = client->sent_ms;
	view->place = number_at(reply, 1, WAITERS_MAX);
	view->waiters = number_at(reply, 2, WAITERS_MAX);
	snprintf(view->owner, sizeof(view->owner), "%s", reply_text(reply, 5));
	snprintf(view->by, sizeof(view->by), "%s", reply_text(reply, 6));
	view->held_ms = holder_held_ms(reply_number(reply, 7));
	view->mode = *reply_text(reply, 8);
	view->slots = mode_slots(reply_text(reply, 8));
	view->holders = number_at(reply, 9, HOLDERS_MAX);
	view->by_hand = strcmp(reply_text(reply, 11), "1") == 0;
	view->next_ms = reply_number(reply, 10) < 0 ? -1 : number_at(reply, 10, HELD_MAX_MS);
	token = reply_text(reply, 3);
	usual = reply_at(reply, 4);
	if (reply_count(usual) >= 4 || strcmp(token, view->token) != 0) {
		view->of_job = usual_at(usual, 0);
		view->of_all = usual_at(usual, 2);
	}
	snprintf(view->token, sizeof(view->token), "%s", token);
}

int64_t waiter_view_held_ms(const struct waiter_view *view)
{
	return view->held_ms < 0 ? view->held_ms : view->held_ms + clock_ms() - view->at_ms;
}

/* A lease that has ended meanwhile was renewed, or the next answer knows. */
static int64_t next_end_ms(const struct waiter_view *view)
{
	const int64_t left_ms = view->next_ms - (clock_ms() - view->at_ms);

	return view->next_ms < 0 || left_ms < 0 ? -1 : left_ms;
}

struct holder waiter_view_holder(const struct waiter_view *view, const struct lock *lock)
{
	return (struct holder){.owner = view->owner,
			       .by = view->by,
			       .held_ms = waiter_view_held_ms(view),
			       .mode = view->mode,
			       .count = view->holders,
			       .slots = view->slots,
			       .next_ms = next_end_ms(view),
			       .by_hand = view->by_hand,
			       .want = lock->want,
			       .is_last = view->place > 1};
}
