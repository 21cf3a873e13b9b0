/* fairlock doctor: whether a server is fit to hold locks, and how we would reach it. Asks the
 * server for all that it tells, and for nothing that it is known to refuse: refusals stand in its
 * ACL log. Changes nothing. Each check adds its findings, good or bad; those of one server first,
 * then those of all together, then the locks. */
#include <inttypes.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "doctor/report.h"
#include "lock/lock.h"
#include "lock/lock_list.h"
#include "redis/local_server.h"
#include "redis/reply.h"
#include "redis/server_error.h"
#include "redis/tls.h"
#include "supervise/processes.h"

#define PRIVATE_CLIENTS_LEAST 1000
#define CLOCK_MOST_MS 1000
#define LATEST_S 100000000000 /* some thousand years from now */
#define REPLICAS_MAX 32
#define LAG_MOST_S 10

/* A person waits for the answer. */
#define CHECKING_MS 10000

enum {
	EXIT_WARNINGS = 1,
	EXIT_ERRORS = 2,
};

static bool has_text(const struct facts *facts, const char *name, const char *text)
{
	return strcmp(facts_text(facts, name), text) == 0;
}

/* A fact as a number; -1: it is not known, or is none. */
static long long number_of(const struct facts *facts, const char *name)
{
	const char *text = facts_text(facts, name);
	char *end;
	const long long number = strtoll(text, &end, 10);

	return end == text || *end != '\0' || number < 0 ? -1 : number;
}

static void find_address(struct facts *facts)
{
	const struct client *client = facts->client;
	struct sockaddr_storage address = {0};
	socklen_t length = sizeof(address);
	char host[64], port[8];

	if (facts->server->kind == SERVER_UNIX)
		snprintf(facts->address, sizeof(facts->address), "%s", facts->server->path);
	if (getpeername(client->connection.fd, (struct sockaddr *)&address, &length) < 0 ||
	    address.ss_family == AF_UNIX ||
	    getnameinfo((struct sockaddr *)&address, length, host, sizeof(host), port, sizeof(port),
			NI_NUMERICHOST | NI_NUMERICSERV) != 0)
		return;
	snprintf(facts->address, sizeof(facts->address), strchr(host, ':') ? "[%s]:%s" : "%s:%s",
		 host, port);
}

/* ---- Facts ---- */

/* HELLO tells these to every user. */
static int write_greeting(struct facts *facts, FILE *text, struct error *err)
{
	static const char *const names[] = {"server", "version", "mode", "role"};
	const struct request request = {.argv = {"HELLO"}, .argc = 1};

	if (facts_call(facts->client, &request, err) != 0)
		return -1;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		const char *value = reply_field(facts->client->reply, names[i]);

		fprintf(text, "%s:%s\n", names[i], value ? value : "");
	}
	return 0;
}

static int write_info(struct facts *facts, FILE *text, struct error *err)
{
	const struct request request = {.argv = {"INFO"}, .argc = 1};
	int result = 1;

	if (!strstr(facts->denied, "+info"))
		result = facts_call(facts->client, &request, err);
	if (result != 0)
		return result;
	if (!reply_string(facts->client->reply))
		return reply_nonsense(err);
	fputs(reply_string(facts->client->reply), text);
	return 0;
}

/* Reads no more settings after a refusal. */
static int write_settings(struct facts *facts, FILE *text, struct error *err)
{
	static const char *const names[] = {"save", "appendfsync", "stop-writes-on-bgsave-error",
					    "min-replicas-to-write", "maxclients"};
	int result = strstr(facts->denied, "+config") ? 1 : 0;

	for (size_t i = 0; result == 0 && i < sizeof(names) / sizeof(names[0]); i++) {
		const struct request request = {.argv = {"CONFIG", "GET", names[i]}, .argc = 3};
		const char *value = NULL;

		result = facts_call(facts->client, &request, err);
		if (result == 0)
			value = reply_field(facts->client->reply, names[i]);
		/* an empty "save" says that the server never saves, not that we do not know */
		if (value)
			fprintf(text, "%s:%s\n", names[i], *value || i > 0 ? value : "never");
	}
	facts->can_read_settings = result == 0;
	return result;
}

