/* The server: what it is, and settings of it that locks depend on. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "doctor/checks.h"

#define OLDEST 60200 /* Redis 6.2 */
#define CAN_BE_ASKED 70000
#define BUFFER_LEAST 16384
#define SCRIPT_LIMIT_LEAST_MS 1000

static const char *software(const struct server_info *info)
{
	return strcmp(info->software, "valkey") == 0 ? "Valkey" : "Redis";
}

static bool is_on_this_host(const struct server_info *info)
{
	const enum server_kind kind = info->client->connection.server->kind;

	return kind == SERVER_LOCAL || kind == SERVER_UNIX;
}

/* Reports only once that this user may see little. */
static void check_unknown(struct findings *report, const struct server_info *info)
{
	const struct {
		bool is_known;
		const char *what;
	} things[] = {
		{server_info_number(info, "maxmemory") >= 0, "whether it evicts keys"},
		{server_info_number(info, "aof_enabled") >= 0, "what survives a restart"},
		{server_info_number(info, "connected_slaves") >= 0, "how many replicas there are"},
		{server_info_number(info, "connected_clients") >= 0,
		 "how many connections are in use"},
		{info->has_config, "timeouts and limits"},
	};
	char list[FINDING_MAX_BYTES] = "";
	size_t length = 0;

	for (size_t i = 0; i < sizeof(things) / sizeof(things[0]); i++)
		if (!things[i].is_known)
			length += (size_t)snprintf(list + length, sizeof(list) - length, "%s%s",
						   length ? ", " : "", things[i].what);
	if (length)
		finding_explain(findings_add(report, SEVERITY_NOTE, "not known", "%s", list),
				"The server does not let this user see it.",
				"ask whoever runs it, or let a user with +info +config|get look");
}

static void check_version(struct findings *report, const struct server_info *info)
{
	const char *name = software(info);

	if (info->number < OLDEST)
		finding_explain(findings_add(report, SEVERITY_ERROR, "version",
					     "%s %s is older than 6.2", name, info->version),
				"The scripts use commands that it does not have.",
				"use Redis 6.2 or later, or Valkey 7.2 or later");
	else if (info->number < CAN_BE_ASKED)
		finding_explain(
			findings_add(report, SEVERITY_NOTE, "version", "%s %s", name,
				     info->version),
			"It cannot be asked what a user may do: a missing permission shows only "
			"in the middle of a script.",
			"use version 7.0 or later where users have limits");
	else
		findings_add(report, SEVERITY_OK, "version", "%s %s, RESP3", name, info->version);
}

static void check_role(struct findings *report, const struct server_info *info)
{
	char host[256], port[256];

	if (!info->is_replica)
		return;
	if (!server_info_text(info, "master_host", host) ||
	    !server_info_text(info, "master_port", port))
		strcpy(host, "?"), strcpy(port, "?");
	finding_explain(findings_add(report, SEVERITY_ERROR, "role",
				     "this is a replica, of %.200s:%.20s", host, port),
			"It refuses what changes a lock (69).",
			"name its master, or the sentinels: redis+sentinel://HOST:PORT/MASTER");
}

/* ---- Memory ---- */

static void may_evict(struct findings *report, const char *policy, int64_t evicted)
{
	char so_far[64] = "";

	if (evicted > 0)
		snprintf(so_far, sizeof(so_far), "; %" PRId64 " keys were evicted so far", evicted);
	finding_explain(findings_add(report, SEVERITY_ERROR, "memory",
				     "maxmemory is set, and maxmemory-policy is %s%s", policy,
				     so_far),
			strncmp(policy, "volatile", 8) == 0
				? "When memory is full the server deletes keys that have a time to "
				  "live, as every lock has: two may hold the same one."
				: "When memory is full the server deletes any key, locks too: two "
				  "may hold the same one.",
			"CONFIG SET maxmemory-policy noeviction, or a server of its own for locks");
}

