/* The checks of `doctor`. Each adds its findings, good or bad; those of one server first, then
 * those of all together, then the locks. */
#include "doctor/checks.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/message.h"
#include "base/text.h"
#include "cli/command.h"
#include "lock/lock.h"
#include "lock/lock_list.h"
#include "redis/client.h"
#include "redis/local_server.h"
#include "redis/reply.h"
#include "supervise/processes.h"

#define BUFFER_LEAST 16384
#define SCRIPT_LIMIT_LEAST_MS 1000
#define PRIVATE_CLIENTS_LEAST 1000

#define CLOCK_MOST_US 1000000
#define TRIP_MOST_US 100000

#define REPLICAS_MAX 32
#define LAG_MOST_S 10
/* Short, because the address of a replica may not be for us. */
#define REACH_MS 1000

/* A person waits for the answer. */
#define CHECKING_MS 10000
/* How many locks of a kind are named; the rest is counted. */
#define NAMED 3

/* ---- One server ---- */

/* Proposes a value for a setting. */
static void advise_setting(struct findings *found, const char *consequence, const char *setting)
{
	advise(found, consequence,
	       "CONFIG SET %s, and the same setting in its configuration file: a restart forgets "
	       "CONFIG SET",
	       setting);
}

static bool is_private(const struct facts *facts)
{
	return facts->server->kind == SERVER_LOCAL;
}

static void check_version(struct findings *found, const struct facts *facts)
{
	int major = 0, minor = 0;

	sscanf(facts->version, "%d.%d", &major, &minor);
	if (major > 6 || (major == 6 && minor >= 2)) {
		find(found, OK, "version", "%s %s, RESP3", facts->vendor, facts->version);
		return;
	}
	find(found, ERROR, "version", "%s %s is older than 6.2", facts->vendor, facts->version);
	advise(found, "No lock works: fairlock's scripts use commands that it does not have.",
	       "use Redis 6.2 or later, or Valkey 7.2 or later");
}

/* Returns whether the server refuses changes for that, like the other checks that do. */
static bool check_role(struct findings *found, const struct facts *facts)
{
	char host[FACT_MAX_BYTES] = "?", port[FACT_MAX_BYTES] = "?";

	if (!facts->is_replica)
		return false;
	facts_text(facts, "master_host", host);
	facts_text(facts, "master_port", port);
	find(found, ERROR, "role", "this is a replica, of %.200s:%.20s", host, port);
	advise(found, "A replica takes no writes: no lock can be taken (69).",
	       "name its master in the URL, or the sentinels: redis+sentinel://HOST:PORT/MASTER");
	return true;
}

/* A private server has no maxmemory of its own, and forgets one when it ends. */
static void advise_full(struct findings *found, const struct facts *facts, const char *consequence)
{
	if (is_private(facts))
		advise(found, consequence,
		       "somebody has set maxmemory on this private server: redis-cli -s %.300s "
		       "CONFIG SET maxmemory 0",
		       facts->address);
	else
		advise(found, consequence,
		       "raise maxmemory, or find out what fills it: redis-cli --bigkeys");
}

static bool check_memory(struct findings *found, const struct facts *facts)
{
	const long long most = facts_number(facts, "maxmemory");
	const long long used = facts_number(facts, "used_memory");
	char policy[FACT_MAX_BYTES];
	bool evicts;

	if (most < 0 || !facts_text(facts, "maxmemory_policy", policy))
		return false;
	evicts = most > 0 && strcmp(policy, "noeviction") != 0;
	if (evicts) {
		find(found, ERROR, "memory", "maxmemory is set, and maxmemory-policy is %s",
		     policy);
		advise_setting(found,
			       "When memory is full, the server deletes keys, locks too: two jobs "
			       "may hold one lock.",
			       "maxmemory-policy noeviction");
	}
	/* being asked takes memory, too: what the server did decides, if it is known */
	if (most > 0 && used >= most &&
	    (facts->grants == GRANTS_NONE || (facts->grants == GRANTS_NOT_KNOWN && !evicts))) {
		find(found, ERROR, "memory",
		     "memory is full: %lld bytes of maxmemory's %lld are in use", used, most);
		advise_full(found, facts,
			    "The server lets no lock be taken (OOM, 69); leases can be renewed, "
			    "and locks given back.");
		return true;
	}
	if (!evicts && most > 0 && used > most / 10 * 9) {
		find(found, WARNING, "memory", "%lld %% of maxmemory is in use",
		     used / (most / 100 + 1));
		advise_full(found, facts, "When it is full, no lock can be taken (69).");
	} else if (!evicts) {
		find(found, OK, "memory", "%s",
		     most > 0 ? "maxmemory-policy is noeviction"
			      : "no maxmemory, so no key is evicted");
	}
	return false;
}

