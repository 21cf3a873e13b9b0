/* Tests lock_read_renewal: a hold that was taken up again counts only until the lease has ended,
 * and before COMMAND starts its new token is taken over. And handover_accept, with a fast server.
 */
#include <hiredis/hiredis.h>
#include <string.h>

#include "base/clock.h"
#include "check.h"
#include "cli/options.h"
#include "lock/lock.h"

#define RENEWED_BY "*5\r\n$7\r\nrenewed\r\n:30000\r\n$13\r\n1764000000000\r\n"
#define NOBODY_ASKS "$0\r\n\r\n"
#define NONSENSE "*5\r\n$7\r\nrenewed\r\n:30000\r\n$4\r\n12;x\r\n:1\r\n" NOBODY_ASKS

/* Sets the client's reply to what these bytes say, and reads it as that to a renewal. */
static void read_bytes(struct tally *tally, struct lock *lock, struct client *client,
		       const char *bytes, struct renew_reply *reply)
{
	struct error err;
	redisReader *reader = redisReaderCreate();
	void *parsed = NULL;

	redisReaderFeed(reader, bytes, strlen(bytes));
	CHECK(tally, redisReaderGetReply(reader, &parsed) == REDIS_OK && parsed);
	client->reply = parsed;
	CHECK(tally, lock_read_renewal(lock, client, reply, &err) == 0);
	reply->why = reply->by = NULL;
	client->reply = NULL;
	freeReplyObject(parsed);
	redisReaderFree(reader);
}

static const struct options no_replica, one_replica = {.replicas = 1};

/* replicas: so many have confirmed it, of one that must. */
static void check_outcome(struct tally *tally, const char *bytes, long long replicas, bool retried,
			  int64_t left_ms, enum renew_outcome outcome)
{
	const int64_t deadline_ms = clock_ms() + left_ms;
	struct lock lock = {.options = &one_replica,
			    .kind = LOCK_WRAP_EARLY,
			    .deadline_ms = deadline_ms,
			    .starts = true};
	struct client client = {
		.replicas = replicas, .retried = retried, .sent_ms = clock_ms() - 50};
	struct renew_reply reply;

	read_bytes(tally, &lock, &client, bytes, &reply);
	CHECK(tally, reply.outcome == outcome);
	CHECK(tally, lock.deadline_ms ==
			     (outcome == RENEWED ? client.sent_ms + reply.ttl_ms : deadline_ms));
	CHECK(tally, (lock.kind == LOCK_WRAP) == (outcome == RENEWED));
}

#define OLD "1763000000000"
#define NEW "1764000000000"

/* left_ms: if that is over, the new token is nobody's */
static void check_token(struct tally *tally, enum lock_kind kind, bool starts, int64_t left_ms,
			const char *bytes, const char *token)
{
	struct lock lock = {.options = &no_replica,
			    .kind = kind,
			    .deadline_ms = clock_ms() + left_ms,
			    .starts = starts,
			    .token = OLD};
	struct client client = {.sent_ms = clock_ms() - 2};
	struct renew_reply reply;

	read_bytes(tally, &lock, &client, bytes, &reply);
	CHECK(tally, strcmp(lock.token, token) == 0);
	CHECK(tally, starts || lock.kind == kind);
	CHECK(tally, (reply.outcome == RENEW_LATE) == (left_ms < 0));
}

/* The server has counted 10.8 s in 10 s, and the message of its grant is heard 2 s late. */
static void check_fast_server(struct tally *tally)
{
	const int64_t asked_ms = clock_ms() - 12000;
	struct lock lock = {.options = &no_replica, .lease_ms = 60000, .wish.mode = "x"};
	struct client client = {.message = "granted 5 60000 1764000010800 s"};

	lock.place = (struct lock_place){.asked_ms = asked_ms,
					 .heard_ms = asked_ms,
					 .server_ms = INT64_C(1764000000000),
					 .secret = "s"};
	wire_channel(&lock.keys, lock.request, client.channels[0]);
	CHECK(tally, handover_accept(&lock, &client));
	CHECK(tally, lock.deadline_ms <= asked_ms + 10000 + lock.ttl_ms);
}

int main(void)
{
	struct tally tally = {0};
	const char *const renewed = RENEWED_BY ":0\r\n" NOBODY_ASKS;
	const char *const taken_up = RENEWED_BY ":1\r\n" NOBODY_ASKS;

	check_outcome(&tally, renewed, 1, false, 10000, RENEWED);
	check_outcome(&tally, renewed, 1, true, 10000, RENEWED);
	check_outcome(&tally, renewed, 1, false, -1, RENEWED);
	check_outcome(&tally, renewed, 1, true, -1, RENEW_LATE);
	check_outcome(&tally, taken_up, 1, false, 10000, RENEWED);
	check_outcome(&tally, taken_up, 1, false, -1, RENEW_LATE);
	check_outcome(&tally, taken_up, 0, false, -1, RENEW_LATE);
	check_outcome(&tally, renewed, 0, false, 10000, RENEW_UNSAFE);

	check_token(&tally, LOCK_WRAP_EARLY, false, 10000, taken_up, NEW);
	check_token(&tally, LOCK_WRAP_EARLY, true, 10000, renewed, NEW);
	check_token(&tally, LOCK_WRAP, true, 10000, taken_up, NEW);
	check_token(&tally, LOCK_WRAP_EARLY, false, -1, taken_up, OLD);
	check_token(&tally, LOCK_WRAP, false, 10000, taken_up, OLD);
	check_token(&tally, LOCK_WRAP_EARLY, false, 10000, NONSENSE, OLD);
	check_fast_server(&tally);
	return conclude(&tally);
}
