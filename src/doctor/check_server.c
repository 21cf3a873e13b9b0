/* Checks one server: its version, its role, and the settings that locks depend on. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/options.h"
#include "doctor/checks.h"
#include "doctor/remedies.h"

#define OLDEST 60200 /* Redis 6.2 */
#define CAN_BE_ASKED 70000
#define BUFFER_LEAST 16384
#define SCRIPT_LIMIT_LEAST_MS 1000
#define PRIVATE_CLIENTS_LEAST 1000

/* Proposes a value for a setting. */
static void explain_setting(struct findings *findings, const char *consequence, const char *setting)
{
	findings_explain(
		findings, consequence,
		"CONFIG SET %s, and the same setting in its configuration file: a restart forgets "
		"CONFIG SET",
		setting);
}

/* Adds one note for all that this user may not see. */
static void check_unknown(struct findings *findings, const struct server_info *info)
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
		{info->can_read_settings, "timeouts and limits"},
	};
	char list[FINDING_MAX_BYTES] = "";
	size_t length = 0;

	for (size_t i = 0; i < sizeof(things) / sizeof(things[0]); i++)
		if (!things[i].is_known)
			length += (size_t)snprintf(list + length, sizeof(list) - length, "%s%s",
						   length ? ", " : "", things[i].what);
	if (!length)
		return;
	findings_add(findings, SEVERITY_NOTE, "not known", "%s", list);
	findings_explain(
		findings, "This user may not see that.",
		"ask the server's administrator, or run doctor as a user with +info +config|get");
}

static void check_version(struct findings *findings, const struct server_info *info)
{
	if (info->version_number < OLDEST) {
		findings_add(findings, SEVERITY_ERROR, "version", "%s %s is older than 6.2",
			     info->vendor, info->version);
		findings_explain(
			findings,
			"No lock works: fairlock's scripts use commands that it does not have.",
			"use Redis 6.2 or later, or Valkey 7.2 or later");
	} else if (info->version_number < CAN_BE_ASKED) {
		findings_add(findings, SEVERITY_NOTE, "version", "%s %s", info->vendor,
			     info->version);
		findings_explain(
			findings,
			"It cannot say what a user may do: a missing permission shows only in the middle of a script.",
			"use version 7.0 or later if users are limited");
	} else {
		findings_add(findings, SEVERITY_OK, "version", "%s %s, RESP3", info->vendor,
			     info->version);
	}
}

/* Returns whether the server refuses changes for that, like the other checks that do. */
static bool check_role(struct findings *findings, const struct server_info *info)
{
	char host[256], port[256];

	if (!info->is_replica)
		return false;
	if (!server_info_text(info, "master_host", host) ||
	    !server_info_text(info, "master_port", port))
		strcpy(host, "?"), strcpy(port, "?");
	findings_add(findings, SEVERITY_ERROR, "role", "this is a replica, of %.200s:%.20s", host,
		     port);
	findings_explain(
		findings, "A replica takes no writes: no lock can be taken (69).",
		"name its master in the URL, or the sentinels: redis+sentinel://HOST:PORT/MASTER");
	return true;
}

/* ---- Memory ---- */

static void report_eviction(struct findings *findings, const char *policy, long long evicted)
{
	char so_far[64] = "";

	if (evicted > 0)
		snprintf(so_far, sizeof(so_far), "; %lld keys were evicted so far", evicted);
	findings_add(findings, SEVERITY_ERROR, "memory",
		     "maxmemory is set, and maxmemory-policy is %s%s", policy, so_far);
	explain_setting(
		findings,
		strncmp(policy, "volatile", 8) == 0
			? "When memory is full, the server deletes keys that have a time to live, as every lock has: two jobs may hold one lock."
			: "When memory is full, the server deletes any key, locks too: two jobs may hold one lock.",
		"maxmemory-policy noeviction");
}

