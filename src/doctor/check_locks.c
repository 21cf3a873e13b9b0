/* Checks locks: those without an end, queues with the dead in them, and keys of logs that hold no
 * log. */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/shell_quote.h"
#include "doctor/checks.h"
#include "lock/lock.h"
#include "redis/reply.h"

/* A person waits for the answer. */
#define CHECKING_MS 10000

/* How many locks of a kind are named; the rest is counted. */
#define NAMED 3

struct tally {
	size_t locks;
	size_t held;
	size_t endless;
	size_t too_long; /* leases */
	size_t waiters;
	size_t dead;          /* absent waiters of ours */
	size_t dead_redisson; /* and of Redisson's */
};

#define QUOTED_MAX_BYTES 400

/* Makes a name safe to paste into a shell; "NAME" stands for one that is too long. */
static const char *quote(char quoted[QUOTED_MAX_BYTES], const char *name)
{
	const size_t dashes = *name == '-' ? 3 : 0;

	memcpy(quoted, "-- ", dashes);
	return shell_quote(quoted + dashes, QUOTED_MAX_BYTES - dashes, name)
		       ? quoted
		       : strcpy(quoted, "NAME");
}

static int look(const struct found *lock, const struct lock_keys *keys, const char *what,
		struct error *err)
{
	struct request request;

	wire_look(keys, &request, what);
	return server_info_call(lock->client, &request, err);
}

static int check_lease(struct findings *findings, struct tally *tally, const struct found *lock,
		       const struct lock_keys *keys, struct error *err)
{
	const struct redisReply *reply;
	char quoted[QUOTED_MAX_BYTES];

	if (look(lock, keys, "status", err) < 0)
		return -1;
	reply = lock->client->reply;
	if (!reply_fits(reply, "sii"))
		return reply_nonsense(err);
	if (!*reply_text(reply, 0))
		return 0;
	tally->held++;
	if (reply_number(reply, 24) == 1 && ++tally->too_long <= NAMED) {
		findings_add(findings, SEVERITY_WARNING, "leases",
			     "lock %.200s has a longer lease than its holder asked for",
			     lock->name);
		findings_explain(
			findings,
			"The server's clock was ahead. The next process that asks for the lock shortens the lease.",
			"fairlock wrap --skip %s true", quote(quoted, lock->name));
	}
	if (reply_number(reply, 2) >= 0 || ++tally->endless > NAMED)
		return 0;
	findings_add(findings, SEVERITY_WARNING, "leases",
		     "lock %.200s has no time to live; its owner is %.80s", lock->name,
		     reply_text(reply, 0));
	findings_explain(findings, "Only a release ends it, even if its holder is dead.",
			 "fairlock release --force %s", quote(quoted, lock->name));
	return 0;
}

static void report_dead(struct findings *findings, struct tally *tally, const char *name,
			const char *id, bool is_ours)
{
	char quoted[QUOTED_MAX_BYTES], quoted_id[QUOTED_MAX_BYTES];

	if (is_ours ? ++tally->dead > NAMED : ++tally->dead_redisson > NAMED)
		return;
	findings_add(findings, is_ours ? SEVERITY_NOTE : SEVERITY_WARNING, "queues",
		     "%.80s%s waits for lock %.200s and is not connected", id,
		     is_ours ? "" : ", of Redisson,", name);
	findings_explain(
		findings,
		is_ours ? "The waiter is dead, or is connecting again. The next grant passes it over."
			: "When its turn comes, the waiters behind it lose 5 s; Redisson's waiters lose 5 min.",
		"fairlock queue --remove %.80s %s", quote(quoted_id, id), quote(quoted, name));
}

static int check_queue(struct findings *findings, struct tally *tally, const struct found *lock,
		       const struct lock_keys *keys, struct error *err)
{
	const struct redisReply *queue;

	if (look(lock, keys, "queue", err) < 0)
		return -1;
	queue = lock->client->reply;
	if (!reply_fits(queue, ""))
		return reply_nonsense(err);
	for (size_t i = 0; i < reply_count(queue); i++) {
		const struct redisReply *waiter = reply_at(queue, i);

		if (!reply_fits(waiter, "sssii"))
			return reply_nonsense(err);
		if (reply_number(waiter, 4) == 1)
			tally->waiters++;
		else
			report_dead(findings, tally, lock->name, reply_text(waiter, 0),
				    reply_number(waiter, 3) == 1);
	}
	return 0;
}

