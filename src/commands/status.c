/* fairlock status: who holds what, for how long, how many wait. */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/duration.h"
#include "base/terminal.h"
#include "cli/command.h"
#include "cli/options.h"
#include "commands/status_line.h"
#include "lock/lock.h"
#include "lock/lock_list.h"
#include "lock/owner.h"
#include "lock/wire.h"
#include "output/prometheus.h"
#include "output/table.h"
#include "output/watch.h"
#include "redis/client_call.h"
#include "redis/cluster_nodes.h"
#include "redis/reply.h"
#include "redis/script.h"

/* The result of looking at all locks. */
struct status_view {
	struct table *table;        /* NULL: nobody looks at it */
	struct prometheus *metrics; /* NULL: nor Prometheus */
	bool alone;                 /* one NAME was asked for */
	bool named;                 /* one or more */
	bool coloured;
	bool silent;
	bool held; /* any of them */
	int status;
	struct error gap; /* which part of a cluster is not among it; STATUS_OK: none */
	int64_t unseen;   /* so many slots; METRIC_UNKNOWN: no cluster, or not all was asked for */
};

static int ask(struct lock_status *state, struct client *client, const struct lock_keys *keys,
	       struct error *err)
{
	struct request request;

	wire_begin(keys, &request, &script_status);
	if (client_call(client, &request, clock_ms() + client->timeout_ms, false, err) < 0 ||
	    status_read(state, client->reply, err) < 0)
		return -1;
	if (strcmp(state->name, keys->name) != 0)
		return fail(err, STATUS_USAGE,
			    "cannot use the name %s: it shares keys with %s, which is in use",
			    keys->name, state->name);
	return 0;
}

/* Fails if a part of the cluster is missing, after the rest was shown. */
static int tell_gap(const struct status_view *view, struct error *err)
{
	if (view->gap.status == STATUS_OK)
		return 0;
	*err = view->gap;
	return -1;
}

/* A name that something else uses, and a slot of a cluster that is not served, are told, and keep
 * nobody from seeing the others. */
static int pass_over(struct status_view *view, const struct client *client, const struct error *err)
{
	const bool is_gap = view->named && err->status == STATUS_UNAVAILABLE &&
			    client->connection.handshake.is_cluster;

	if (view->alone || (err->status != STATUS_CONFIG && !is_gap))
		return -1;
	if (!view->silent)
		complain("%s", err->text);
	if (view->status == STATUS_OK || is_gap)
		view->status = (int)err->status;
	return 0;
}

static int look(struct status_view *view, const char *name, struct client *client,
		struct error *err)
{
	struct lock_keys keys;
	struct lock_status state;

	if (lock_keys_make(&keys, name, err) < 0)
		return -1;
	if (ask(&state, client, &keys, err) < 0)
		return pass_over(view, client, err);
	view->held |= state.is_held;
	if (view->metrics)
		return status_add_metrics(view->metrics, &state, err);
	return view->table ? status_add_line(view->table, &state, view->coloured, err) : 0;
}

static int look_at(struct status_view *view, const struct invocation *invocation, struct error *err)
{
	struct client client;
	int result = 0;

	view->alone = invocation->argc == 1;
	view->named = true;
	client_init(&client, invocation->server, invocation->options->connect_timeout_ms);
	for (int i = 0; result == 0 && i < invocation->argc; i++)
		result = look(view, invocation->argv[i], &client, err);
	client_close(&client);
	return result;
}

/* A node may go away between the question for its locks and the one for their state. */
static int look_unless_lost(struct status_view *view, struct cluster_nodes *nodes,
			    const struct found *lock, struct error *err)
{
	if (cluster_nodes_has_lost(nodes, lock->client))
		return 0;
	if (look(view, lock->name, lock->client, err) == 0)
		return 0;
	return cluster_nodes_lose(nodes, lock->client, err) ? 0 : -1;
}

static int look_at_all(struct status_view *view, const struct invocation *invocation,
		       struct error *err)
{
	const int64_t timeout_ms = invocation->options->connect_timeout_ms;
	struct lock_list names = {0};
	struct cluster_nodes nodes;
	int result = cluster_nodes_open(&nodes, invocation->server, timeout_ms,
					clock_ms() + timeout_ms, err);

