/* The locks that are in use: those that do not end, queues with the dead in them, and logs that are
 * none. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "doctor/checks.h"
#include "lock/lock.h"
#include "lock/wire.h"
#include "redis/reply.h"
#include "redis/script.h"

/* Give up after this: a person waits for the answer. */
#define LOOKING_MS 10000

/* How many of a kind are named; the rest is counted. */
#define NAMED 3

struct seen {
	size_t locks;
	size_t held;
	size_t endless;
	size_t waiters;
	size_t ghosts; /* absent waiters of ours */
	size_t theirs; /* of Redisson's */
};

#define QUOTED_MAX_BYTES 400

/* A name for a command line that may be given to a shell as it is; NAME for one that is too long.
 */
static const char *quote(char quoted[QUOTED_MAX_BYTES], const char *name)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
				    "_./:@%+=-";
	const size_t size = QUOTED_MAX_BYTES;
	size_t length = (size_t)snprintf(quoted, size, "%s", *name == '-' ? "-- " : "");
	const bool is_plain = name[strspn(name, plain)] == '\0';

	length += (size_t)snprintf(quoted + length, size - length, "%s", is_plain ? "" : "'");
	for (; *name && length + 6 < size; name++)
		length += (size_t)snprintf(quoted + length, size - length, "%.*s",
					   *name == '\'' ? 4 : 1, *name == '\'' ? "'\\''" : name);
	snprintf(quoted + length, size - length, "%s", is_plain ? "" : "'");
	return *name ? strcpy(quoted, "NAME") : quoted;
}

static int ask(const struct found *lock, struct lock_keys *keys, const struct script *script,
	       struct error *err)
{
	struct request request;

	wire_begin(keys, &request, script);
	return server_info_call(lock->client, &request, err);
}

static int look_at_lock(struct findings *report, struct seen *seen, const struct found *lock,
			struct lock_keys *keys, struct error *err)
{
	char quoted[QUOTED_MAX_BYTES];

	if (ask(lock, keys, &script_status, err) < 0)
		return -1;
	if (!reply_fits(lock->client->reply, "sii"))
		return reply_nonsense(err);
	if (!*reply_text(lock->client->reply, 0))
		return 0;
	seen->held++;
	if (reply_number(lock->client->reply, 2) >= 0 || ++seen->endless > NAMED)
		return 0;
	finding_explain(findings_add(report, SEVERITY_WARNING, "leases",
				     "lock %.200s has no time to live; its owner is %.80s",
				     lock->name, reply_text(lock->client->reply, 0)),
			"Nothing but a release ends it, also when its holder is dead.",
			"fairlock release --force %s", quote(quoted, lock->name));
	return 0;
}

static void see_ghost(struct findings *report, struct seen *seen, const char *name, const char *id,
		      bool is_ours)
{
	char quoted[QUOTED_MAX_BYTES], of_id[QUOTED_MAX_BYTES];

	quote(quoted, name);
	quote(of_id, id);
	if (is_ours ? ++seen->ghosts > NAMED : ++seen->theirs > NAMED)
		return;
	if (is_ours)
		finding_explain(findings_add(report, SEVERITY_NOTE, "queues",
					     "%.80s waits for lock %.200s and is not connected", id,
					     name),
				"It is dead or on its way back; the next grant passes it over.",
				"fairlock queue --remove %.80s %s", of_id, quoted);
	else
		finding_explain(findings_add(report, SEVERITY_WARNING, "queues",
					     "%.80s, of Redisson, waits for lock %.200s and is not "
					     "connected",
					     id, name),
				"When its turn comes, it costs those behind it 5 s, and 5 min "
				"where they are Redisson's.",
				"fairlock queue --remove %.80s %s", of_id, quoted);
}

static int look_at_queue(struct findings *report, struct seen *seen, const struct found *lock,
			 struct lock_keys *keys, struct error *err)
{
	const struct redisReply *queue;