static bool has_text(const struct facts *facts, const char *name, const char *text)
{
	char value[FACT_MAX_BYTES];

	return facts_text(facts, name, value) && strcmp(value, text) == 0;
}

static bool check_disk(struct findings *found, const struct facts *facts)
{
	const bool is_aof = has_text(facts, "aof_last_write_status", "err");
	const bool is_snapshot = has_text(facts, "rdb_last_bgsave_status", "err") &&
				 !has_text(facts, "stop-writes-on-bgsave-error", "no");

	if (is_aof || is_snapshot) {
		find(found, ERROR, "disk", "%s",
		     is_aof ? "the append-only file cannot be written"
			    : "the last snapshot could not be written");
		advise(found, "The server takes no writes (MISCONF): no lock can be taken (69).",
		       "see the server's log: is the disk full?");
	}
	return is_aof || is_snapshot;
}

static void report_snapshots(struct findings *found, const struct facts *facts)
{
	char when[FACT_MAX_BYTES];
	const bool is_known = facts_text(facts, "save", when);
	const bool is_never = is_known && strcmp(when, "never") == 0;

	find(found, is_never ? WARNING : NOTE, "persistence", "%s",
	     is_never   ? "nothing is written to disk"
	     : is_known ? "snapshots only, no append-only file"
			: "no append-only file; whether it takes snapshots is not known");
	advise_setting(
		found,
		is_never ? "After a restart the server knows no lock. Each wrap takes its "
			   "lock again, unless another job was first."
			 : "After a crash the server has forgotten the latest locks. Each wrap "
			   "takes its lock again, unless another job was first.",
		"appendonly yes");
}

static void check_persistence(struct findings *found, const struct facts *facts)
{
	const long long appending = facts_number(facts, "aof_enabled");
	char fsync[FACT_MAX_BYTES] = "";

	facts_text(facts, "appendfsync", fsync);
	if (appending == 0)
		report_snapshots(found, facts);
	else if (appending > 0)
		find(found, OK, "persistence", "append-only file%s",
		     !*fsync ? ""
		     : strcmp(fsync, "always") == 0
			     ? ", fsync always: nothing is lost, each change waits for the disk"
		     : strcmp(fsync, "no") == 0
			     ? ", fsync no: survives its own end, not a power cut"
			     : ", fsync every second: a crash loses the last 2 s at most, and a "
			       "slow disk delays changes as long");
}

/* root's cron and a user's shell would each have a server of their own. */
static void check_users(struct findings *found, const struct facts *facts,
			const struct options *options)
{
	if (!is_private(facts))
		return;
	find(found, options->url ? NOTE : WARNING, "users",
	     "%slocal: is for this user on this host alone",
	     options->url ? "" : "no url is set, and ");
	advise(found,
	       "Each user of each host has a private server: jobs of other users, such as root's "
	       "cron, and of other hosts run beside those of this user.",
	       "name one server for all users: url = redis://HOST, or unix:PATH, in "
	       "/etc/fairlock.conf%s",
	       options->url ? "" : "; or url = local:, if that is meant");
}

static void check_timeouts(struct findings *found, const struct facts *facts)
{
	const long long timeout_s = facts_number(facts, "timeout");
	const long long keepalive_s = facts_number(facts, "tcp-keepalive");

	if (timeout_s > 0)
		find(found, OK, "idle timeout",
		     "%lld s, which spares waiters and holders: they are subscribed", timeout_s);
	else if (timeout_s == 0)
		find(found, OK, "idle timeout", "none");
	if (keepalive_s < 0 || is_private(facts) || facts->server->kind == SERVER_UNIX)
		return;
	if (keepalive_s > 0 && keepalive_s <= 600) {
		find(found, OK, "keepalive", "after %lld s", keepalive_s);
		return;
	}
	find(found, WARNING, "keepalive", "tcp-keepalive is %lld", keepalive_s);
	advise_setting(found,
		       "A waiter whose host vanished still counts as present: the waiters behind "
		       "it lose 5 s, and its connection stays.",
		       "tcp-keepalive 60");
}