/* Being asked takes memory, too: what the server did decides, if it is known. */
static bool is_full(const struct server_info *info, bool evicts)
{
	const long long most = server_info_number(info, "maxmemory");
	const long long used = server_info_number(info, "used_memory");

	return most > 0 && used >= most &&
	       (info->grants == GRANTS_NONE || (info->grants == GRANTS_NOT_KNOWN && !evicts));
}

/* A private server has no maxmemory of its own, and forgets one when it ends. */
static void explain_full(struct findings *findings, const struct server_info *info,
			 const char *consequence)
{
	if (info->client->connection.server->kind == SERVER_LOCAL)
		findings_explain(findings, consequence,
				 "somebody has set maxmemory on this private server: redis-cli -s "
				 "%.300s CONFIG SET maxmemory 0",
				 info->address);
	else
		findings_explain(findings, consequence,
				 "raise maxmemory, or find out what fills it: redis-cli --bigkeys");
}

static bool check_memory(struct findings *findings, const struct server_info *info)
{
	const long long most = server_info_number(info, "maxmemory");
	const long long used = server_info_number(info, "used_memory");
	char policy[256];
	bool evicts;

	if (most < 0 || !server_info_text(info, "maxmemory_policy", policy))
		return false;
	evicts = strcmp(policy, "noeviction") != 0;
	if (most > 0 && evicts)
		report_eviction(findings, policy, server_info_number(info, "evicted_keys"));
	if (is_full(info, evicts)) {
		findings_add(findings, SEVERITY_ERROR, "memory",
			     "memory is full: %lld bytes of maxmemory's %lld are in use", used,
			     most);
		explain_full(
			findings, info,
			"The server lets no lock be taken (OOM, 69); leases can be renewed, and "
			"locks given back.");
		return true;
	}
	if (most > 0 && evicts)
		return false;
	if (most > 0 && used > most / 10 * 9) {
		findings_add(findings, SEVERITY_WARNING, "memory", "%lld %% of maxmemory is in use",
			     used / (most / 100 + 1));
		explain_full(findings, info, "When it is full, no lock can be taken (69).");
	} else {
		findings_add(findings, SEVERITY_OK, "memory", "%s",
			     most > 0 ? "maxmemory-policy is noeviction"
				      : "no maxmemory, so no key is evicted");
	}
	return false;
}

/* ---- Persistence ---- */

static bool is_err(const struct server_info *info, const char *field)
{
	char status[256];

	return server_info_text(info, field, status) && strcmp(status, "err") == 0;
}

static bool check_disk(struct findings *findings, const struct server_info *info)
{
	const char *stops = server_info_setting(info, "stop-writes-on-bgsave-error");
	const bool is_aof = is_err(info, "aof_last_write_status");
	const bool is_snapshot =
		is_err(info, "rdb_last_bgsave_status") && !(stops && strcmp(stops, "no") == 0);

	if (is_aof) {
		findings_add(findings, SEVERITY_ERROR, "disk",
			     "the append-only file cannot be written");
		findings_explain(findings,
				 "The server takes no writes (MISCONF): no lock can be taken (69).",
				 "see the server's log: is the disk full?");
	}
	if (is_snapshot) {
		findings_add(findings, SEVERITY_ERROR, "disk",
			     "the last snapshot could not be written");
		findings_explain(
			findings,
			"The server takes no writes until one can (MISCONF): no lock can be taken (69).",
			"see the server's log: is the disk full?");
	}
	return is_aof || is_snapshot;
}

static const char *describe_fsync(const char *fsync)
{
	if (!fsync)
		return "append-only file";
	if (strcmp(fsync, "always") == 0)
		return "append-only file, fsync always: nothing is lost, each change waits for the "
		       "disk";
	if (strcmp(fsync, "no") == 0)
		return "append-only file, fsync no: survives its own end, not a power cut";
	return "append-only file, fsync every second: a crash loses the last 2 s at most, and a "
	       "slow disk delays changes as long";
}