	if (ask(lock, keys, &script_queue, err) < 0)
		return -1;
	queue = lock->client->reply;
	if (!reply_fits(queue, ""))
		return reply_nonsense(err);
	for (size_t i = 0; i < reply_count(queue); i++) {
		const struct redisReply *waiter = reply_at(queue, i);

		if (!reply_fits(waiter, "sssii"))
			return reply_nonsense(err);
		if (reply_number(waiter, 4) == 1)
			seen->waiters++;
		else
			see_ghost(report, seen, lock->name, reply_text(waiter, 0),
				  reply_number(waiter, 3) == 1);
	}
	return 0;
}

/* A lock works without its log. Whoever may not read that is none of those who take locks. */
static int look_at_log(struct findings *report, const struct found *lock, struct lock_keys *keys,
		       struct error *err)
{
	char quoted[QUOTED_MAX_BYTES];
	struct request request;

	wire_begin(keys, &request, &script_log);
	wire_add(&request, "");
	wire_add(&request, "0"); /* nothing but what is written just now */
	wire_add(&request, "0");
	if (server_info_call(lock->client, &request, err) == 0 || err->status == STATUS_REFUSED)
		return 0;
	if (err->status != STATUS_CONFIG)
		return -1;
	finding_explain(
		findings_add(report, SEVERITY_WARNING, "logs",
			     "the key of the log of lock %.200s is something that is no log",
			     lock->name),
		"Nothing is logged, and who gives it back over a bad line may be told that "
		"it was not held.",
		"redis-cli DEL %s", quote(quoted, keys->log));
	return 0;
}

/* Skip a name that something else uses, or another spelling of it: doctor judges locks only. */
static int look_at(struct findings *report, struct seen *seen, const struct found *lock,
		   struct error *err)
{
	struct lock_keys keys;

	if (lock_keys_make(&keys, lock->name, err) < 0)
		return -1;
	if (look_at_lock(report, seen, lock, &keys, err) == 0 &&
	    look_at_queue(report, seen, lock, &keys, err) == 0 &&
	    look_at_log(report, lock, &keys, err) == 0) {
		seen->locks++;
		return 0;
	}
	if (err->status == STATUS_UNAVAILABLE)
		return -1;
	if (err->status == STATUS_REFUSED)
		findings_add(report, SEVERITY_NOTE, "locks",
			     "lock %.300s was not looked at: this user may not", lock->name);
	else
		finding_explain(
			findings_add(report,
				     err->status == STATUS_CONFIG ? SEVERITY_ERROR : SEVERITY_NOTE,
				     "locks", "%.400s", err->text),
			"No lock of this name can be taken.", "use another name");
	return 0;
}

static void sum_up(struct findings *report, const struct seen *seen, size_t tried, size_t count)
{
	if (seen->endless > NAMED)
		findings_add(report, SEVERITY_WARNING, "leases", "and %zu more without an end",
			     seen->endless - NAMED);
	if (seen->ghosts > NAMED)
		findings_add(report, SEVERITY_NOTE, "queues", "and %zu more who are not connected",
			     seen->ghosts - NAMED);
	if (seen->theirs > NAMED)
		findings_add(report, SEVERITY_WARNING, "queues",
			     "and %zu more of Redisson's who are not connected",
			     seen->theirs - NAMED);
	if (tried < count)
		findings_add(report, SEVERITY_NOTE, "locks",
			     "only %zu of %zu were looked at: it took too long", tried, count);
	findings_add(report, SEVERITY_OK, "locks", "%zu looked at, %zu held; %zu waiters present",
		     seen->locks, seen->held, seen->waiters);
}

int check_locks(struct findings *report, const struct lock_list *names, struct error *err)
{
	const int64_t until_ms = clock_ms() + LOOKING_MS;
	struct seen seen = {0};
	size_t tried = 0;

	for (; tried < names->count && clock_ms() < until_ms; tried++)
		if (look_at(report, &seen, &names->list[tried], err) < 0)
			return -1;
	sum_up(report, &seen, tried, names->count);
	return 0;
}
