/* Runs the checks in order: each server and its user, round trips, locks, slots. */
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
#include "doctor/remedies.h"
#include "lock/lock_list.h"
#include "redis/client.h"
#include "redis/local_server.h"
#include "supervise/processes.h"

#define SAMPLES 20

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

static int ask_nodes(struct diagnosis *diagnosis, struct error *err)
{
	struct cluster_nodes *nodes = &diagnosis->nodes;

	diagnosis->info = calloc(nodes->count, sizeof(*diagnosis->info));
	if (!diagnosis->info)
		return fail(err, STATUS_OS, "cannot examine the server: out of memory");
	for (size_t i = 0; i < nodes->count; i++) {
		struct server_info *info = &diagnosis->info[diagnosis->info_count];

		if (server_info_collect(info, &nodes->clients[i], SAMPLES, err) < 0) {
			server_info_free(info);
			*info = (struct server_info){0};
			if (!cluster_nodes_lose(nodes, &nodes->clients[i], err))
				return -1;
			continue;
		}
		diagnosis->info_count++;
		if (diagnosis->folder[0])
			snprintf(info->address, sizeof(info->address), "%s/socket",
				 diagnosis->folder);
		message_step(diagnosis->invocation->messenger, "asked %s: %s %s, %s", info->address,
			     info->software, info->version, info->mode);
	}
	return diagnosis->info_count > 0 ? 0 : -1;
}

/* wrap says the same on this host before it starts COMMAND. */
static void check_ground(struct findings *findings)
{
	struct ground ground;

	ground_look(&ground);
	if (ground.why) {
		findings_add(findings, SEVERITY_WARNING, "processes", "%s", ground.why);
		findings_explain(
			findings,
			"wrap cannot see what COMMAND starts: it stops COMMAND and its process group only.",
			"mount /proc here: unshare --mount-proc, bwrap --proc /proc");
	}
	ground_leave(&ground);
}

/* All nodes of a cluster may be well while none of them has some of its slots. */
static void check_slots(struct diagnosis *diagnosis)
{
	struct findings *findings = &diagnosis->findings;
	char text[FINDING_MAX_BYTES];

	for (size_t gap = 0; gap <= diagnosis->nodes.count; gap++)
		if (cluster_nodes_show_gap(&diagnosis->nodes, gap, text, sizeof(text))) {
			findings_add(findings, SEVERITY_ERROR, "slots", "%s", text);
			findings_explain(
				findings,
				"Locks in these slots can be neither taken nor seen (69).",
				"find the nodes that are down: redis-cli --cluster check HOST:PORT");
		}
}

static void check_nodes(struct diagnosis *diagnosis)
{
	const struct invocation *invocation = diagnosis->invocation;
	struct findings *findings = &diagnosis->findings;

	findings->places = diagnosis->info_count;
	for (size_t i = 0; i < diagnosis->info_count; i++) {
		const struct server_info *info = &diagnosis->info[i];

		findings->place = info->address;
		check_server(findings, info, invocation->options);
		check_user(findings, info, invocation->options, invocation->argv, invocation->argc);
	}
	findings->place = NULL;
	check_times(findings, diagnosis->info, diagnosis->info_count, invocation->options);
	message_step(invocation->messenger, "checked the server and its user");
}

/* Lists the locks that the user named, or all of them. */
static int list_locks(struct diagnosis *diagnosis, struct lock_list *names, struct client *client,
		      struct error *err)
{
	const struct invocation *invocation = diagnosis->invocation;