/* Asks for all that the user may know. */
static int read_facts(struct facts *facts, const struct options *options, struct error *err)
{
	FILE *text = open_memstream(&facts->text, &facts->size);
	const bool failed =
		text &&
		(write_greeting(facts, text, err) < 0 || permissions_ask(facts, options, err) < 0 ||
		 write_info(facts, text, err) < 0 || write_settings(facts, text, err) < 0);

	if (!text || fclose(text) != 0)
		return fail(err, STATUS_OS,
			    "cannot store the answers of the server: out of memory");
	for (size_t i = 0; i < facts->size; i++)
		if (facts->text[i] == '\r' || facts->text[i] == '\n')
			facts->text[i] = '\0';
	return failed ? -1 : 0;
}

static int read_clock(struct facts *facts, struct error *err)
{
	const struct request request = {.argv = {"TIME"}, .argc = 1};
	const int64_t asked_ms = wall_ms();
	const struct redisReply *reply;
	const int result = facts_call(facts->client, &request, err);
	long long seconds;

	if (result != 0)
		return result;
	reply = facts->client->reply;
	seconds = strtoll(reply_text(reply, 0), NULL, 10);
	if (!reply_fits(reply, "ss") || seconds < 0 || seconds > LATEST_S)
		return reply_nonsense(err);
	facts->has_clock = true;
	facts->trip_ms = wall_ms() - asked_ms;
	facts->ahead_ms = seconds * 1000 + strtoll(reply_text(reply, 1), NULL, 10) / 1000 -
			  asked_ms - facts->trip_ms / 2;
	return 0;
}

/* Fills *facts. Fails if the server is gone. */
static int collect(struct facts *facts, struct client *client, const struct options *options,
		   struct error *err)
{
	const struct server *server = client->connection.server;

	*facts = (struct facts){.client = client,
				.server = server,
				.user = server->user ? server->user : "default"};
	if (read_facts(facts, options, err) < 0)
		return -1;
	facts->vendor = has_text(facts, "server", "valkey") ? "Valkey" : "Redis";
	facts->is_replica = has_text(facts, "role", "replica");
	facts->tls = tls_protocol(client->connection.redis);
	find_address(facts);
	facts->grants = grants_ask(client, &facts->refusal);
	return read_clock(facts, err) < 0 ? -1 : 0;
}

/* ---- One server ---- */

/* The remedy is another value of a setting. */
#define SETTING(words)                                                                             \
	"CONFIG SET " words ", and the same setting in its configuration file: a restart forgets " \
	"CONFIG SET"

static bool is_private(const struct facts *facts)
{
	return facts->server->kind == SERVER_LOCAL;
}

static void check_version(struct diagnosis *all, const struct facts *facts)
{
	const char *version = facts_text(facts, "version");
	int major = 0, minor = 0;

	sscanf(version, "%d.%d", &major, &minor);
	if (major > 6 || (major == 6 && minor >= 2))
		pass(all, "version", "%s %s, RESP3", facts->vendor, version);
	else
		find(all, ERROR, "version",
		     "No lock works: fairlock's scripts use commands that it does not have.",
		     "use Redis 6.2 or later, or Valkey 7.2 or later", "%s %s is older than 6.2",
		     facts->vendor, version);
}

static void check_role(struct diagnosis *all, const struct facts *facts)
{
	const char *host = facts_text(facts, "master_host");
	const char *port = facts_text(facts, "master_port");

	if (!facts->is_replica)
		return;
	find(all, ERROR, "role", "A replica takes no writes: no lock can be taken (69).",
	     "name its master in the URL, or the sentinels: redis+sentinel://HOST:PORT/MASTER",
	     "this is a replica, of %.200s:%.20s", *host ? host : "?", *port ? port : "?");
	all->is_explained = true;
}