static void check_memory(struct findings *report, const struct server_info *info)
{
	const int64_t most = server_info_number(info, "maxmemory");
	const int64_t used = server_info_number(info, "used_memory");
	char policy[256];

	if (most < 0 || !server_info_text(info, "maxmemory_policy", policy))
		return;
	if (most > 0 && strcmp(policy, "noeviction") != 0)
		may_evict(report, policy, server_info_number(info, "evicted_keys"));
	else if (most > 0 && used > most / 10 * 9)
		finding_explain(findings_add(report, SEVERITY_WARNING, "memory",
					     "%" PRId64 " %% of maxmemory is in use",
					     used / (most / 100 + 1)),
				"When it is full, no lock can be taken or renewed (69).",
				"raise maxmemory, or find out what fills it");
	else
		findings_add(report, SEVERITY_OK, "memory", "%s",
			     most > 0 ? "maxmemory-policy is noeviction"
				      : "no maxmemory, so no key is evicted");
}

/* ---- Persistence ---- */

static void check_disk(struct findings *report, const struct server_info *info)
{
	const char *stops = server_info_setting(info, SETTING_STOP_WRITES);
	char aof[256], rdb[256];
	const bool aof_fails =
		server_info_text(info, "aof_last_write_status", aof) && strcmp(aof, "err") == 0;
	const bool rdb_fails =
		server_info_text(info, "rdb_last_bgsave_status", rdb) && strcmp(rdb, "err") == 0;

	if (aof_fails)
		finding_explain(findings_add(report, SEVERITY_ERROR, "disk",
					     "the append-only file cannot be written"),
				"The server refuses every change (MISCONF, 69).",
				"see the server's log: is the disk full?");
	if (rdb_fails && !(stops && strcmp(stops, "no") == 0))
		finding_explain(findings_add(report, SEVERITY_ERROR, "disk",
					     "the last snapshot could not be written"),
				"The server refuses every change until one can (MISCONF, 69).",
				"see the server's log: is the disk full?");
}

static void appends(struct findings *report, const char *fsync)
{
	if (!fsync)
		findings_add(report, SEVERITY_OK, "persistence", "append-only file");
	else if (strcmp(fsync, "always") == 0)
		findings_add(
			report, SEVERITY_OK, "persistence",
			"append-only file, fsync always: nothing is lost, each change waits for "
			"the disk");
	else if (strcmp(fsync, "no") == 0)
		findings_add(report, SEVERITY_OK, "persistence",
			     "append-only file, fsync no: survives its own end, not a power cut");
	else
		findings_add(report, SEVERITY_OK, "persistence",
			     "append-only file, fsync every second: a crash loses the last 2 s at "
			     "most, and a slow disk delays changes as long");
}

static void saves(struct findings *report, const char *when)
{
	if (!when)
		finding_explain(
			findings_add(
				report, SEVERITY_NOTE, "persistence",
				"no append-only file; whether it takes snapshots is not known"),
			"After a crash the server has forgotten the latest locks, or all.",
			"CONFIG SET appendonly yes");
	else if (strcmp(when, "never") == 0)
		finding_explain(findings_add(report, SEVERITY_WARNING, "persistence",
					     "nothing is written to disk"),
				"After a restart it knows no lock. A wrap takes its lock up again "
				"when it is back, unless somebody else was there first.",
				"CONFIG SET appendonly yes");
	else
		finding_explain(findings_add(report, SEVERITY_NOTE, "persistence",
					     "snapshots only, no append-only file"),
				"After a crash the latest locks are forgotten. A wrap takes its "
				"lock up again when it is back, unless somebody else was there "
				"first.",
				"CONFIG SET appendonly yes");
}

static void check_persistence(struct findings *report, const struct server_info *info)
{
	const int64_t appending = server_info_number(info, "aof_enabled");

	check_disk(report, info);
	if (appending > 0)
		appends(report, server_info_setting(info, SETTING_APPENDFSYNC));
	else if (appending == 0)
		saves(report, server_info_setting(info, SETTING_SAVE));
}

/* ---- Connections ---- */

static int64_t setting_number(const struct server_info *info, enum setting setting)
{
	const char *text = server_info_setting(info, setting);

	return text ? strtoll(text, NULL, 10) : -1;
}

static void check_timeout(struct findings *report, const struct server_info *info)
{
	const int64_t timeout_s = setting_number(info, SETTING_TIMEOUT);

	/* The server spares those who are subscribed, and whoever waits or renews is. */
	if (timeout_s > 0)
		findings_add(report, SEVERITY_OK, "idle timeout",
			     "%" PRId64 " s, which spares waiters and holders: they are subscribed",
			     timeout_s);
	else if (timeout_s == 0)
		findings_add(report, SEVERITY_OK, "idle timeout", "none");
}

