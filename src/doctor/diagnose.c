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

static void find_private(struct examination *examination)
{
	const int folder = examination->nodes.clients[0].link.local_folder;
	char link[32];
	ssize_t length;

	if (folder < 0)
		return;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", folder);
	length = readlink(link, examination->folder, sizeof(examination->folder) - 1);
	examination->folder[length > 0 ? length : 0] = '\0';
	examination->pid = local_pid(folder);
}

static int ask_nodes(struct examination *examination, struct error *err)
{
	struct nodes *nodes = &examination->nodes;
	const struct invocation *invocation = examination->invocation;

	examination->facts = calloc(nodes->count, sizeof(*examination->facts));
	if (!examination->facts)
		return fail(err, STATUS_OS, "cannot examine the server: out of memory");
	for (size_t i = 0; i < nodes->count; i++) {
		struct facts *facts = &examination->facts[examination->fact_count];

		if (facts_ask(facts, &nodes->clients[i], SAMPLES, err) < 0) {
			facts_free(facts);
			*facts = (struct facts){0};
			if (!nodes_lose(nodes, &nodes->clients[i], err))
				return -1;
			continue;
		}
		examination->fact_count++;
		if (examination->folder[0])
			snprintf(facts->address, sizeof(facts->address), "%s/socket",
				 examination->folder);
		tell_step(invocation->teller, "asked %s: %s %s, %s", facts->address,
			  facts->software, facts->version, facts->mode);
	}
	return examination->fact_count > 0 ? 0 : -1;
}

/* The nodes of a cluster may be well, and a part of its slots with none of them. */
static void check_slots(struct examination *examination)
{
	char text[FINDING_MAX_BYTES];

	for (size_t gap = 0; gap <= examination->nodes.count; gap++)
		if (nodes_show_gap(&examination->nodes, gap, text, sizeof(text)))
			finding_explain(report_add(&examination->report, SEVERITY_ERROR, "slots",
						   "%s", text),
					"Locks in these slots can be neither taken nor seen (69).",
					"redis-cli --cluster check HOST:PORT");
}

static void check_nodes(struct examination *examination)
{
	const struct invocation *invocation = examination->invocation;
	struct report *report = &examination->report;

	report->places = examination->fact_count;
	for (size_t i = 0; i < examination->fact_count; i++) {
		const struct facts *facts = &examination->facts[i];

		report->place = facts->address;
		check_server(report, facts, invocation->options);
		check_user(report, facts, invocation->options, invocation->argv, invocation->argc);
	}
	report->place = NULL;
	check_times(report, examination->facts, examination->fact_count, invocation->options);
	tell_step(invocation->teller, "checked the server and its user");
}

/* What is named, or all that there are. */
static int find_names(struct examination *examination, struct names *names, struct client *client,
		      struct error *err)
{
	const struct invocation *invocation = examination->invocation;

	*names = (struct names){0};
	if (invocation->argc == 0)
		return names_find(names, &examination->nodes, clock_ms() + client->timeout_ms, err);
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

/* Whoever may not is not sent: the refusal would stand in the ACL log. */
static bool may_scan(const struct facts *facts)
{
	const char *const scan = "SCAN\n0";
	enum leave leave = MAY;
	struct error ignored;

	return !facts->can_ask ||
	       (facts_may(facts->client, 1, &scan, &leave, &ignored) == 0 && leave == MAY);
}

static void cannot_find(struct report *report)
{
	finding_explain(report_add(report, SEVERITY_NOTE, "locks",
				   "not known: this user may not look for them"),
			"Locks without an end and dead waiters are not seen.",
			"name the locks, fairlock doctor NAME..., or allow +scan and all keys");
}

/* A lock in a part of the cluster that is missing; that is a finding of its own. */
static void cannot_see(struct report *report, const struct error *err)
{
	finding_explain(
		report_add(report, SEVERITY_NOTE, "locks", "not all looked at: %s", err->text),
		"Locks without an end and dead waiters are not seen.",
		"look again when the cluster is whole");
}

static int look_at_locks(struct examination *examination, struct error *err)
{
	const struct invocation *invocation = examination->invocation;
	struct client client; /* of those that are named, wherever they are */
	struct names names;
	int result;

	if (invocation->argc == 0 && !may_scan(examination->facts)) {
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
	if (result < 0 && err->status == STATUS_UNAVAILABLE && nodes_unseen(&examination->nodes)) {
		cannot_see(&examination->report, err);
		result = 0;
	}
	names_free(&names);
	client_close(&client);
	return result;
}

static int look(struct examination *examination, struct error *err)
{
	const struct invocation *invocation = examination->invocation;
	const int64_t timeout_ms = invocation->options->connect_timeout_ms;

	if (nodes_open(&examination->nodes, invocation->server, timeout_ms, clock_ms() + timeout_ms,
		       err) < 0)
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

/* Whoever reads a list finds it there, too. */
static void add_failure(struct report *report, const struct error *err)
{
	finding_explain(report_add(report, SEVERITY_ERROR, "reach", "%s", err->text),
			"The checks ended there.", "%s", remedy_of(err));
}

int examine(struct examination *examination, const struct invocation *invocation, struct error *err)
{
	int result;

	*examination = (struct examination){.invocation = invocation};
	result = look(examination, err);
	check_slots(examination);
	if (result < 0)
		add_failure(&examination->report, err);
	return result;
}

void examination_free(struct examination *examination)
{
	for (size_t i = 0; i < examination->fact_count; i++)
		facts_free(&examination->facts[i]);
	free(examination->facts);
	report_free(&examination->report);
	nodes_close(&examination->nodes);
}
