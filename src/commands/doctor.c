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
#include "base/message.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/options.h"
#include "doctor/report.h"
#include "lock/lock.h"
#include "lock/lock_list.h"
#include "redis/client.h"
#include "redis/local_server.h"
#include "redis/reply.h"
#include "redis/server_error.h"
#include "redis/tls.h"
#include "supervise/processes.h"

#define PRIVATE_CLIENTS_LEAST 1000
#define FACT_MAX_BYTES 256
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

/* ---- Who it is ---- */

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

static void copy_field(char *to, size_t size, const struct client *client, const char *key)
{
	const char *text = reply_field(client->reply, key);

	snprintf(to, size, "%s", text ? text : "");
}

/* Fills *facts with what every user is told. */
static int begin(struct facts *facts, struct client *client, struct error *err)
{
	const struct request request = {.argv = {"HELLO"}, .argc = 1};
	const struct server *server = client->connection.server;
	char role[16];

	*facts = (struct facts){.client = client, .server = server};
	if (facts_call(client, &request, err) < 0)
		return -1;
	copy_field(facts->software, sizeof(facts->software), client, "server");
	copy_field(facts->version, sizeof(facts->version), client, "version");
	copy_field(facts->mode, sizeof(facts->mode), client, "mode");
	copy_field(role, sizeof(role), client, "role");
	facts->is_replica = strcmp(role, "replica") == 0;
	facts->user = server->user ? server->user : "default";
	facts->vendor = strcmp(facts->software, "valkey") == 0 ? "Valkey" : "Redis";
	facts->tls = tls_protocol(client->connection.redis);
	find_address(facts);
	return 0;
}

/* ---- INFO and settings ---- */

static int add_info(const struct facts *facts, FILE *fields, struct error *err)
{
	const struct request request = {.argv = {"INFO"}, .argc = 1};

	if (strstr(facts->denied, "+info"))
		return 0;
	if (facts_call(facts->client, &request, err) < 0)
		return facts_is_gone(err) ? -1 : 0;
	if (!reply_string(facts->client->reply))
		return reply_nonsense(err);
	fprintf(fields, "\n%s", reply_string(facts->client->reply));
	return 0;
}

/* Reads no more settings after a refusal. */
static int add_settings(struct facts *facts, FILE *fields, struct error *err)
{
	static const char *const names[] = {"save", "appendfsync", "stop-writes-on-bgsave-error",
					    "min-replicas-to-write", "maxclients"};

	facts->can_read_settings = !strstr(facts->denied, "+config");
	for (size_t i = 0; facts->can_read_settings && i < sizeof(names) / sizeof(names[0]); i++) {
		const struct request request = {.argv = {"CONFIG", "GET", names[i]}, .argc = 3};
		const char *value;

		facts->can_read_settings = facts_call(facts->client, &request, err) == 0;
		if (!facts->can_read_settings)
			return facts_is_gone(err) ? -1 : 0;
		value = reply_field(facts->client->reply, names[i]);
		/* an empty "save" says that the server never saves, not that we do not know */
		if (value && (*value || i == 0))
			fprintf(fields, "\n%s:%s", names[i], *value ? value : "never");
	}
	return 0;
}

static int read_fields(struct facts *facts, struct error *err)
{
	size_t size;
	FILE *fields = open_memstream(&facts->fields, &size);
	int result = fields ? add_info(facts, fields, err) : 0;

	if (fields && result == 0)
		result = add_settings(facts, fields, err);
	if (!fields || fclose(fields) != 0)
		return fail(err, STATUS_OS,
			    "cannot store the answers of the server: out of memory");
	return result;
}

/* A field of INFO or a setting; NULL: it is not known. value has room for its text. */
static const char *text_of(const struct facts *facts, const char *name, char value[FACT_MAX_BYTES])
{
	char line[64];
	const char *found;

	snprintf(line, sizeof(line), "\n%s:", name);
	found = facts->fields ? strstr(facts->fields, line) : NULL;
	if (!found)
		return NULL;
	found += strlen(line);
	snprintf(value, FACT_MAX_BYTES, "%.*s", (int)strcspn(found, "\r\n"), found);
	return value;
}