static void check_memory(struct diagnosis *all, const struct facts *facts)
{
	const long long most = number_of(facts, "maxmemory");
	const long long used = number_of(facts, "used_memory");
	static const char remedy[] =
		"raise maxmemory, or find out what fills it: redis-cli --bigkeys";
	const char *policy = facts_text(facts, "maxmemory_policy");
	const bool evicts = most > 0 && strcmp(policy, "noeviction") != 0;

	if (most < 0 || !*policy)
		return;
	if (evicts)
		find(all, ERROR, "memory",
		     "When memory is full, the server deletes keys, locks too: two jobs may hold "
		     "one lock.",
		     SETTING("maxmemory-policy noeviction"),
		     "maxmemory is set, and maxmemory-policy is %s", policy);
	/* being asked takes memory, too: what the server did decides, if it is known */
	if (most > 0 && used >= most &&
	    (facts->grants == GRANTS_NONE || (facts->grants == GRANTS_NOT_KNOWN && !evicts))) {
		find(all, ERROR, "memory",
		     "The server lets no lock be taken (OOM, 69); leases can be renewed, and locks "
		     "given back.",
		     remedy, "memory is full: %lld bytes of maxmemory's %lld are in use", used,
		     most);
		all->is_explained = true;
	} else if (!evicts && most > 0 && used > most / 10 * 9) {
		find(all, WARNING, "memory", "When it is full, no lock can be taken (69).", remedy,
		     "%lld %% of maxmemory is in use", used / (most / 100 + 1));
	} else if (!evicts) {
		pass(all, "memory", "%s",
		     most > 0 ? "maxmemory-policy is noeviction"
			      : "no maxmemory, so no key is evicted");
	}
	/* fairlock sets none there, and the server forgets it when it ends */
	if (!evicts && most > 0 && used > most / 10 * 9 && is_private(facts))
		advise(all,
		       "somebody has set maxmemory on this private server: redis-cli -s %.300s "
		       "CONFIG SET maxmemory 0",
		       facts->address);
}

static void check_disk(struct diagnosis *all, const struct facts *facts)
{
	const bool is_aof = has_text(facts, "aof_last_write_status", "err");
	const bool is_snapshot = has_text(facts, "rdb_last_bgsave_status", "err") &&
				 !has_text(facts, "stop-writes-on-bgsave-error", "no");

	if (!is_aof && !is_snapshot)
		return;
	find(all, ERROR, "disk", "The server takes no writes (MISCONF): no lock can be taken (69).",
	     "see the server's log: is the disk full?", "%s",
	     is_aof ? "the append-only file cannot be written"
		    : "the last snapshot could not be written");
	all->is_explained = true;
}

static void check_persistence(struct diagnosis *all, const struct facts *facts)
{
	const long long appending = number_of(facts, "aof_enabled");
	const bool is_never = has_text(facts, "save", "never");
	const char *fsync = facts_text(facts, "appendfsync");

	if (appending > 0) {
		pass(all, "persistence", "append-only file%s",
		     !*fsync ? ""
		     : strcmp(fsync, "always") == 0
			     ? ", fsync always: nothing is lost, each change waits for the disk"
		     : strcmp(fsync, "no") == 0
			     ? ", fsync no: survives its own end, not a power cut"
			     : ", fsync every second: a crash loses the last 2 s at most, and a "
			       "slow disk delays changes as long");
	} else if (appending == 0) {
		find(all, is_never ? WARNING : NOTE, "persistence",
		     "After a restart or a crash the server may have forgotten locks. Each wrap "
		     "takes its lock again, unless another job was first.",
		     SETTING("appendonly yes"), "%s",
		     is_never ? "nothing is written to disk"
		     : *facts_text(facts, "save")
			     ? "snapshots only, no append-only file"
			     : "no append-only file; whether it takes snapshots is not known");
	}
}