/* A lock works without its log, and a user who may not read the log takes no locks. */
static int check_log(struct findings *findings, const struct found *lock,
		     const struct lock_keys *keys, struct error *err)
{
	char quoted[QUOTED_MAX_BYTES];
	struct request request;

	wire_look(keys, &request, "log");
	wire_add(&request, "");
	wire_add(&request, "0"); /* nothing but what is written just now */
	wire_add(&request, "0");
	if (server_info_call(lock->client, &request, err) == 0 || err->status == STATUS_REFUSED)
		return 0;
	if (err->status != STATUS_CONFIG)
		return -1;
	findings_add(findings, SEVERITY_WARNING, "logs",
		     "the log of lock %.200s cannot be used: its key holds something else",
		     lock->name);
	findings_explain(
		findings,
		"Nothing is logged. If the connection breaks during a release, the release may say wrongly that the lock was not held.",
		"redis-cli DEL %s", quote(quoted, keys->log));
	return 0;
}

/* Counts no name that something else uses, nor another spelling of a lock: doctor judges locks
 * only. */
static int check_lock(struct findings *findings, struct tally *tally, const struct found *lock,
		      struct error *err)
{
	struct lock_keys keys;

	if (lock_keys_make(&keys, lock->name, err) < 0)
		return -1;
	if (check_lease(findings, tally, lock, &keys, err) == 0 &&
	    check_queue(findings, tally, lock, &keys, err) == 0 &&
	    check_log(findings, lock, &keys, err) == 0) {
		tally->locks++;
		return 0;
	}
	if (err->status == STATUS_UNAVAILABLE)
		return -1;
	if (err->status == STATUS_REFUSED) {
		findings_add(findings, SEVERITY_NOTE, "locks",
			     "this user may not look at lock %.300s", lock->name);
		return 0;
	}
	findings_add(findings, err->status == STATUS_CONFIG ? SEVERITY_ERROR : SEVERITY_NOTE,
		     "locks", "%.400s", err->text);
	findings_explain(findings, "No lock of this name can be taken.", "use another name");
	return 0;
}

static void report_tally(struct findings *findings, const struct tally *tally, size_t tried,
			 size_t count)
{
	if (tally->endless > NAMED)
		findings_add(findings, SEVERITY_WARNING, "leases", "and %zu more without an end",
			     tally->endless - NAMED);
	if (tally->too_long > NAMED)
		findings_add(findings, SEVERITY_WARNING, "leases", "and %zu more that are too long",
			     tally->too_long - NAMED);
	if (tally->dead > NAMED)
		findings_add(findings, SEVERITY_NOTE, "queues",
			     "and %zu more waiters are not connected", tally->dead - NAMED);
	if (tally->dead_redisson > NAMED)
		findings_add(findings, SEVERITY_WARNING, "queues",
			     "and %zu more waiters of Redisson's are not connected",
			     tally->dead_redisson - NAMED);
	if (tried < count)
		findings_add(findings, SEVERITY_NOTE, "locks",
			     "only %zu of %zu were looked at: it took too long", tried, count);
	findings_add(findings, SEVERITY_OK, "locks",
		     "%zu looked at, %zu held; %zu waiter%s present", tally->locks, tally->held,
		     tally->waiters, tally->waiters == 1 ? "" : "s");
}

int check_locks(struct findings *findings, const struct lock_list *names, struct error *err)
{
	const int64_t until_ms = clock_ms() + CHECKING_MS;
	struct tally tally = {0};
	size_t tried = 0;

	for (; tried < names->count && clock_ms() < until_ms; tried++)
		if (check_lock(findings, &tally, &names->list[tried], err) < 0)
			return -1;
	report_tally(findings, &tally, tried, names->count);
	return 0;
}