/* "normal 0 0 0 slave 268435456 67108864 60 pubsub 33554432 8388608 60" */
static void check_buffers(struct findings *found, const struct facts *facts)
{
	char limits[FACT_MAX_BYTES] = "";
	const char *ours;
	long long hard = 0, soft = 0, seconds = 0;

	facts_text(facts, "client-output-buffer-limit", limits);
	ours = strstr(limits, "pubsub ");
	if (!ours || sscanf(ours, "pubsub %lld %lld %lld", &hard, &soft, &seconds) != 3)
		return;
	if ((hard <= 0 || hard >= BUFFER_LEAST) && (soft <= 0 || soft >= BUFFER_LEAST)) {
		find(found, OK, "buffers", "enough for subscribers");
		return;
	}
	find(found, WARNING, "buffers", "client-output-buffer-limit pubsub is %lld %lld %lld", hard,
	     soft, seconds);
	advise_setting(found,
		       "Waiters and holders are subscribers: the server ends their connection if a "
		       "message is longer.",
		       "client-output-buffer-limit \"pubsub 32mb 8mb 60\"");
}

static void check_clients(struct findings *found, const struct facts *facts)
{
	const long long now = facts_number(facts, "connected_clients");
	const long long most = facts_number(facts, "maxclients");

	if (now < 0 || most <= 0)
		return;
	if (now < most - most / 5 && (!is_private(facts) || most >= PRIVATE_CLIENTS_LEAST)) {
		find(found, OK, "connections", "few of %lld are in use", most);
		return;
	}
	find(found, WARNING, "connections", "%lld of %lld are in use", now, most);
	advise(found,
	       "Each waiter and each holder needs one. Without a free one, a job fails (69).", "%s",
	       is_private(facts)
		       ? "end it, as shown above; the next fairlock starts it again, with the limit "
			 "of open files (ulimit -n) that it has itself"
		       : "raise maxclients, and the server's limit of open files");
}

static void check_scripts(struct findings *found, const struct facts *facts)
{
	const long long limit_ms = facts_number(facts, "lua-time-limit");

	if (limit_ms < 0)
		return;
	if (limit_ms == 0 || limit_ms >= SCRIPT_LIMIT_LEAST_MS) {
		find(found, OK, "slow scripts",
		     limit_ms ? "the server answers BUSY after %lld ms"
			      : "the server never answers BUSY (%lld)",
		     limit_ms);
		return;
	}
	find(found, NOTE, "slow scripts", "lua-time-limit is %lld ms", limit_ms);
	advise_setting(found,
		       "While any script runs longer than that, the server answers BUSY: new jobs "
		       "fail (69), waiters and holders try again.",
		       "lua-time-limit 5000");
}

static void check_unknown(struct findings *found, const struct facts *facts)
{
	const bool is_told = facts_number(facts, "maxmemory") >= 0;

	if (is_told && facts->can_read_settings)
		return;
	find(found, NOTE, "not known", "%s%s%s",
	     is_told ? ""
		     : "whether it evicts keys, what survives a restart, how many replicas there "
		       "are, how many connections are in use",
	     is_told || facts->can_read_settings ? "" : ", ",
	     facts->can_read_settings ? "" : "timeouts and limits");
	advise(found, "This user may not see that.",
	       "ask the server's administrator, or run doctor as a user with +info +config|get");
}

/* ---- Its replicas ---- */

/* "ip=10.0.0.2,port=6379,state=online,offset=42,lag=0" */
static bool read_replica(struct endpoint *endpoint, bool *in_sync, const char *text)
{
	const char *lag = strstr(text, ",lag=");
	const long long lag_s = lag ? strtoll(lag + strlen(",lag="), NULL, 10) : 0;
	char state[32] = "";
	unsigned port = 0;

	if (sscanf(text, "ip=%255[^,],port=%u,state=%31[^,]", endpoint->host, &port, state) != 3 ||
	    port < 1 || port > 65535)
		return false;
	endpoint->port = (uint16_t)port;
	*in_sync = strcmp(state, "online") == 0 && lag_s >= 0 && lag_s <= LAG_MOST_S;
	return true;
}

/* Whether a failover to it would go well. */
static void check_replica(struct findings *found, const struct facts *facts,
			  struct endpoint *endpoint)
{
	const int64_t timeout_ms = facts->client->timeout_ms;
	struct server server = *facts->server;
	struct facts its = {0};
	struct client client;
	struct error err;
	char where[HOST_MAX_BYTES + 8];
	int64_t apart_us = 0;

