#include "doctor/diagnose.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/message.h"
#include "cli/command.h"
#include "cli/options.h"
#include "doctor/checks.h"
#include "lock/lock_list.h"
#include "redis/local_server.h"

#define SAMPLES 20

static void find_private(struct diagnosis *examination)
{
	const int folder = examination->nodes.clients[0].connection.local_folder;
	char connection[32];
	ssize_t length;

	if (folder < 0)
		return;
	snprintf(connection, sizeof(connection), "/proc/self/fd/%d", folder);
	length = readlink(connection, examination->folder, sizeof(examination->folder) - 1);
	examination->folder[length > 0 ? length : 0] = '\0';
	examination->pid = local_server_pid(folder);
}

static int ask_nodes(struct diagnosis *examination, struct error *err)
{
	struct cluster_nodes *nodes = &examination->nodes;
	const struct invocation *invocation = examination->invocation;

	examination->info = calloc(nodes->count, sizeof(*examination->info));
	if (!examination->info)
		return fail(err, STATUS_OS, "cannot examine the server: out of memory");
	for (size_t i = 0; i < nodes->count; i++) {
		struct server_info *info = &examination->info[examination->fact_count];

		if (server_info_ask(info, &nodes->clients[i], SAMPLES, err) < 0) {
			server_info_free(info);
			*info = (struct server_info){0};
			if (!cluster_nodes_lose(nodes, &nodes->clients[i], err))
				return -1;
			continue;
		}
		examination->fact_count++;
		if (examination->folder[0])
			snprintf(info->address, sizeof(info->address), "%s/socket",
				 examination->folder);
		message_step(invocation->messenger, "asked %s: %s %s, %s", info->address,
			     info->software, info->version, info->mode);
	}
	return examination->fact_count > 0 ? 0 : -1;
}

/* The nodes of a cluster may be well, and a part of its slots with none of them. */
static void check_slots(struct diagnosis *examination)
{
	char text[FINDING_MAX_BYTES];

	for (size_t gap = 0; gap <= examination->nodes.count; gap++)
		if (cluster_nodes_show_gap(&examination->nodes, gap, text, sizeof(text)))
			finding_explain(findings_add(&examination->report, SEVERITY_ERROR, "slots",
						     "%s", text),
					"Locks in these slots can be neither taken nor seen (69).",
					"redis-cli --cluster check HOST:PORT");
}

static void check_nodes(struct diagnosis *examination)
{
	const struct invocation *invocation = examination->invocation;
	struct findings *report = &examination->report;

	report->places = examination->fact_count;
	for (size_t i = 0; i < examination->fact_count; i++) {
		const struct server_info *info = &examination->info[i];

		report->place = info->address;
		check_server(report, info, invocation->options);
		check_user(report, info, invocation->options, invocation->argv, invocation->argc);
	}
	report->place = NULL;
	check_times(report, examination->info, examination->fact_count, invocation->options);
	message_step(invocation->messenger, "checked the server and its user");
}

/* Finds the locks that the user named, or all of them. */
static int find_names(struct diagnosis *examination, struct lock_list *names, struct client *client,
		      struct error *err)
{
	const struct invocation *invocation = examination->invocation;

	*names = (struct lock_list){0};
	if (invocation->argc == 0)
		return lock_list_find(names, &examination->nodes, clock_ms() + client->timeout_ms,
				      err);
	names->list = calloc((size_t)invocation->argc, sizeof(*names->list));
	for (int i = 0; names->list && i < invocation->argc; i++) {
		names->list[i].name = strdup(invocation->argv[i]);
		names->list[i].client = client;
		names->count += names->list[i].name != NULL;
	}
	return names->count == (size_t)invocation->argc
		       ? 0
		       : fail(err, STATUS_OS, "cannot list locks: out of memory");
}

/* Without the permission we do not try: the server logs each refusal. */
static bool may_scan(const struct server_info *info)
{
	const char *const scan = "SCAN\n0";
	enum leave leave = MAY;
	struct error ignored;

	return !info->can_ask ||
	       (server_info_may(info->client, 1, &scan, &leave, &ignored) == 0 && leave == MAY);
}

static void cannot_find(struct findings *report)
{
	finding_explain(findings_add(report, SEVERITY_NOTE, "locks",
				     "not known: this user may not look for them"),
			"Locks without an end and dead waiters are not seen.",
			"name the locks, fairlock doctor NAME..., or allow +scan and all keys");
}

/* A lock in a part of the cluster that is missing; that is a finding of its own. */
static void cannot_see(struct findings *report, const struct error *err)
{
	finding_explain(
		findings_add(report, SEVERITY_NOTE, "locks", "not all looked at: %s", err->text),
		"Locks without an end and dead waiters are not seen.",
		"look again when the cluster is whole");
}

static int look_at_locks(struct diagnosis *examination, struct error *err)
{
	const struct invocation *invocation = examination->invocation;
	struct client client; /* of those that are named, wherever they are */
	struct lock_list names;
	int result;

	if (invocation->argc == 0 && !may_scan(examination->info)) {
		cannot_find(&examination->report);
		return 0;
	}
	client_init(&client, invocation->server, invocation->options->connect_timeout_ms);
	result = find_names(examination, &names, &client, err);
	if (result == 0) {
		result = check_locks(&examination->report, &names, err);
	} else if (err->status == STATUS_REFUSED) {
		cannot_find(&examination->report);
		result = 0;
	}
	if (result < 0 && err->status == STATUS_UNAVAILABLE &&
	    cluster_nodes_unseen(&examination->nodes)) {
		cannot_see(&examination->report, err);
		result = 0;
	}
	lock_list_free(&names);
	client_close(&client);
	return result;
}

static int look(struct diagnosis *examination, struct error *err)
{
	const struct invocation *invocation = examination->invocation;
	const int64_t timeout_ms = invocation->options->connect_timeout_ms;

	if (cluster_nodes_open(&examination->nodes, invocation->server, timeout_ms,
			       clock_ms() + timeout_ms, err) < 0)
		return -1;
	if (examination->nodes.count == 0)
		return 0;
	find_private(examination);
	if (ask_nodes(examination, err) < 0)
		return -1;
	check_nodes(examination);
	return look_at_locks(examination, err);
}

/* Where --quiet leaves the settings out, doctor without it shows them. */
static const char *remedy_of(const struct error *err)
{
	if (err->status == STATUS_REFUSED)
		return "see in the settings where user and password come from, and PERMISSIONS in "
		       "fairlock(1)";
	if (err->status == STATUS_CONFIG)
		return "mend the URL; see in the settings where it comes from";
	return "see whether a server listens there, and its log; and in the settings where the "
	       "address comes from";
}

/* A failure stands in the list of findings, too. */
static void add_failure(struct findings *report, const struct error *err)
{
	finding_explain(findings_add(report, SEVERITY_ERROR, "reach", "%s", err->text),
			"The checks ended there.", "%s", remedy_of(err));
}

int diagnose(struct diagnosis *examination, const struct invocation *invocation, struct error *err)
{
	int result;

	*examination = (struct diagnosis){.invocation = invocation};
	result = look(examination, err);
	check_slots(examination);
	if (result < 0)
		add_failure(&examination->report, err);
	return result;
}

void diagnosis_free(struct diagnosis *examination)
{
	for (size_t i = 0; i < examination->fact_count; i++)
		server_info_free(&examination->info[i]);
	free(examination->info);
	findings_free(&examination->report);
	cluster_nodes_close(&examination->nodes);
}