/* root's cron and a user's shell would each have a server of their own. */
static void check_users(struct diagnosis *all, const struct facts *facts)
{
	const bool is_named = all->invocation->options->url != NULL;

	if (!is_private(facts))
		return;
	find(all, is_named ? NOTE : WARNING, "users",
	     "Each user of each host has a private server: jobs of other users, such as root's "
	     "cron, and of other hosts run beside those of this user.",
	     NULL, "%slocal: is for this user on this host alone",
	     is_named ? "" : "no url is set, and ");
	advise(all,
	       "name one server for all users: url = redis://HOST, or unix:PATH, in "
	       "/etc/fairlock.conf%s",
	       is_named ? "" : "; or url = local:, if that is meant");
}

static void check_clients(struct diagnosis *all, const struct facts *facts)
{
	const long long now = number_of(facts, "connected_clients");
	const long long most = number_of(facts, "maxclients");

	if (now < 0 || most <= 0)
		return;
	if (now < most - most / 5 && (!is_private(facts) || most >= PRIVATE_CLIENTS_LEAST))
		pass(all, "connections", "few of %lld are in use", most);
	else
		find(all, WARNING, "connections",
		     "Each waiter and each holder needs one. Without a free one, a job fails (69).",
		     is_private(facts)
			     ? "end it, as shown above; the next fairlock starts it again, with "
			       "the limit of open files (ulimit -n) that it has itself"
			     : "raise maxclients, and the server's limit of open files",
		     "%lld of %lld are in use", now, most);
}

static void check_unknown(struct diagnosis *all, const struct facts *facts)
{
	const bool is_told = number_of(facts, "maxmemory") >= 0;

	if (!is_told || !facts->can_read_settings)
		find(all, NOTE, "not known", "This user may not see that.",
		     "ask the server's administrator, or run doctor as a user with +info "
		     "+config|get",
		     "%s%s",
		     is_told ? ""
			     : "whether it evicts keys, what survives a restart, how many replicas "
			       "there are, how many connections are in use",
		     facts->can_read_settings ? ""
		     : is_told                ? "limits and other settings"
					      : ", its settings");
}

/* ---- Its replicas ---- */

/* "ip=10.0.0.2,port=6379,state=online,offset=42,lag=0" */
static bool is_in_sync(const char *replica)
{
	const char *lag = strstr(replica, ",lag=");
	const long long lag_s = lag ? strtoll(lag + strlen(",lag="), NULL, 10) : 0;

	return strstr(replica, ",state=online,") && lag_s >= 0 && lag_s <= LAG_MOST_S;
}

static void report_no_replica(struct diagnosis *all, const struct facts *facts)
{
	if (is_private(facts))
		pass(all, "replicas", "none, and none needed on one host");
	else if (facts->server->kind == SERVER_SENTINEL || has_text(facts, "mode", "cluster"))
		find(all, WARNING, "replicas",
		     "When this server dies, none takes over: until it is back, no lock can be "
		     "taken or renewed.",
		     "add a replica", "there is none");
	else
		find(all, NOTE, "replicas",
		     "While this server is down, no lock can be taken, and jobs stop when their "
		     "leases end. In return, no failover forgets a lock.",
		     "see SAFETY in fairlock(7) before adding one", "there is none");
}