	if (result == 0)
		result = lock_list_find(&names, &nodes, NEVER_MS, err);
	for (size_t i = 0; result == 0 && i < names.count; i++)
		result = look_unless_lost(view, &nodes, &names.list[i], err);
	view->unseen = nodes.owners ? (int64_t)cluster_nodes_unseen(&nodes) : METRIC_UNKNOWN;
	view->gap.status = STATUS_OK;
	if (result == 0 && cluster_nodes_check(&nodes, &view->gap) < 0 &&
	    view->unseen == CLUSTER_SLOTS) {
		*err = view->gap;
		result = -1;
	}
	lock_list_free(&names);
	cluster_nodes_close(&nodes);
	return result;
}

/* Mistakes in usage are told before the server is asked anything. */
static int check_names(char *const *names, int count, struct error *err)
{
	struct lock_keys keys;

	for (int i = 0; i < count; i++)
		if (lock_keys_make(&keys, names[i], err) < 0)
			return -1;
	return 0;
}

static int fill(struct status_view *view, const struct invocation *invocation, struct error *err)
{
	return invocation->argc > 0 ? look_at(view, invocation, err)
				    : look_at_all(view, invocation, err);
}

static char *look_again(void *data, int width, struct error *err)
{
	const struct invocation *invocation = data;
	/* what something else uses is left out: there is no place to tell it */
	struct status_view view = {.table = table_open(&status_layout, invocation->options, err),
				   .coloured = terminal_wants_colour(),
				   .silent = true};
	char *text = NULL, *with_gap = NULL;

	if (view.table && fill(&view, invocation, err) == 0)
		text = table_text(view.table, width, err);
	table_close(view.table);
	if (!text || view.gap.status == STATUS_OK ||
	    asprintf(&with_gap, "%s%s\n", text, view.gap.text) < 0)
		return text;
	free(text);
	return with_gap;
}

/* When something fails nothing is printed: half of the locks would look as if the others were gone.
 * A missing part of a cluster is among the metrics. */
static int print_metrics(const struct invocation *invocation, int *status, struct error *err)
{
	struct prometheus metrics = {0};
	struct status_view view = {
		.metrics = &metrics, .status = STATUS_OK, .unseen = METRIC_UNKNOWN};
	int result = fill(&view, invocation, err);

	metrics.unseen_slots = view.unseen;
	if (result == 0)
		prometheus_print(&metrics);
	prometheus_free(&metrics);
	*status = view.status;
	return result == 0 ? tell_gap(&view, err) : result;
}

static int run_status(const struct invocation *invocation, int *status, struct error *err)
{
	const struct options *options = invocation->options;
	struct status_view view = {.status = STATUS_OK};
	int result;

	if (check_names(invocation->argv, invocation->argc, err) < 0)
		return -1;
	*status = STATUS_OK;
	if (options->watch_ms)
		return watch_run(&(struct watch){"fairlock status", options->watch_ms, look_again,
						 (void *)(uintptr_t)invocation},
				 err);
	if (options->prometheus)
		return print_metrics(invocation, status, err);
	if (!options->quiet && !(view.table = table_open(&status_layout, options, err)))
		return -1;
	result = fill(&view, invocation, err);
	if (result == 0 && view.table)
		result = table_print(view.table, err);
	table_close(view.table);
	*status = view.status;
	if (options->quiet && (view.held || view.status == STATUS_OK))
		*status = view.held ? 0 : 1;
	/* that one is held is sure, whatever else is */
	return result == 0 && !(options->quiet && view.held) ? tell_gap(&view, err) : result;
}

const struct command status_command = {
	.name = "status",
	.operands = "[NAME...]",
	.summary = "show who holds each lock, and how many wait",
	.examples = "  fairlock status                          all locks\n"
		    "  fairlock status --watch backup deploy    two locks, redrawn every second\n"
		    "  fairlock status -q backup && echo busy   exit with 0 if it is held\n",
	.table = &status_layout,
	.bit = COMMAND_STATUS,
	.most = OPERANDS_UNLIMITED,
	.run = run_status,
};
