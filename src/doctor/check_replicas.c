/* Replicas: how many there are, and whether a failover to one would go well. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "doctor/checks.h"

#define REPLICAS_MAX 32
/* One that acknowledged so long ago is behind. */
#define LAG_MOST_S 10
/* They may have addresses that cannot be reached from here. */
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

/* Returns how many are known. */
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

static void compare_clocks(struct findings *report, const char *where, const struct timing *master,
			   const struct timing *replica)
{
	const int64_t apart_ms = llabs(replica->ahead_us - master->ahead_us) / 1000;

	if (!master->is_known || apart_ms < CLOCK_MOST_MS)
		return;
	finding_explain(findings_add(report, SEVERITY_WARNING, "clocks",
				     "replica %s differs from its master by %.1f s", where,
				     (double)apart_ms / 1000),
			"If it becomes the master, leases end early or late by that, and fencing "
			"tokens may fall back.",
			"keep the clocks of the servers right (NTP)");
}

static void cannot_use(struct findings *report, const char *where, const struct error *err)
{
	if (err->status == STATUS_REFUSED)
		finding_explain(
			findings_add(report, SEVERITY_WARNING, "replica",
				     "%s does not let this user in", where),
			"If it becomes the master, every command fails (77).",
			"give it the same users and passwords: a master does not pass them on");
	else
		finding_explain(findings_add(report, SEVERITY_NOTE, "replica",
					     "%s cannot be reached from here", where),
				"Its clock, and whether it knows this user, are not known.",
				"run doctor where it can be reached");
}

static void look_at(struct findings *report, const struct server_info *info,
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
		cannot_use(report, where, &err);
	else
		compare_clocks(report, where, &info->timing, &its.timing);
	server_info_free(&its);
	client_close(&client);
}

/* ---- All of them ---- */

static void has_none(struct findings *report, const struct server_info *info)
{
	const bool follows = info->client->connection.server->kind == SERVER_SENTINEL;

	if (info->client->connection.server->kind == SERVER_LOCAL)
		findings_add(report, SEVERITY_OK, "replicas", "none, and none needed on one host");
	else if (follows || strcmp(info->mode, "cluster") == 0)
		finding_explain(findings_add(report, SEVERITY_WARNING, "replicas", "there is none"),
				"When this server dies, nothing takes over: no lock can be taken "
				"or renewed until it is back.",
				"add a replica");
	else
		finding_explain(findings_add(report, SEVERITY_NOTE, "replicas", "there is none"),
				"No failover can forget a lock; but while this server is down none "
				"can be taken, and jobs stop when their leases end.",
				"see SAFETY in fairlock(7) before adding one");
}

static void too_few(struct findings *report, const struct server_info *info, int64_t in_sync,
		    int64_t wanted)
{
	const char *setting = server_info_setting(info, SETTING_MIN_REPLICAS);
	const int64_t demanded = setting ? strtoll(setting, NULL, 10) : 0;

	if (in_sync < demanded)
		finding_explain(findings_add(report, SEVERITY_ERROR, "replicas",
					     "%" PRId64
					     " in sync, min-replicas-to-write is %" PRId64,
					     in_sync, demanded),
				"The server refuses every change (NOREPLICAS, 69).",
				"mend the replicas, or lower min-replicas-to-write");
	if (in_sync < wanted)
		finding_explain(findings_add(report, SEVERITY_ERROR, "replicas",
					     "%" PRId64 " in sync, --replicas is %" PRId64, in_sync,
					     wanted),
				"Every grant is undone (75).",
				"mend the replicas, or lower --replicas");
}

static void count_replicas(struct findings *report, const struct server_info *info, int64_t count,
			   int64_t in_sync, int64_t wanted)
{
	if (in_sync < count)
		finding_explain(findings_add(report, SEVERITY_WARNING, "replicas",
					     "%" PRId64 " of %" PRId64 " are not in sync",
					     count - in_sync, count),
				"A failover to one of them would forget locks.",
				"see the replica's log");
	too_few(report, info, in_sync, wanted);
	if (in_sync == 0 || in_sync < wanted)
		return;
	if (wanted >= count)
		findings_add(report, SEVERITY_OK, "replicas",
			     "%" PRId64 " in sync, and --replicas waits for them", in_sync);
	else
		finding_explain(findings_add(report, SEVERITY_NOTE, "replicas",
					     "%" PRId64 " in sync, --replicas is %" PRId64, in_sync,
					     wanted),
				"A failover may forget the latest grants: two can hold a lock "
				"until the first one's next renewal.",
				"replicas = %" PRId64 " in fairlock.conf, if every grant may wait "
				"for them",
				count);
}

void check_replicas(struct findings *report, const struct server_info *info,
		    const struct options *options)
{
	const int64_t count = server_info_number(info, "connected_slaves");
	struct replica list[REPLICAS_MAX];
	const size_t known = read_replicas(list, info);
	int64_t in_sync = 0;

	if (info->is_replica || count < 0)
		return;
	for (size_t i = 0; i < known; i++)
		in_sync += list[i].in_sync;
	if (count == 0) {
		has_none(report, info);
		too_few(report, info, 0, options->replicas);
		return;
	}
	count_replicas(report, info, count, in_sync, options->replicas);
	for (size_t i = 0; i < known; i++)
		look_at(report, info, &list[i]);
}