	snprintf(where, sizeof(where), "%s:%u", endpoint->host, endpoint->port);
	server.kind = SERVER_TCP;
	server.seeds = endpoint;
	server.seed_count = 1;
	client_init(&client, &server, timeout_ms < REACH_MS ? timeout_ms : REACH_MS);
	if (facts_measure(&its, &client, &err) == 0) {
		if (facts->timing.samples)
			apart_us = llabs(its.timing.ahead_us - facts->timing.ahead_us);
		if (apart_us >= CLOCK_MOST_US) {
			find(found, WARNING, "clocks",
			     "replica %s differs from its master by %.1f s", where,
			     (double)apart_us / 1e6);
			advise(found,
			       "If it becomes the master, leases end early or late by that, and "
			       "fencing tokens may fall back.",
			       "keep the clocks of the servers right (NTP)");
		}
	} else if (err.status == STATUS_REFUSED) {
		find(found, WARNING, "replica", "%s does not let this user in", where);
		advise(found, "If it becomes the master, every command fails (77).",
		       "give it the same users and passwords: a master does not pass them on");
	} else {
		find(found, NOTE, "replica", "%s cannot be reached from here", where);
		advise(found, "doctor cannot see its clock, nor whether it knows this user.",
		       "run doctor on a host that reaches it");
	}
	client_close(&client);
}

static void report_no_replica(struct findings *found, const struct facts *facts)
{
	if (is_private(facts)) {
		find(found, OK, "replicas", "none, and none needed on one host");
	} else if (facts->server->kind == SERVER_SENTINEL || strcmp(facts->mode, "cluster") == 0) {
		find(found, WARNING, "replicas", "there is none");
		advise(found,
		       "When this server dies, none takes over: until it is back, no lock can be "
		       "taken or renewed.",
		       "add a replica");
	} else {
		find(found, NOTE, "replicas", "there is none");
		advise(found,
		       "While this server is down, no lock can be taken, and jobs stop when their "
		       "leases end. In return, no failover forgets a lock.",
		       "see SAFETY in fairlock(7) before adding one");
	}
}

/* Compares how many replicas are in sync with what the server and --replicas want. */
static bool check_in_sync(struct findings *found, const struct facts *facts, long long count,
			  long long in_sync, long long wanted)
{
	const long long demanded = facts_number(facts, "min-replicas-to-write");

	if (in_sync < count) {
		find(found, WARNING, "replicas", "%lld of %lld are not in sync", count - in_sync,
		     count);
		advise(found, "A failover to one of them would forget locks.",
		       "see the replica's log");
	}
	if (in_sync < demanded) {
		find(found, ERROR, "replicas", "%lld in sync, min-replicas-to-write is %lld",
		     in_sync, demanded);
		advise(found, "The server takes no writes (NOREPLICAS): no lock can be taken (69).",
		       "mend the replicas, or lower min-replicas-to-write");
	}
	if (in_sync < wanted) {
		find(found, ERROR, "replicas", "%lld in sync, --replicas is %lld", in_sync, wanted);
		advise(found, "Each grant is undone, and the job fails (69).",
		       "mend the replicas, or lower --replicas");
	} else if (in_sync > 0 && wanted >= count) {
		find(found, OK, "replicas", "%lld in sync, and --replicas waits for them", in_sync);
	} else if (in_sync > 0) {
		find(found, NOTE, "replicas", "%lld in sync, --replicas is %lld", in_sync, wanted);
		advise(found,
		       "A failover may forget the latest grants: two jobs can hold one lock until "
		       "the first one renews it.",
		       "set replicas = %lld in fairlock.conf, if each grant may wait for them",
		       count);
	}
	return in_sync < demanded;
}

static bool check_replicas(struct findings *found, const struct facts *facts,
			   const struct options *options)
{
	const long long count = facts_number(facts, "connected_slaves");
	long long in_sync = 0;
	char field[24], text[FACT_MAX_BYTES];

	if (facts->is_replica || count < 0)
		return false;
	for (int i = 0; i < REPLICAS_MAX; i++) {
		struct endpoint endpoint;
		bool is_in_sync;

		snprintf(field, sizeof(field), "slave%d", i);
		if (!facts_text(facts, field, text) || !read_replica(&endpoint, &is_in_sync, text))
			continue;
		in_sync += is_in_sync;
		check_replica(found, facts, &endpoint);
	}
	if (count == 0)
		report_no_replica(found, facts);
	return check_in_sync(found, facts, count, in_sync, options->replicas);
}