	if (invocation->argc == 0)
		return lock_list_find(names, &diagnosis->nodes, clock_ms() + client->timeout_ms,
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

static enum permission may_scan(const struct server_info *info)
{
	const char *const scan = "SCAN\n0";
	enum permission permission;
	struct error ignored;

	if (!info->can_ask_permissions)
		return IS_ALLOWED;
	return server_info_ask_permissions(info->client, 1, &scan, &permission, &ignored) == 0
		       ? permission
		       : IS_DENIED;
}

static void report_hidden_scan(struct findings *findings)
{
	findings_add(findings, SEVERITY_WARNING, "commands", "the server lacks SCAN");
	findings_explain(
		findings, "status, queue and log without NAME fail (69).",
		"take its rename-command out of the server's configuration, and restart the "
		"server");
}

static void report_no_scan(struct findings *findings)
{
	findings_add(findings, SEVERITY_NOTE, "locks", "not known: this user may not list them");
	findings_explain(
		findings, "doctor cannot see locks without an end, nor dead waiters.",
		"name the locks: fairlock doctor NAME...; or give the user +scan and all keys");
}

/* Another finding says why: the cluster lacks a part, or the server a command. */
static void report_unseen(struct findings *findings, const struct error *err)
{
	findings_add(findings, SEVERITY_NOTE, "locks", "some were not looked at: %s", err->text);
	findings_explain(findings, "doctor cannot see locks without an end, nor dead waiters.",
			 "run doctor again when that is mended");
}

static bool lacks_command(const struct error *err)
{
	return strstr(err->text, "unknown command") || strstr(err->text, "lacks a command");
}

static int find_and_check_locks(struct diagnosis *diagnosis, struct error *err)
{
	const struct invocation *invocation = diagnosis->invocation;
	struct lock_list names = {0};
	struct connection_trace steps = {.messenger = invocation->messenger};
	struct client client; /* for locks that the user named, wherever they are */
	const enum permission scan = invocation->argc == 0 ? may_scan(diagnosis->info) : IS_ALLOWED;
	int result;

	if (scan != IS_ALLOWED) {
		if (scan == IS_UNKNOWN)
			report_hidden_scan(&diagnosis->findings);
		else
			report_no_scan(&diagnosis->findings);
		return 0;
	}
	client_init(&client, invocation->server, invocation->options->connect_timeout_ms);
	client.steps = &steps;
	result = list_locks(diagnosis, &names, &client, err);
	if (result == 0) {
		result = check_locks(&diagnosis->findings, &names, err);
	} else if (err->status == STATUS_REFUSED) {
		report_no_scan(&diagnosis->findings);
		result = 0;
	}
	if (result < 0 && err->status == STATUS_UNAVAILABLE &&
	    (cluster_nodes_unseen(&diagnosis->nodes) || lacks_command(err))) {
		report_unseen(&diagnosis->findings, err);
		result = 0;
	}
	lock_list_free(&names);
	client_close(&client);
	return result;
}

static int run_checks(struct diagnosis *diagnosis, struct error *err)
{
	const struct invocation *invocation = diagnosis->invocation;
	const int64_t timeout_ms = invocation->options->connect_timeout_ms;

	if (cluster_nodes_open(&diagnosis->nodes, invocation->server, invocation->messenger,
			       timeout_ms, clock_ms() + timeout_ms, err) < 0)
		return -1;
	if (diagnosis->nodes.count == 0)
		return 0;
	find_private(diagnosis);
	if (ask_nodes(diagnosis, err) < 0)
		return -1;
	check_nodes(diagnosis);
	return find_and_check_locks(diagnosis, err);
}

/* The server cannot be asked, or not any more. On a cluster check_slots may have said so. */
static void report_unreached(struct diagnosis *diagnosis, const struct error *err)
{
	struct findings *findings = &diagnosis->findings;
	const bool begun = diagnosis->info_count > 0;
	char remedy[FINDING_MAX_BYTES];

	if (!begun && findings_worst(findings) == SEVERITY_ERROR)
		return;
	remedy_write(remedy, sizeof(remedy), err, diagnosis->invocation->server);
	findings_add(findings, SEVERITY_ERROR, "reach", "%s", err->text);
	findings_explain(findings,
			 begun ? "The checks ended there."
			       : "No lock can be taken, renewed or given back.",
			 "%s", remedy);
}

int diagnose(struct diagnosis *diagnosis, const struct invocation *invocation, struct error *err)
{
	int result;

	*diagnosis = (struct diagnosis){.invocation = invocation};
	check_ground(&diagnosis->findings);
	result = run_checks(diagnosis, err);
	check_slots(diagnosis);
	if (result < 0)
		report_unreached(diagnosis, err);
	return result;
}

void diagnosis_free(struct diagnosis *diagnosis)
{
	for (size_t i = 0; i < diagnosis->info_count; i++)
		server_info_free(&diagnosis->info[i]);
	free(diagnosis->info);
	findings_free(&diagnosis->findings);
	cluster_nodes_close(&diagnosis->nodes);
}