/* Compares how many replicas are in sync with what the server and --replicas want. */
static void check_in_sync(struct diagnosis *all, const struct facts *facts, long long count,
			  long long in_sync)
{
	const long long demanded = number_of(facts, "min-replicas-to-write");
	const long long wanted = all->invocation->options->replicas;

	if (in_sync < count)
		find(all, WARNING, "replicas", "A failover to one of them would forget locks.",
		     "see the replica's log", "%lld of %lld are not in sync", count - in_sync,
		     count);
	if (in_sync < demanded)
		find(all, ERROR, "replicas",
		     "The server takes no writes (NOREPLICAS): no lock can be taken (69).",
		     "mend the replicas, or lower min-replicas-to-write",
		     "%lld in sync, min-replicas-to-write is %lld", in_sync, demanded);
	if (in_sync < wanted) {
		find(all, ERROR, "replicas", "Each grant is undone, and the job fails (69).",
		     "mend the replicas, or lower --replicas", "%lld in sync, --replicas is %lld",
		     in_sync, wanted);
	} else if (in_sync > 0 && wanted >= count) {
		pass(all, "replicas", "%lld in sync, and --replicas waits for them", in_sync);
	} else if (in_sync > 0) {
		find(all, NOTE, "replicas",
		     "A failover may forget the latest grants: two jobs can hold one lock until "
		     "the first one renews it.",
		     NULL, "%lld in sync, --replicas is %lld", in_sync, wanted);
		advise(all, "set replicas = %lld in fairlock.conf, if each grant may wait for them",
		       count);
	}
	all->is_explained |= in_sync < demanded;
}

static void check_replicas(struct diagnosis *all, const struct facts *facts)
{
	const long long count = number_of(facts, "connected_slaves");
	long long in_sync = 0;
	char field[24];

	if (facts->is_replica || count < 0)
		return;
	for (int i = 0; i < REPLICAS_MAX; i++) {
		snprintf(field, sizeof(field), "slave%d", i);
		in_sync += is_in_sync(facts_text(facts, field));
	}
	if (count == 0)
		report_no_replica(all, facts);
	check_in_sync(all, facts, count, in_sync);
}

/* ---- Its grants, and its clock ---- */

static void check_grants(struct diagnosis *all, const struct facts *facts)
{
	char remedy[REMEDY_MAX_BYTES];

	if (facts->grants == GRANTS_NONE && !all->is_explained)
		find(all, ERROR, "grants", "No lock can be taken while that is so (69).",
		     server_error_remedy(remedy, &facts->refusal, facts->server), "%.400s",
		     facts->refusal.text);
}

static void check_clock(struct diagnosis *all, const struct facts *facts)
{
	const int64_t off_ms = llabs(facts->ahead_ms);

	if (facts->has_clock && off_ms < CLOCK_MOST_MS)
		pass(all, "clock", "differs from ours by less than %" PRId64 " ms",
		     off_ms + facts->trip_ms / 2 + 1);
	else if (facts->has_clock)
		find(all, NOTE, "clock",
		     "No lock depends on it, but fencing tokens, and times in lists, are by the "
		     "server's clock.",
		     "keep both clocks right (NTP)", "%.1f s %s ours", (double)off_ms / 1e3,
		     facts->ahead_ms > 0 ? "ahead of" : "behind");
}

/* ---- Locks ---- */

#define QUOTED_MAX_BYTES 400

static int look(struct client *client, const struct lock_keys *keys, const char *what,
		struct error *err)
{
	struct request request;

	wire_look(keys, &request, what);
	return facts_call(client, &request, err);
}

static int check_lease(struct diagnosis *all, const struct lock_keys *keys, struct client *client,
		       struct error *err)
{
	const struct redisReply *reply;
	char quoted[QUOTED_MAX_BYTES];

	if (look(client, keys, "status", err) != 0)
		return -1;
	reply = client->reply;
	if (!reply_fits(reply, "sii"))
		return reply_nonsense(err);
	if (!*reply_text(reply, 0))
		return 0;
	all->tally.held++;
	shell_name(quoted, sizeof(quoted), keys->name);
	if (reply_number(reply, 23) == 1) {
		find(all, WARNING, "leases",
		     "The server's clock was ahead. The next process that asks for the lock "
		     "shortens the lease.",
		     NULL, "lock %.200s has a longer lease than its holder asked for", keys->name);
		advise(all, "fairlock wrap --skip %s true", quoted);
	}
	if (reply_number(reply, 2) < 0) {
		find(all, WARNING, "leases", "Only a release ends it, even if its holder is dead.",
		     NULL, "lock %.200s has no time to live; its owner is %.80s", keys->name,
		     reply_text(reply, 0));
		advise(all, "fairlock release --force %s", quoted);
	}
	return 0;
}