static void check_server(struct findings *found, const struct facts *facts,
			 const struct options *options)
{
	bool is_told;

	check_version(found, facts);
	is_told = check_role(found, facts);
	is_told |= check_memory(found, facts);
	is_told |= check_disk(found, facts);
	check_persistence(found, facts);
	is_told |= check_replicas(found, facts, options);
	/* check_permissions names all commands that are hidden, if the server can be asked */
	is_told |= facts->can_ask_permissions && strstr(facts->refusal.text, "unknown command");
	if (facts->grants == GRANTS_NONE && !is_told) {
		find(found, ERROR, "grants", "%.400s", facts->refusal.text);
		advise_on(found, "No lock can be taken while that is so (69).", &facts->refusal,
			  facts->server);
	}
	check_users(found, facts, options);
	check_timeouts(found, facts);
	check_buffers(found, facts);
	check_clients(found, facts);
	check_scripts(found, facts);
	check_unknown(found, facts);
}

/* ---- Round trips and clocks of all servers ---- */

static void check_trips(struct findings *found, const struct timing *timing, int64_t lease_ms)
{
	const int64_t third_us = lease_ms * 1000 / 3;
	const enum severity severity = timing->longest_us > third_us       ? ERROR
				       : timing->longest_us > third_us / 4 ? WARNING
				       : timing->median_us > TRIP_MOST_US  ? NOTE
									   : OK;

	find(found, severity, "round trip", "median %.2f ms, longest %.2f ms (of %d)",
	     (double)timing->median_us / 1000, (double)timing->longest_us / 1000, timing->samples);
	if (severity >= WARNING)
		advise(found,
		       "A holder renews its lease after a third of it: if the answer comes so late, "
		       "the lock is lost.",
		       "use a longer --lease (it is %g s), or a nearer server",
		       (double)lease_ms / 1000);
	else if (severity == NOTE)
		advise(found, "A lock that passes to the next waiter is idle for so long.",
		       "use a nearer server");
}

static void check_clock(struct findings *found, const struct timing *timing)
{
	const int64_t off_us = llabs(timing->ahead_us);
	const int64_t most_us = off_us + timing->quickest_us / 2; /* it is not known better */

	if (off_us < CLOCK_MOST_US) {
		find(found, OK, "clock", "differs from ours by less than %" PRId64 " ms",
		     most_us / 1000 + 1);
		return;
	}
	find(found, NOTE, "clock", "%.1f s %s ours", (double)off_us / 1e6,
	     timing->ahead_us > 0 ? "ahead of" : "behind");
	advise(found,
	       "No lock depends on it, but fencing tokens, and times in lists, are by the server's "
	       "clock.",
	       "keep both clocks right (NTP)");
}

static void check_times(struct diagnosis *diagnosis)
{
	const struct options *options = diagnosis->invocation->options;
	struct findings *found = &diagnosis->findings;
	struct timing worst = {0};
	int64_t least_us = INT64_MAX, most_us = INT64_MIN;

	for (size_t i = 0; i < diagnosis->facts_count; i++) {
		const struct timing *timing = &diagnosis->facts[i].timing;

		if (!timing->samples)
			continue;
		worst.samples += timing->samples;
		if (timing->median_us > worst.median_us)
			worst.median_us = timing->median_us;
		if (timing->longest_us > worst.longest_us)
			worst.longest_us = timing->longest_us;
		if (llabs(timing->ahead_us) >= llabs(worst.ahead_us)) {
			worst.ahead_us = timing->ahead_us;
			worst.quickest_us = timing->quickest_us;
		}
		least_us = timing->ahead_us < least_us ? timing->ahead_us : least_us;
		most_us = timing->ahead_us > most_us ? timing->ahead_us : most_us;
	}
	if (!worst.samples) {
		find(found, NOTE, "round trip", "not known");
		advise(found, "This user may not ask the server for its time.",
		       "give the user +time");
		return;
	}
	check_trips(found, &worst, options->lease_ms ? options->lease_ms : DEFAULT_LEASE_MS);
	check_clock(found, &worst);
	if (most_us - least_us < CLOCK_MOST_US)
		return;
	find(found, WARNING, "clocks", "the nodes' differ by %.1f s",
	     (double)(most_us - least_us) / 1e6);
	advise(found,
	       "When a lock's slot moves, its lease ends early or late by that, and fencing tokens "
	       "may fall back.",
	       "keep the clocks of the nodes right (NTP)");
}