static void check_snapshots(struct findings *findings, const char *when)
{
	const char *consequence;

	if (!when) {
		findings_add(findings, SEVERITY_NOTE, "persistence",
			     "no append-only file; whether it takes snapshots is not known");
		consequence =
			"After a crash the server has forgotten the latest locks, or all of them.";
	} else if (strcmp(when, "never") == 0) {
		findings_add(findings, SEVERITY_WARNING, "persistence",
			     "nothing is written to disk");
		consequence =
			"After a restart the server knows no lock. Each wrap takes its lock again, unless another job was first.";
	} else {
		findings_add(findings, SEVERITY_NOTE, "persistence",
			     "snapshots only, no append-only file");
		consequence =
			"After a crash the server has forgotten the latest locks. Each wrap takes its lock again, unless another job was first.";
	}
	explain_setting(findings, consequence, "appendonly yes");
}

static void check_persistence(struct findings *findings, const struct server_info *info)
{
	const long long appending = server_info_number(info, "aof_enabled");

	if (appending > 0)
		findings_add(findings, SEVERITY_OK, "persistence", "%s",
			     describe_fsync(server_info_setting(info, "appendfsync")));
	else if (appending == 0)
		check_snapshots(findings, server_info_setting(info, "save"));
}

/* root's cron and a user's shell would each have a server of their own. */
static void check_users(struct findings *findings, const struct server_info *info,
			const struct options *options)
{
	if (info->client->connection.server->kind != SERVER_LOCAL)
		return;
	findings_add(findings, options->url ? SEVERITY_NOTE : SEVERITY_WARNING, "users",
		     "%slocal: is for this user on this host alone",
		     options->url ? "" : "no url is set, and ");
	findings_explain(
		findings,
		"Each user of each host has a private server: jobs of other users, such as "
		"root's cron, and of other hosts run beside those of this user.",
		"name one server for all users: url = redis://HOST, or unix:PATH, in "
		"/etc/fairlock.conf%s",
		options->url ? "" : "; or url = local:, if that is meant");
}

/* ---- Connections ---- */

static long long setting_number(const struct server_info *info, const char *name)
{
	const char *text = server_info_setting(info, name);

	return text ? strtoll(text, NULL, 10) : -1;
}

static void check_timeout(struct findings *findings, const struct server_info *info)
{
	const long long timeout_s = setting_number(info, "timeout");

	if (timeout_s > 0)
		findings_add(findings, SEVERITY_OK, "idle timeout",
			     "%lld s, which spares waiters and holders: they are subscribed",
			     timeout_s);
	else if (timeout_s == 0)
		findings_add(findings, SEVERITY_OK, "idle timeout", "none");
}

static void check_keepalive(struct findings *findings, const struct server_info *info)
{
	const enum server_kind kind = info->client->connection.server->kind;
	const long long keepalive_s = setting_number(info, "tcp-keepalive");

	if (keepalive_s < 0 || kind == SERVER_LOCAL || kind == SERVER_UNIX)
		return;
	if (keepalive_s > 0 && keepalive_s <= 600) {
		findings_add(findings, SEVERITY_OK, "keepalive", "after %lld s", keepalive_s);
		return;
	}
	findings_add(findings, SEVERITY_WARNING, "keepalive", "tcp-keepalive is %lld", keepalive_s);
	explain_setting(
		findings,
		"A waiter whose host vanished still counts as present: the waiters behind it lose 5 s, and its connection stays.",
		"tcp-keepalive 60");
}