static void report_dead(struct diagnosis *all, const char *name, const char *id, bool is_ours)
{
	char quoted[QUOTED_MAX_BYTES], quoted_id[QUOTED_MAX_BYTES];

	find(all, is_ours ? NOTE : WARNING, "queues",
	     is_ours ? "The waiter is dead, or is connecting again. The next grant passes it over."
		     : "When its turn comes, the waiters behind it lose 5 s; Redisson's waiters "
		       "lose 5 min.",
	     NULL, "%.80s%s waits for lock %.200s and is not connected", id,
	     is_ours ? "" : ", of Redisson,", name);
	advise(all, "fairlock queue --remove %.80s %s",
	       shell_name(quoted_id, sizeof(quoted_id), id),
	       shell_name(quoted, sizeof(quoted), name));
}

static int check_queue(struct diagnosis *all, const struct lock_keys *keys, struct client *client,
		       struct error *err)
{
	const struct redisReply *queue;

	if (look(client, keys, "queue", err) != 0)
		return -1;
	queue = client->reply;
	if (!reply_fits(queue, ""))
		return reply_nonsense(err);
	for (size_t i = 0; i < reply_count(queue); i++) {
		const struct redisReply *waiter = reply_at(queue, i);

		if (!reply_fits(waiter, "sssii"))
			return reply_nonsense(err);
		if (reply_number(waiter, 4) == 1)
			all->tally.waiters++;
		else
			report_dead(all, keys->name, reply_text(waiter, 0),
				    reply_number(waiter, 3) == 1);
	}
	return 0;
}

/* Counts no name that something else uses, nor another spelling of a lock: doctor judges locks
 * only. */
static int check_lock(void *diagnosis, const char *name, struct client *client, struct error *err)
{
	struct diagnosis *all = diagnosis;
	struct lock_keys keys;

	if (clock_ms() >= all->until_ms) {
		all->tally.left++;
		return 0;
	}
	if (lock_keys_make(&keys, name, err) < 0)
		return -1;
	if (check_lease(all, &keys, client, err) == 0 && check_queue(all, &keys, client, err) == 0)
		all->tally.locks++;
	else if (err->status == STATUS_UNAVAILABLE)
		return -1;
	else if (err->status == STATUS_REFUSED)
		find(all, NOTE, "locks", "doctor cannot judge it.",
		     "give the user what fairlock doctor --acl NAME prints",
		     "this user may not look at lock %.300s", name);
	else
		find(all, err->status == STATUS_CONFIG ? ERROR : NOTE, "locks",
		     "No lock of this name can be taken.", "use another name", "%.400s", err->text);
	return 0;
}

/* Checks the locks that the user named, wherever they are. */
static int check_named(struct diagnosis *all, struct error *err)
{
	const struct invocation *invocation = all->invocation;
	struct client client;
	int result = 0;

	client_init(&client, invocation->server, invocation->messenger,
		    invocation->options->connect_timeout_ms);
	for (int i = 0; result == 0 && i < invocation->argc; i++)
		result = check_lock(all, invocation->argv[i], &client, err);
	client_close(&client);
	return result;
}