/* ---- Locks ---- */

/* What may be wrong with many locks. */
enum trouble { ENDLESS, TOO_LONG, DEAD, DEAD_REDISSON, UNSEEN, TROUBLES };

struct tally {
	size_t locks;
	size_t held;
	size_t waiters;
	size_t troubles[TROUBLES];
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
	return facts_call(lock->client, &request, err);
}

static int check_lease(struct findings *found, struct tally *tally, const struct found *lock,
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
	if (reply_number(reply, 23) == 1 && ++tally->troubles[TOO_LONG] <= NAMED) {
		find(found, WARNING, "leases",
		     "lock %.200s has a longer lease than its holder asked for", lock->name);
		advise(found,
		       "The server's clock was ahead. The next process that asks for the lock "
		       "shortens the lease.",
		       "fairlock wrap --skip %s true", quote(quoted, lock->name));
	}
	if (reply_number(reply, 2) < 0 && ++tally->troubles[ENDLESS] <= NAMED) {
		find(found, WARNING, "leases",
		     "lock %.200s has no time to live; its owner is %.80s", lock->name,
		     reply_text(reply, 0));
		advise(found, "Only a release ends it, even if its holder is dead.",
		       "fairlock release --force %s", quote(quoted, lock->name));
	}
	return 0;
}

static void report_dead(struct findings *found, struct tally *tally, const char *name,
			const char *id, bool is_ours)
{
	char quoted[QUOTED_MAX_BYTES], quoted_id[QUOTED_MAX_BYTES];

	if (++tally->troubles[is_ours ? DEAD : DEAD_REDISSON] > NAMED)
		return;
	find(found, is_ours ? NOTE : WARNING, "queues",
	     "%.80s%s waits for lock %.200s and is not connected", id,
	     is_ours ? "" : ", of Redisson,", name);
	advise(found,
	       is_ours ? "The waiter is dead, or is connecting again. The next grant passes it over."
		       : "When its turn comes, the waiters behind it lose 5 s; Redisson's waiters "
			 "lose 5 min.",
	       "fairlock queue --remove %.80s %s", quote(quoted_id, id), quote(quoted, name));
}

static int check_queue(struct findings *found, struct tally *tally, const struct found *lock,
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
			report_dead(found, tally, lock->name, reply_text(waiter, 0),
				    reply_number(waiter, 3) == 1);
	}
	return 0;
}

/* A lock works without its log, and a user who may not read the log takes no locks. */
static int check_log(struct findings *found, const struct found *lock, const struct lock_keys *keys,
		     struct error *err)
{
	char quoted[QUOTED_MAX_BYTES];
	struct request request;

	wire_look(keys, &request, "log");
	wire_add(&request, "");
	wire_add(&request, "0"); /* nothing but what is written just now */
	wire_add(&request, "0");
	if (facts_call(lock->client, &request, err) == 0 || err->status == STATUS_REFUSED)
		return 0;
	if (err->status != STATUS_CONFIG)
		return -1;
	find(found, WARNING, "logs",
	     "the log of lock %.200s cannot be used: its key holds something else", lock->name);
	advise(found,
	       "Nothing is logged. If the connection breaks during a release, the release may say "
	       "wrongly that the lock was not held.",
	       "redis-cli DEL %s", quote(quoted, keys->log));
	return 0;
}

/* Counts no name that something else uses, nor another spelling of a lock: doctor judges locks
 * only. */
static int check_lock(struct findings *found, struct tally *tally, const struct found *lock,
		      struct error *err)
{
	struct lock_keys keys;

	if (lock_keys_make(&keys, lock->name, err) < 0)
		return -1;
	if (check_lease(found, tally, lock, &keys, err) == 0 &&
	    check_queue(found, tally, lock, &keys, err) == 0 &&
	    check_log(found, lock, &keys, err) == 0) {
		tally->locks++;
		return 0;
	}
	if (err->status == STATUS_UNAVAILABLE)
		return -1;
	if (err->status == STATUS_REFUSED) {
		find(found, NOTE, "locks", "this user may not look at lock %.300s", lock->name);
		return 0;
	}
	find(found, err->status == STATUS_CONFIG ? ERROR : NOTE, "locks", "%.400s", err->text);
	advise(found, "No lock of this name can be taken.", "use another name");
	return 0;
}

