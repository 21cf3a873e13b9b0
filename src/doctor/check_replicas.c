/* Checks replicas: how many there are, and whether a failover to one would go well. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "doctor/checks.h"

#define REPLICAS_MAX 32
#define LAG_MOST_S 10
/* Short, because the address of a replica may not be for us. */
#define REACH_MS 1000
#define SAMPLES 3
#define CLOCK_MOST_MS 1000

struct replica {
	struct endpoint endpoint;
	bool in_sync;
};

/* "ip=10.0.0.2,port=6379,state=online,offset=42,lag=0" */
static bool read_replica(struct replica *replica, const char *text)
{
	char state[32] = "";
	unsigned port = 0;
	long long lag = 0;
	const char *more;

	if (sscanf(text, "ip=%255[^,],port=%u,state=%31[^,]", replica->endpoint.host, &port,
		   state) != 3 ||
	    port < 1 || port > 65535)
		return false;
	replica->endpoint.port = (uint16_t)port;
	more = strstr(text, ",lag=");
	if (more)
		lag = strtoll(more + 5, NULL, 10);
	replica->in_sync = strcmp(state, "online") == 0 && lag >= 0 && lag <= LAG_MOST_S;
	return true;
}

/* Returns how many replicas there are in the list. */
static size_t read_replicas(struct replica list[REPLICAS_MAX], const struct server_info *info)
{
	char field[24], text[256];
	size_t count = 0;

	for (int i = 0; i < REPLICAS_MAX; i++) {
		snprintf(field, sizeof(field), "slave%d", i);
		if (server_info_text(info, field, text) && read_replica(&list[count], text))
			count++;
	}
	return count;
}

/* ---- One of them ---- */

static void compare_clocks(struct findings *findings, const char *where,
			   const struct timing *master, const struct timing *replica)
{
	const int64_t apart_ms = llabs(replica->ahead_us - master->ahead_us) / 1000;

	if (!master->is_known || apart_ms < CLOCK_MOST_MS)
		return;
	findings_add(findings, SEVERITY_WARNING, "clocks",
		     "replica %s differs from its master by %.1f s", where,
		     (double)apart_ms / 1000);
	findings_explain(findings,
			 "If it becomes the master, leases end early or late by that, and fencing "
			 "tokens may fall back.",
			 "keep the clocks of the servers right (NTP)");
}

static void report_failed(struct findings *findings, const char *where, const struct error *err)
{
	if (err->status == STATUS_REFUSED) {
		findings_add(findings, SEVERITY_WARNING, "replica", "%s does not let this user in",
			     where);
		findings_explain(
			findings, "If it becomes the master, every command fails (77).",
			"give it the same users and passwords: a master does not pass them on");
	} else {
		findings_add(findings, SEVERITY_NOTE, "replica", "%s cannot be reached from here",
			     where);
		findings_explain(findings,
				 "Its clock, and whether it knows this user, are not known.",
				 "run doctor where it can be reached");
	}
}

static void check_replica(struct findings *findings, const struct server_info *info,
			  const struct replica *replica)
{
	struct endpoint endpoint = replica->endpoint;
	struct server server = *info->client->connection.server;
	struct server_info its = {0};
	struct client client;
	struct error err;
	char where[HOST_MAX_BYTES + 8];

	snprintf(where, sizeof(where), "%s:%u", endpoint.host, endpoint.port);
	server.kind = SERVER_TCP;
	server.seeds = &endpoint;
	server.seed_count = 1;
	client_init(&client, &server,
		    info->client->timeout_ms < REACH_MS ? info->client->timeout_ms : REACH_MS);
	if (server_info_measure(&its, &client, SAMPLES, &err) < 0)
		report_failed(findings, where, &err);
	else
		compare_clocks(findings, where, &info->timing, &its.timing);
	server_info_free(&its);
	client_close(&client);
}

/* ---- All of them ---- */

static void report_none(struct findings *findings, const struct server_info *info)
{
	const enum server_kind kind = info->client->connection.server->kind;

	if (kind == SERVER_LOCAL) {
		findings_add(findings, SEVERITY_OK, "replicas",
			     "none, and none needed on one host");
	} else if (kind == SERVER_SENTINEL || strcmp(info->mode, "cluster") == 0) {
		findings_add(findings, SEVERITY_WARNING, "replicas", "there is none");
		findings_explain(findings,
				 "When this server dies, nothing takes over: no lock can be taken "
				 "or renewed until it is back.",
				 "add a replica");
	} else {
		findings_add(findings, SEVERITY_NOTE, "replicas", "there is none");
		findings_explain(findings,
				 "No failover can forget a lock; but while this server is down "
				 "none can be taken, and jobs stop when their leases end.",
				 "see SAFETY in fairlock(7) before adding one");
	}
}

static bool check_too_few(struct findings *findings, const struct server_info *info,
			  long long in_sync, long long wanted)
{
	const char *setting = server_info_setting(info, "min-replicas-to-write");
	const long long demanded = setting ? strtoll(setting, NULL, 10) : 0;

	if (in_sync < demanded) {
		findings_add(findings, SEVERITY_ERROR, "replicas",
			     "%lld in sync, min-replicas-to-write is %lld", in_sync, demanded);
		findings_explain(findings, "The server refuses every change (NOREPLICAS, 69).",
				 "mend the replicas, or lower min-replicas-to-write");
	}
	if (in_sync < wanted) {
		findings_add(findings, SEVERITY_ERROR, "replicas",
			     "%lld in sync, --replicas is %lld", in_sync, wanted);
		findings_explain(findings, "Every grant is undone (69).",
				 "mend the replicas, or lower --replicas");
	}
	return in_sync < demanded;
}

static void check_wanted(struct findings *findings, long long count, long long in_sync,
			 long long wanted)
{
	if (in_sync == 0 || in_sync < wanted)
		return;
	if (wanted >= count) {
		findings_add(findings, SEVERITY_OK, "replicas",
			     "%lld in sync, and --replicas waits for them", in_sync);
		return;
	}
	findings_add(findings, SEVERITY_NOTE, "replicas", "%lld in sync, --replicas is %lld",
		     in_sync, wanted);
	findings_explain(findings,
			 "A failover may forget the latest grants: two can hold a lock until the "
			 "first one's next renewal.",
			 "replicas = %lld in fairlock.conf, if every grant may wait for them",
			 count);
}

bool check_replicas(struct findings *findings, const struct server_info *info,
		    const struct options *options)
{
	const long long count = server_info_number(info, "connected_slaves");
	struct replica list[REPLICAS_MAX];
	const size_t known = read_replicas(list, info);
	long long in_sync = 0;
	bool refuses;

	if (info->is_replica || count < 0)
		return false;
	for (size_t i = 0; i < known; i++)
		in_sync += list[i].in_sync;
	if (count == 0)
		report_none(findings, info);
	if (in_sync < count) {
		findings_add(findings, SEVERITY_WARNING, "replicas", "%lld of %lld are not in sync",
			     count - in_sync, count);
		findings_explain(findings, "A failover to one of them would forget locks.",
				 "see the replica's log");
	}
	refuses = check_too_few(findings, info, in_sync, options->replicas);
	check_wanted(findings, count, in_sync, options->replicas);
	for (size_t i = 0; i < known; i++)
		check_replica(findings, info, &list[i]);
	return refuses;
}