static void check_keepalive(struct findings *report, const struct server_info *info)
{
	const int64_t keepalive_s = setting_number(info, SETTING_KEEPALIVE);

	if (keepalive_s < 0 || is_on_this_host(info))
		return;
	if (keepalive_s == 0 || keepalive_s > 600)
		finding_explain(findings_add(report, SEVERITY_WARNING, "keepalive",
					     "tcp-keepalive is %" PRId64, keepalive_s),
				"A waiter whose host vanished counts as present: it costs those "
				"behind it 5 s, and its connection stays.",
				"CONFIG SET tcp-keepalive 60");
	else
		findings_add(report, SEVERITY_OK, "keepalive", "after %" PRId64 " s", keepalive_s);
}

/* "normal 0 0 0 slave 268435456 67108864 60 pubsub 33554432 8388608 60" */
static void check_buffers(struct findings *report, const struct server_info *info)
{
	const char *limits = server_info_setting(info, SETTING_BUFFERS);
	const char *ours = limits ? strstr(limits, "pubsub ") : NULL;
	long long hard = 0, soft = 0, seconds = 0;

	if (!ours || sscanf(ours, "pubsub %lld %lld %lld", &hard, &soft, &seconds) != 3)
		return;
	if ((hard > 0 && hard < BUFFER_LEAST) || (soft > 0 && soft < BUFFER_LEAST))
		finding_explain(findings_add(report, SEVERITY_WARNING, "buffers",
					     "client-output-buffer-limit pubsub is %lld %lld %lld",
					     hard, soft, seconds),
				"Waiters and holders are subscribed: an answer that is longer ends "
				"their connection.",
				"CONFIG SET client-output-buffer-limit \"pubsub 32mb 8mb 60\"");
	else
		findings_add(report, SEVERITY_OK, "buffers", "enough for subscribers");
}

static void check_clients(struct findings *report, const struct server_info *info)
{
	const int64_t now = server_info_number(info, "connected_clients");
	int64_t most = setting_number(info, SETTING_MAXCLIENTS);

	if (most < 0)
		most = server_info_number(info, "maxclients");
	if (now < 0 || most <= 0)
		return;
	if (now >= most - most / 5)
		finding_explain(findings_add(report, SEVERITY_WARNING, "connections",
					     "%" PRId64 " of %" PRId64 " are in use", now, most),
				"Each waiter and each holder needs one; who gets none fails (69).",
				"raise maxclients (and the server's limit of open files)");
	else
		findings_add(report, SEVERITY_OK, "connections", "few of %" PRId64 " are in use",
			     most);
}

static void check_scripts(struct findings *report, const struct server_info *info)
{
	/* version 7 calls it busy-reply-threshold, and knows the older name, too */
	const int64_t limit_ms = setting_number(info, SETTING_SCRIPT_LIMIT);

	if (limit_ms > 0 && limit_ms < SCRIPT_LIMIT_LEAST_MS)
		finding_explain(findings_add(report, SEVERITY_NOTE, "slow scripts",
					     "lua-time-limit is %" PRId64 " ms", limit_ms),
				"While anybody's script runs longer than that the server answers "
				"BUSY: new locks fail (69), waiters and holders try again.",
				"CONFIG SET lua-time-limit 5000");
	else if (limit_ms >= 0)
		findings_add(report, SEVERITY_OK, "slow scripts",
			     limit_ms ? "the server answers BUSY after %" PRId64 " ms"
				      : "the server never answers BUSY (%" PRId64 ")",
			     limit_ms);
}

static void check_connections(struct findings *report, const struct server_info *info)
{
	check_timeout(report, info);
	check_keepalive(report, info);
	check_buffers(report, info);
	check_clients(report, info);
	check_scripts(report, info);
}

void check_server(struct findings *report, const struct server_info *info,
		  const struct options *options)
{
	check_version(report, info);
	check_role(report, info);
	check_memory(report, info);
	check_persistence(report, info);
	check_replicas(report, info, options);
	check_connections(report, info);
	check_unknown(report, info);
}