/* "normal 0 0 0 slave 268435456 67108864 60 pubsub 33554432 8388608 60" */
static void check_buffers(struct findings *findings, const struct server_info *info)
{
	const char *limits = server_info_setting(info, "client-output-buffer-limit");
	const char *ours = limits ? strstr(limits, "pubsub ") : NULL;
	long long hard = 0, soft = 0, seconds = 0;

	if (!ours || sscanf(ours, "pubsub %lld %lld %lld", &hard, &soft, &seconds) != 3)
		return;
	if ((hard <= 0 || hard >= BUFFER_LEAST) && (soft <= 0 || soft >= BUFFER_LEAST)) {
		findings_add(findings, SEVERITY_OK, "buffers", "enough for subscribers");
		return;
	}
	findings_add(findings, SEVERITY_WARNING, "buffers",
		     "client-output-buffer-limit pubsub is %lld %lld %lld", hard, soft, seconds);
	explain_setting(
		findings,
		"Waiters and holders are subscribers: the server ends their connection if a message is longer.",
		"client-output-buffer-limit \"pubsub 32mb 8mb 60\"");
}

static void check_clients(struct findings *findings, const struct server_info *info)
{
	const bool is_private = info->client->connection.server->kind == SERVER_LOCAL;
	const long long now = server_info_number(info, "connected_clients");
	long long most = setting_number(info, "maxclients");

	if (most < 0)
		most = server_info_number(info, "maxclients");
	if (now < 0 || most <= 0)
		return;
	if (now < most - most / 5 && (!is_private || most >= PRIVATE_CLIENTS_LEAST)) {
		findings_add(findings, SEVERITY_OK, "connections", "few of %lld are in use", most);
		return;
	}
	findings_add(findings, SEVERITY_WARNING, "connections", "%lld of %lld are in use", now,
		     most);
	findings_explain(
		findings,
		"Each waiter and each holder needs one. Without a free one, a job fails (69).",
		is_private ? "end it, as shown above; the next fairlock starts it again, with the "
			     "limit of open files (ulimit -n) that it has itself"
			   : "raise maxclients, and the server's limit of open files");
}

static void check_scripts(struct findings *findings, const struct server_info *info)
{
	const long long limit_ms = setting_number(info, "lua-time-limit");

	if (limit_ms > 0 && limit_ms < SCRIPT_LIMIT_LEAST_MS) {
		findings_add(findings, SEVERITY_NOTE, "slow scripts", "lua-time-limit is %lld ms",
			     limit_ms);
		explain_setting(
			findings,
			"While any script runs longer than that, the server answers BUSY: new jobs fail (69), waiters and holders try again.",
			"lua-time-limit 5000");
	} else if (limit_ms >= 0) {
		findings_add(findings, SEVERITY_OK, "slow scripts",
			     limit_ms ? "the server answers BUSY after %lld ms"
				      : "the server never answers BUSY (%lld)",
			     limit_ms);
	}
}

/* The server has refused, and no other finding says why. */
static void report_refusal(struct findings *findings, const struct server_info *info)
{
	char remedy[FINDING_MAX_BYTES];

	remedy_write(remedy, sizeof(remedy), &info->refusal, info->client->connection.server);
	findings_add(findings, SEVERITY_ERROR, "grants", "%.400s", info->refusal.text);
	findings_explain(findings, "No lock can be taken while that is so (69).", "%s", remedy);
}

void check_server(struct findings *findings, const struct server_info *info,
		  const struct options *options)
{
	bool is_told;

	check_version(findings, info);
	is_told = check_role(findings, info);
	is_told |= check_memory(findings, info);
	is_told |= check_disk(findings, info);
	check_persistence(findings, info);
	is_told |= check_replicas(findings, info, options);
	/* check_user names all commands that are hidden, if the server can be asked */
	is_told |= info->can_ask_permissions && strstr(info->refusal.text, "unknown command");
	if (info->grants == GRANTS_NONE && !is_told)
		report_refusal(findings, info);
	check_users(findings, info, options);
	check_timeout(findings, info);
	check_keepalive(findings, info);
	check_buffers(findings, info);
	check_clients(findings, info);
	check_scripts(findings, info);
	check_unknown(findings, info);
}