/* The same as a number; -1: it is not known, or is none. */
static long long number_of(const struct facts *facts, const char *name)
{
	char value[FACT_MAX_BYTES], *end;
	long long number;

	if (!text_of(facts, name, value))
		return -1;
	number = strtoll(value, &end, 10);
	return end == value || *end != '\0' || number < 0 ? -1 : number;
}

/* ---- Its clock ---- */

static int read_clock(struct facts *facts, struct error *err)
{
	const struct request request = {.argv = {"TIME"}, .argc = 1};
	const int64_t asked_ms = wall_ms();
	const struct redisReply *reply;
	long long seconds;

	if (facts_call(facts->client, &request, err) < 0)
		return -1;
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

/* Asks for all that is not in facts->denied. Fails if the server is gone. */
static int collect(struct facts *facts, struct error *err)
{
	if (read_fields(facts, err) < 0)
		return -1;
	facts->grants = grants_ask(facts->client, &facts->refusal);
	return read_clock(facts, err) < 0 && facts_is_gone(err) ? -1 : 0;
}

/* ---- One server ---- */

/* Proposes a value for a setting. */
static void advise_setting(struct diagnosis *all, const char *setting)
{
	advise(all,
	       "CONFIG SET %s, and the same setting in its configuration file: a restart forgets "
	       "CONFIG SET",
	       setting);
}

static bool is_private(const struct facts *facts)
{
	return facts->server->kind == SERVER_LOCAL;
}

static bool has_text(const struct facts *facts, const char *name, const char *text)
{
	char value[FACT_MAX_BYTES];

	return text_of(facts, name, value) && strcmp(value, text) == 0;
}

static void check_version(struct diagnosis *all, const struct facts *facts)
{
	int major = 0, minor = 0;

	sscanf(facts->version, "%d.%d", &major, &minor);
	if (major > 6 || (major == 6 && minor >= 2))
		pass(all, "version", "%s %s, RESP3", facts->vendor, facts->version);
	else
		find(all, ERROR, "version",
		     "No lock works: fairlock's scripts use commands that it does not have.",
		     "use Redis 6.2 or later, or Valkey 7.2 or later", "%s %s is older than 6.2",
		     facts->vendor, facts->version);
}

static void check_role(struct diagnosis *all, const struct facts *facts)
{
	char host[FACT_MAX_BYTES] = "?", port[FACT_MAX_BYTES] = "?";

	if (!facts->is_replica)
		return;
	text_of(facts, "master_host", host);
	text_of(facts, "master_port", port);
	find(all, ERROR, "role", "A replica takes no writes: no lock can be taken (69).",
	     "name its master in the URL, or the sentinels: redis+sentinel://HOST:PORT/MASTER",
	     "this is a replica, of %.200s:%.20s", host, port);
	all->is_explained = true;
}

/* fairlock sets no maxmemory on a private server, which forgets one when it ends. */
static void advise_full(struct diagnosis *all, const struct facts *facts)
{
	if (is_private(facts))
		advise(all,
		       "somebody has set maxmemory on this private server: redis-cli -s %.300s "
		       "CONFIG SET maxmemory 0",
		       facts->address);
	else
		advise(all, "raise maxmemory, or find out what fills it: redis-cli --bigkeys");
}

static void check_memory(struct diagnosis *all, const struct facts *facts)
{
	const long long most = number_of(facts, "maxmemory");
	const long long used = number_of(facts, "used_memory");
	char policy[FACT_MAX_BYTES];
	bool evicts;

	if (most < 0 || !text_of(facts, "maxmemory_policy", policy))
		return;
	evicts = most > 0 && strcmp(policy, "noeviction") != 0;
	if (evicts) {
		find(all, ERROR, "memory",
		     "When memory is full, the server deletes keys, locks too: two jobs may hold "
		     "one lock.",
		     NULL, "maxmemory is set, and maxmemory-policy is %s", policy);
		advise_setting(all, "maxmemory-policy noeviction");
	}
	/* being asked takes memory, too: what the server did decides, if it is known */
	if (most > 0 && used >= most &&
	    (facts->grants == GRANTS_NONE || (facts->grants == GRANTS_NOT_KNOWN && !evicts))) {
		find(all, ERROR, "memory",
		     "The server lets no lock be taken (OOM, 69); leases can be renewed, and locks "
		     "given back.",
		     NULL, "memory is full: %lld bytes of maxmemory's %lld are in use", used, most);
		advise_full(all, facts);
		all->is_explained = true;
	} else if (!evicts && most > 0 && used > most / 10 * 9) {
		find(all, WARNING, "memory", "When it is full, no lock can be taken (69).", NULL,
		     "%lld %% of maxmemory is in use", used / (most / 100 + 1));
		advise_full(all, facts);
	} else if (!evicts) {
		pass(all, "memory", "%s",
		     most > 0 ? "maxmemory-policy is noeviction"
			      : "no maxmemory, so no key is evicted");
	}
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
	char fsync[FACT_MAX_BYTES] = "", saves[FACT_MAX_BYTES];

	text_of(facts, "appendfsync", fsync);
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
		     NULL, "%s",
		     is_never ? "nothing is written to disk"
		     : text_of(facts, "save", saves)
			     ? "snapshots only, no append-only file"
			     : "no append-only file; whether it takes snapshots is not known");
		advise_setting(all, "appendonly yes");
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
	else if (facts->server->kind == SERVER_SENTINEL || strcmp(facts->mode, "cluster") == 0)
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
	char field[24], text[FACT_MAX_BYTES];

	if (facts->is_replica || count < 0)
		return;
	for (int i = 0; i < REPLICAS_MAX; i++) {
		snprintf(field, sizeof(field), "slave%d", i);
		in_sync += text_of(facts, field, text) && is_in_sync(text);
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

struct tally {
	size_t locks;
	size_t held;
	size_t waiters;
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

static int check_lease(struct diagnosis *all, struct tally *tally, const struct found *lock,
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
	quote(quoted, lock->name);
	if (reply_number(reply, 23) == 1) {
		find(all, WARNING, "leases",
		     "The server's clock was ahead. The next process that asks for the lock "
		     "shortens the lease.",
		     NULL, "lock %.200s has a longer lease than its holder asked for", lock->name);
		advise(all, "fairlock wrap --skip %s true", quoted);
	}
	if (reply_number(reply, 2) < 0) {
		find(all, WARNING, "leases", "Only a release ends it, even if its holder is dead.",
		     NULL, "lock %.200s has no time to live; its owner is %.80s", lock->name,
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
	advise(all, "fairlock queue --remove %.80s %s", quote(quoted_id, id), quote(quoted, name));
}

static int check_queue(struct diagnosis *all, struct tally *tally, const struct found *lock,
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
			report_dead(all, lock->name, reply_text(waiter, 0),
				    reply_number(waiter, 3) == 1);
	}
	return 0;
}

/* Counts no name that something else uses, nor another spelling of a lock: doctor judges locks
 * only. */
static int check_lock(struct diagnosis *all, struct tally *tally, const struct found *lock,
		      struct error *err)
{
	struct lock_keys keys;

	if (lock_keys_make(&keys, lock->name, err) < 0)
		return -1;
	if (check_lease(all, tally, lock, &keys, err) == 0 &&
	    check_queue(all, tally, lock, &keys, err) == 0) {
		tally->locks++;
		return 0;
	}
	if (err->status == STATUS_UNAVAILABLE)
		return -1;
	if (err->status == STATUS_REFUSED)
		find(all, NOTE, "locks", "doctor cannot judge it.",
		     "give the user what fairlock doctor --acl NAME prints",
		     "this user may not look at lock %.300s", lock->name);
	else
		find(all, err->status == STATUS_CONFIG ? ERROR : NOTE, "locks",
		     "No lock of this name can be taken.", "use another name", "%.400s", err->text);
	return 0;
}

/* Checks the locks that the user named, wherever they are, or those in the list. */
static int check_each(struct diagnosis *all, const struct lock_list *names, struct error *err)
{
	const struct invocation *invocation = all->invocation;
	const size_t named = (size_t)invocation->argc, count = named ? named : names->count;
	struct client client;
	const int64_t until_ms = clock_ms() + CHECKING_MS;
	struct tally tally = {0};
	size_t tried = 0;
	int result = 0;

	client_init(&client, invocation->server, invocation->options->connect_timeout_ms);
	client.connection.story.messenger = invocation->messenger;
	for (; result == 0 && tried < count && clock_ms() < until_ms; tried++) {
		const struct found one = {named ? invocation->argv[tried] : names->list[tried].name,
					  named ? &client : names->list[tried].client};

		result = check_lock(all, &tally, &one, err);
	}
	client_close(&client);
	if (result < 0)
		return -1;
	if (tried < count)
		find(all, NOTE, "locks", NULL, NULL,
		     "only %zu of %zu were looked at: it took too long", tried, count);
	pass(all, "locks", "%zu looked at, %zu held; %zu waiter%s present", tally.locks, tally.held,
	     tally.waiters, tally.waiters == 1 ? "" : "s");
	return 0;
}

/* Returns 0, or -1 when the server cannot be asked any more. */
static int check_locks(struct diagnosis *all, struct error *err)
{
	static const char unseen[] = "doctor cannot see locks without an end, nor dead waiters.";
	const struct invocation *invocation = all->invocation;
	const bool is_listed = invocation->argc == 0;
	const char *scan = strstr(all->facts->denied, "+scan");
	struct lock_list names = {0};
	int result = 0;

	if (is_listed && !scan)
		result = lock_list_find(&names, LOCK_STATE, &all->nodes,
					clock_ms() + invocation->options->connect_timeout_ms, err);
	if (is_listed && (scan || (result < 0 && err->status == STATUS_REFUSED))) {
		find(all, NOTE, "locks", unseen,
		     "name the locks: fairlock doctor NAME...; or give the user +scan and all keys",
		     "not known: this user may not list them");
		result = 0;
	} else if (result == 0) {
		result = check_each(all, &names, err);
	}
	lock_list_free(&names);
	/* another finding says why: the cluster lacks a part, or the server a command */
	if (result < 0 && err->status == STATUS_UNAVAILABLE &&
	    (cluster_nodes_unseen(&all->nodes) || strstr(err->text, "unknown command") ||
	     strstr(err->text, "lacks a command"))) {
		find(all, NOTE, "locks", unseen, "run doctor again when that is mended",
		     "some were not looked at: %s", err->text);
		return 0;
	}
	return result;
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

	if (begin(facts, client, err) < 0 || permissions_ask(facts, invocation->options, err) < 0 ||
	    collect(facts, err) < 0) {
		free(facts->fields);
		return cluster_nodes_lose(&all->nodes, client, err) ? 1 : -1;
	}
	all->facts_count++;
	if (all->folder[0])
		snprintf(facts->address, sizeof(facts->address), "%s/socket", all->folder);
	message_step(invocation->messenger, "asked %s: %s %s, %s", facts->address, facts->software,
		     facts->version, facts->mode);
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
	const int64_t timeout_ms = invocation->options->connect_timeout_ms;
	struct cluster_nodes *nodes = &all->nodes;

	if (cluster_nodes_open(nodes, invocation->server, invocation->messenger, timeout_ms,
			       clock_ms() + timeout_ms, err) < 0)
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

static void free_diagnosis(struct diagnosis *all)
{
	for (size_t i = 0; i < all->facts_count; i++)
		free(all->facts[i].fields);
	free(all->facts);
	cluster_nodes_close(&all->nodes);
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
	struct lock_keys keys;
	int result;

	for (int i = 0; i < invocation->argc; i++)
		if (lock_keys_make(&keys, invocation->argv[i], err) < 0)
			return -1;
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
	free_diagnosis(&diagnosis);
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
	.most = OPERANDS_UNLIMITED,
	.shows_options = true,
	.run = run_doctor,
};