/* What many locks have is named for a few. */
static void report_tally(struct findings *found, const struct tally *tally)
{
	static const struct {
		enum severity severity;
		const char *check, *rest;
	} rests[TROUBLES] = {
		[ENDLESS] = {WARNING, "leases", "without an end"},
		[TOO_LONG] = {WARNING, "leases", "that are too long"},
		[DEAD] = {NOTE, "queues", "waiters are not connected"},
		[DEAD_REDISSON] = {WARNING, "queues", "waiters of Redisson's are not connected"},
		[UNSEEN] = {NOTE, "locks", "that this user may not look at"},
	};

	for (size_t i = 0; i < TROUBLES; i++)
		if (tally->troubles[i] > NAMED)
			find(found, rests[i].severity, rests[i].check, "and %zu more %s",
			     tally->troubles[i] - NAMED, rests[i].rest);
	find(found, OK, "locks", "%zu looked at, %zu held; %zu waiter%s present", tally->locks,
	     tally->held, tally->waiters, tally->waiters == 1 ? "" : "s");
}

/* Checks the locks that the user named, wherever they are, or those in the list. */
static int check_each(struct diagnosis *diagnosis, const struct lock_list *all, struct error *err)
{
	const struct invocation *invocation = diagnosis->invocation;
	const size_t named = (size_t)invocation->argc, count = named ? named : all->count;
	struct findings *found = &diagnosis->findings;
	struct connection_trace steps = {.messenger = invocation->messenger};
	struct client client;
	const int64_t until_ms = clock_ms() + CHECKING_MS;
	struct tally tally = {0};
	size_t tried = 0;
	int result = 0;

	client_init(&client, invocation->server, invocation->options->connect_timeout_ms);
	client.steps = &steps;
	for (; result == 0 && tried < count && clock_ms() < until_ms; tried++) {
		const struct found one = {named ? invocation->argv[tried] : all->list[tried].name,
					  named ? &client : all->list[tried].client};

		result = check_lock(found, &tally, &one, err);
	}
	client_close(&client);
	if (result < 0)
		return -1;
	if (tried < count)
		find(found, NOTE, "locks", "only %zu of %zu were looked at: it took too long",
		     tried, count);
	report_tally(found, &tally);
	return 0;
}

/* Returns 0, or -1 when the server cannot be asked any more. */
static int check_locks(struct diagnosis *diagnosis, struct error *err)
{
	static const char unseen[] = "doctor cannot see locks without an end, nor dead waiters.";
	const struct invocation *invocation = diagnosis->invocation;
	const enum permission may_scan = diagnosis->facts->may_scan;
	struct findings *found = &diagnosis->findings;
	struct lock_list names = {0};
	int result = 0;

	if (invocation->argc == 0 && may_scan == IS_UNKNOWN) {
		find(found, WARNING, "commands", "the server lacks SCAN");
		advise(found, "status, queue and log without NAME fail (69).",
		       "take its rename-command out of the server's configuration, and restart the "
		       "server");
		return 0;
	}
	if (invocation->argc == 0 && may_scan == IS_ALLOWED)
		result = lock_list_find(&names, &diagnosis->nodes,
					clock_ms() + invocation->options->connect_timeout_ms, err);
	if (invocation->argc == 0 &&
	    (may_scan == IS_DENIED || (result < 0 && err->status == STATUS_REFUSED))) {
		find(found, NOTE, "locks", "not known: this user may not list them");
		advise(found, unseen,
		       "name the locks: fairlock doctor NAME...; or give the user +scan and all "
		       "keys");
		result = 0;
	} else if (result == 0) {
		result = check_each(diagnosis, &names, err);
	}
	lock_list_free(&names);
	/* another finding says why: the cluster lacks a part, or the server a command */
	if (result < 0 && err->status == STATUS_UNAVAILABLE &&
	    (cluster_nodes_unseen(&diagnosis->nodes) || strstr(err->text, "unknown command") ||
	     strstr(err->text, "lacks a command"))) {
		find(found, NOTE, "locks", "some were not looked at: %s", err->text);
		advise(found, unseen, "run doctor again when that is mended");
		return 0;
	}
	return result;
}

/* ---- All of it ---- */

static void find_private(struct diagnosis *diagnosis)
{
	const int folder = diagnosis->nodes.clients[0].connection.local_folder;
	char link[32];
	ssize_t length;

	if (folder < 0)
		return;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", folder);
	length = readlink(link, diagnosis->folder, sizeof(diagnosis->folder) - 1);
	diagnosis->folder[length > 0 ? length : 0] = '\0';
	diagnosis->pid = local_server_pid(folder);
}