/* Returns 0, or -1 when the server cannot be asked any more. */
static int check_locks(struct diagnosis *all, struct error *err)
{
	static const char unseen[] = "doctor cannot see locks without an end, nor dead waiters.";
	const bool is_listed = all->invocation->argc == 0;
	const char *scan = strstr(all->facts->denied, "+scan");
	const struct tally *tally = &all->tally;
	const int64_t timeout_ms = all->invocation->options->connect_timeout_ms;
	int result = 0;

	all->until_ms = clock_ms() + CHECKING_MS;
	if (!is_listed)
		result = check_named(all, err);
	else if (!scan)
		result = for_each_lock(&all->nodes, LOCK_STATE, clock_ms() + timeout_ms, check_lock,
				       all, err);
	if (is_listed && (scan || (result < 0 && err->status == STATUS_REFUSED))) {
		find(all, NOTE, "locks", unseen,
		     "name the locks: fairlock doctor NAME...; or give the user +scan and all keys",
		     "not known: this user may not list them");
		return 0;
	}
	/* another finding says why: the cluster lacks a part, or the server a command */
	if (result < 0 && err->status == STATUS_UNAVAILABLE &&
	    (cluster_nodes_unseen(&all->nodes) || strstr(err->text, "unknown command") ||
	     strstr(err->text, "lacks a command"))) {
		find(all, NOTE, "locks", unseen, "run doctor again when that is mended",
		     "some were not looked at: %s", err->text);
		return 0;
	}
	if (result < 0)
		return -1;
	if (tally->left > 0)
		find(all, NOTE, "locks", NULL, NULL, "%zu were not looked at: it took too long",
		     tally->left);
	pass(all, "locks", "%zu looked at, %zu held; %zu waiter%s present", tally->locks,
	     tally->held, tally->waiters, tally->waiters == 1 ? "" : "s");
	return 0;
}

/* ---- All of it ---- */

/* In this order: check_grants knows what those before it have explained. */
static void (*const server_checks[])(struct diagnosis *all, const struct facts *facts) = {
	check_version, check_role,  check_memory,  check_disk,    check_persistence, check_replicas,
	check_grants,  check_users, check_clients, check_unknown, permissions_check, check_clock,
};

static void find_private(struct diagnosis *all)
{
	const int folder = all->nodes.list->client.connection.local_folder;
	char link[32];
	ssize_t length;

	if (folder < 0)
		return;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", folder);
	length = readlink(link, all->folder, sizeof(all->folder) - 1);
	all->folder[length > 0 ? length : 0] = '\0';
	all->pid = local_server_pid(folder);
}

/* Asks one server for all that it tells, and checks it. Returns 0; 1 if the cluster can be seen
 * without it; or -1. */
static int check_node(struct diagnosis *all, struct client *client, struct error *err)
{
	const struct invocation *invocation = all->invocation;
	struct facts *facts = &all->facts[all->facts_count];

	if (collect(facts, client, invocation->options, err) < 0) {
		free(facts->text);
		return cluster_nodes_lose(&all->nodes, client, err) ? 1 : -1;
	}
	all->facts_count++;
	if (all->folder[0])
		snprintf(facts->address, sizeof(facts->address), "%s/socket", all->folder);
	message_step(invocation->messenger, "asked %s: %s %s, %s", facts->address,
		     facts_text(facts, "server"), facts_text(facts, "version"),
		     facts_text(facts, "mode"));
	all->place = facts->address;
	all->is_explained = false;
	for (size_t i = 0; i < sizeof(server_checks) / sizeof(server_checks[0]); i++)
		server_checks[i](all, facts);
	all->place = NULL;
	return 0;
}

static int run_checks(struct diagnosis *all, struct error *err)
{
	const struct invocation *invocation = all->invocation;
	struct cluster_nodes *nodes = &all->nodes;

	if (cluster_nodes_open(nodes, invocation->server, invocation->messenger,
			       invocation->options->connect_timeout_ms, false, err) < 0)
		return -1;
	if (nodes->count == 0)
		return 0;
	find_private(all);
	all->facts = calloc(nodes->count, sizeof(*all->facts));
	if (!all->facts)
		return fail(err, STATUS_OS, "cannot examine the server: out of memory");
	for (size_t i = 0; i < nodes->count; i++)
		if (check_node(all, &nodes->list[i].client, err) < 0)
			return -1;
	if (all->facts_count == 0)
		return -1;
	message_step(invocation->messenger, "checked the server and its user");
	return check_locks(all, err);
}