/* Asks one server for all that it tells, and checks it. Returns 0; 1 if the cluster can be seen
 * without it; or -1. */
static int check_node(struct diagnosis *diagnosis, struct client *client, struct error *err)
{
	const struct invocation *invocation = diagnosis->invocation;
	struct findings *found = &diagnosis->findings;
	struct facts *facts = &diagnosis->facts[diagnosis->facts_count];

	if (facts_collect(facts, client, err) < 0) {
		facts_free(facts);
		return cluster_nodes_lose(&diagnosis->nodes, client, err) ? 1 : -1;
	}
	diagnosis->facts_count++;
	if (diagnosis->folder[0])
		snprintf(facts->address, sizeof(facts->address), "%s/socket", diagnosis->folder);
	message_step(invocation->messenger, "asked %s: %s %s, %s", facts->address, facts->software,
		     facts->version, facts->mode);
	found->place = facts->address;
	check_server(found, facts, invocation->options);
	if (invocation->argc == 0)
		check_permissions(found, facts, invocation->options, NULL);
	for (int i = 0; i < invocation->argc; i++)
		if (!check_permissions(found, facts, invocation->options, invocation->argv[i]))
			break;
	found->place = NULL;
	return 0;
}

static int run_checks(struct diagnosis *diagnosis, struct error *err)
{
	const struct invocation *invocation = diagnosis->invocation;
	const int64_t timeout_ms = invocation->options->connect_timeout_ms;
	struct cluster_nodes *nodes = &diagnosis->nodes;

	if (cluster_nodes_open(nodes, invocation->server, invocation->messenger, timeout_ms,
			       clock_ms() + timeout_ms, err) < 0)
		return -1;
	if (nodes->count == 0)
		return 0;
	find_private(diagnosis);
	diagnosis->facts = calloc(nodes->count, sizeof(*diagnosis->facts));
	if (!diagnosis->facts)
		return fail(err, STATUS_OS, "cannot examine the server: out of memory");
	for (size_t i = 0; i < nodes->count; i++)
		if (check_node(diagnosis, &nodes->clients[i], err) < 0)
			return -1;
	if (diagnosis->facts_count == 0)
		return -1;
	check_times(diagnosis);
	message_step(invocation->messenger, "checked the server and its user");
	return check_locks(diagnosis, err);
}

/* wrap says the same on this host before it starts COMMAND. */
static void check_ground(struct findings *found)
{
	struct ground ground;

	ground_look(&ground);
	if (ground.why) {
		find(found, WARNING, "processes", "%s", ground.why);
		advise(found,
		       "wrap cannot see what COMMAND starts: it stops COMMAND and its process group "
		       "only.",
		       "mount /proc here: unshare --mount-proc, bwrap --proc /proc");
	}
	ground_leave(&ground);
}

/* All nodes of a cluster may be well while none of them has some of its slots. */
static void check_slots(struct diagnosis *diagnosis)
{
	struct findings *found = &diagnosis->findings;
	char text[FINDING_MAX_BYTES];

	for (size_t gap = 0; gap <= diagnosis->nodes.count; gap++)
		if (cluster_nodes_show_gap(&diagnosis->nodes, gap, text, sizeof(text))) {
			find(found, ERROR, "slots", "%s", text);
			advise(found, "Locks in these slots can be neither taken nor seen (69).",
			       "find the nodes that are down: redis-cli --cluster check HOST:PORT");
		}
}

int diagnose(struct diagnosis *diagnosis, const struct invocation *invocation, struct error *err)
{
	struct findings *found = &diagnosis->findings;
	int result;

	*diagnosis = (struct diagnosis){.invocation = invocation};
	check_ground(found);
	result = run_checks(diagnosis, err);
	check_slots(diagnosis);
	/* the server cannot be asked, or not any more; on a cluster check_slots may have said so */
	if (result < 0 && (diagnosis->facts_count > 0 || found->worst < ERROR)) {
		find(found, ERROR, "reach", "%s", err->text);
		advise_on(found,
			  diagnosis->facts_count > 0
				  ? "The checks ended there."
				  : "No lock can be taken, renewed or given back.",
			  err, invocation->server);
	}
	return result;
}

void diagnosis_free(struct diagnosis *diagnosis)
{
	for (size_t i = 0; i < diagnosis->facts_count; i++)
		facts_free(&diagnosis->facts[i]);
	free(diagnosis->facts);
	cluster_nodes_close(&diagnosis->nodes);
}