/* wrap says the same on this host before it starts COMMAND. */
static void check_ground(struct diagnosis *all)
{
	struct ground ground;

	ground_look(&ground);
	if (ground.why)
		find(all, WARNING, "processes",
		     "wrap cannot see what COMMAND starts: it stops COMMAND and its process group "
		     "only.",
		     "mount /proc here: unshare --mount-proc, bwrap --proc /proc", "%s",
		     ground.why);
	ground_leave(&ground);
}

/* All nodes of a cluster may be well while none of them has some of its slots. */
static void check_slots(struct diagnosis *all)
{
	char text[FINDING_MAX_BYTES];

	for (size_t gap = 0; gap <= all->nodes.count; gap++)
		if (cluster_nodes_show_gap(&all->nodes, gap, text, sizeof(text)))
			find(all, ERROR, "slots",
			     "Locks in these slots can be neither taken nor seen (69).",
			     "find the nodes that are down: redis-cli --cluster check HOST:PORT",
			     "%s", text);
}

/* Fails if the checks ended early, which is a finding, too. */
static int diagnose(struct diagnosis *all, const struct invocation *invocation, struct error *err)
{
	char remedy[REMEDY_MAX_BYTES];
	int result;

	*all = (struct diagnosis){.invocation = invocation};
	check_ground(all);
	result = run_checks(all, err);
	check_slots(all);
	/* the server cannot be asked, or not any more; on a cluster check_slots may have said so */
	if (result < 0 && (all->facts_count > 0 || all->worst < ERROR))
		find(all, ERROR, "reach",
		     all->facts_count > 0 ? "The checks ended there."
					  : "No lock can be taken, renewed or given back.",
		     server_error_remedy(remedy, err, invocation->server), "%s", err->text);
	return result;
}

/* ---- The command ---- */

static int print_acl(const struct invocation *invocation, struct error *err)
{
	int result = invocation->argc == 0 ? permissions_print(invocation, NULL, err) : 0;

	for (int i = 0; result == 0 && i < invocation->argc; i++)
		result = permissions_print(invocation, invocation->argv[i], err);
	return result;
}

static int run_doctor(const struct invocation *invocation, int *status, struct error *err)
{
	struct diagnosis diagnosis;
	int result;

	if (invocation->options->acl)
		return print_acl(invocation, err);
	result = diagnose(&diagnosis, invocation, err);
	report_print(&diagnosis);
	*status = diagnosis.worst == ERROR     ? EXIT_ERRORS
		  : diagnosis.worst == WARNING ? EXIT_WARNINGS
					       : STATUS_OK;
	/* people have read it among the findings */
	if (result < 0 && !invocation->options->json) {
		*status = (int)err->status;
		result = 0;
	}
	if (result < 0)
		fflush(stdout); /* before main reports it; else main finds out why that fails */
	for (size_t i = 0; i < diagnosis.facts_count; i++)
		free(diagnosis.facts[i].text);
	free(diagnosis.facts);
	cluster_nodes_close(&diagnosis.nodes);
	return result;
}

const struct command doctor_command = {
	.name = "doctor",
	.operands = "[NAME...]",
	.summary = "check whether the server is fit to hold locks",
	.examples = "  fairlock doctor                             the server of the settings\n"
		    "  fairlock doctor -u redis://db.example.com   another server\n"
		    "  fairlock doctor --acl backup | redis-cli    a user for this lock\n",
	.bit = COMMAND_DOCTOR,
	.shows_options = true,
	.run = run_doctor,
};
