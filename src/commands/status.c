/* fairlock status: prints the holder of each lock, for how long, and how many wait. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/shorten.h"
#include "cli/command.h"
#include "cli/options.h"
#include "commands/status_line.h"
#include "lock/grants.h"
#include "lock/lock.h"
#include "lock/lock_list.h"
#include "output/prometheus.h"
#include "output/table.h"
#include "output/watch.h"
#include "redis/client_call.h"
#include "redis/cluster_nodes.h"
#include "redis/connection_trace.h"
#include "redis/server.h"

/* The locks that were looked at. */
struct status_view {
	const struct invocation *invocation;
	struct table *table;        /* NULL: not wanted */
	struct prometheus *metrics; /* NULL: not wanted */
	bool is_ranked;             /* not if NAMEs give the order */
	bool silent;                /* there is no place for messages */
	bool held;                  /* any of them */
	size_t others;              /* free locks that are not shown */
	char last_line[48];         /* counts them */
	int status;
	struct error gap; /* the part of a cluster that is not among them; STATUS_OK: none */
	int64_t unseen;   /* so many slots; METRIC_UNKNOWN: no cluster, or not all were asked for */
	int64_t grants;   /* 0: a server lets no lock be taken; 1: all do; METRIC_UNKNOWN */
	struct error refusal; /* why one does not; STATUS_OK: none that is known */
};

static int fetch(struct lock_status *state, struct client *client, const struct lock_keys *keys,
		 struct error *err)
{
	struct request request;
	char other[SHORT_MAX_BYTES];

	wire_look(keys, &request, "status");
	connection_trace_ask(client, "who holds lock", keys->shown);
	if (client_call(client, &request, clock_ms() + client->timeout_ms, false, err) < 0 ||
	    status_read(state, client->reply, err) < 0)
		return -1;
	connection_trace_answer(client);
	if (strcmp(state->name, keys->name) != 0)
		return fail(err, STATUS_USAGE,
			    "cannot use the name %s: it shares keys with lock %s, which is in use",
			    keys->shown, shorten(other, state->name));
	return 0;
}

/* A list of locks may be read where none can be taken. That must not look well. */
static void ask_for_grants(struct status_view *view, struct client *client)
{
	struct error why;

	if (!view->table && !view->metrics)
		return;
	connection_trace_ask(client, "whether the server grants locks", "");
	switch (grants_ask(client, &why)) {
	case GRANTS_NOT_KNOWN:
		break;
	case GRANTS_LOCKS:
		connection_trace_answer(client);
		if (view->grants == METRIC_UNKNOWN)
			view->grants = 1;
		break;
	case GRANTS_NONE:
		view->grants = 0;
		view->refusal = why;
		break;
	}
}

/* The trouble, although locks were shown; NULL: none. Metrics say themselves that no lock can be
 * taken. */
static const struct error *trouble_of(const struct status_view *view)
{
	if (view->gap.status != STATUS_OK)
		return &view->gap;
	return view->refusal.status != STATUS_OK && !view->metrics ? &view->refusal : NULL;
}

/* Fails after the locks were shown. */
static int tell_trouble(const struct status_view *view, struct error *err)
{
	const struct error *trouble = trouble_of(view);

	if (!trouble)
		return 0;
	*err = *trouble;
	return -1;
}

/* If something else uses a name, or a slot of a cluster is not served, the other locks are shown
 * all the same. */
static int pass_over(struct status_view *view, const struct client *client, const struct error *err)
{
	const int names = view->invocation->argc;
	const bool is_gap = names > 0 && err->status == STATUS_UNAVAILABLE &&
			    client->connection.handshake.is_cluster;

	if (names == 1 || (err->status != STATUS_CONFIG && !is_gap))
		return -1;
	if (!view->silent)
		complain("%s", err->text);
	if (view->status == STATUS_OK || is_gap)
		view->status = (int)err->status;
	return 0;
}

static int add_lock(struct status_view *view, const char *name, struct client *client,
		    struct error *err)
{
	const bool is_named = view->invocation->argc > 0;
	struct lock_keys keys;
	struct lock_status state;
	struct error ignored;
	bool is_free, is_known;
	int result = 0;

	if (lock_keys_make(&keys, name, err) < 0)
		return -1;
	if (fetch(&state, client, &keys, err) < 0)
		return pass_over(view, client, err);
	is_free = !state.is_held && !state.waiters;
	view->held |= state.is_held;
	if (is_free && !is_named && state.is_once)
		return 0;
	if (view->metrics)
		result = status_add_metrics(view->metrics, &state, err);
	else if (is_free && !is_named && !view->invocation->options->all)
		view->others++;
	else if (view->table)
		result = status_add_lines(view->table, &state, view->is_ranked, err);
	if (is_free && is_named && !view->silent && (view->table || view->metrics))
		lock_list_check(client, &keys, &is_known, &ignored);
	return result;
}

static int add_named(struct status_view *view, struct error *err)
{
	const struct invocation *invocation = view->invocation;
	struct connection_trace steps = {.messenger = invocation->messenger};
	struct client client;
	int result = 0;

	client_init(&client, invocation->server, invocation->options->connect_timeout_ms);
	if (!view->silent)
		client.steps = &steps;
	for (int i = 0; result == 0 && i < invocation->argc; i++)
		result = add_lock(view, invocation->argv[i], &client, err);
	if (result == 0 && view->status == STATUS_OK)
		ask_for_grants(view, &client);
	client_close(&client);
	return result;
}

/* A node may go away between the question for its locks and the one for their state. */
static int add_unless_lost(struct status_view *view, struct cluster_nodes *nodes,
			   const struct found *lock, struct error *err)
{
	if (cluster_nodes_has_lost(nodes, lock->client) ||
	    add_lock(view, lock->name, lock->client, err) == 0)
		return 0;
	return cluster_nodes_lose(nodes, lock->client, err) ? 0 : -1;
}

static int add_all(struct status_view *view, struct error *err)
{
	const int64_t timeout_ms = view->invocation->options->connect_timeout_ms;
	struct lock_list names = {0};
	struct cluster_nodes nodes;
	int result = cluster_nodes_open(&nodes, view->invocation->server,
					view->silent ? NULL : view->invocation->messenger,
					timeout_ms, clock_ms() + timeout_ms, err);

	if (result == 0)
		result = lock_list_find(&names, &nodes, NEVER_MS, err);
	for (size_t i = 0; result == 0 && i < names.count; i++)
		result = add_unless_lost(view, &nodes, &names.list[i], err);
	for (size_t i = 0; result == 0 && i < nodes.count; i++)
		if (!cluster_nodes_has_lost(&nodes, &nodes.clients[i]))
			ask_for_grants(view, &nodes.clients[i]);
	view->unseen = nodes.owners ? (int64_t)cluster_nodes_unseen(&nodes) : METRIC_UNKNOWN;
	view->gap.status = STATUS_OK;
	if (result == 0 && cluster_nodes_check(&nodes, &view->gap) < 0 &&
	    view->unseen == CLUSTER_SLOTS)
		result = tell_trouble(view, err);
	lock_list_free(&names);
	cluster_nodes_close(&nodes);
	return result;
}

static int add_locks(struct status_view *view, struct error *err)
{
	int result;

	view->unseen = METRIC_UNKNOWN;
	view->grants = METRIC_UNKNOWN;
	result = view->invocation->argc > 0 ? add_named(view, err) : add_all(view, err);
	if (view->table && view->others > 0) {
		snprintf(view->last_line, sizeof(view->last_line), "%zu free lock%s: --all",
			 view->others, view->others == 1 ? "" : "s");
		table_when_empty(view->table, "no lock is held or waited for");
		table_end(view->table, view->last_line);
	}
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

/* Held locks stand first, so that none is hidden below the edge of the screen. */
static char *watched_text(void *data, int width, struct error *err)
{
	const struct invocation *invocation = data;
	struct status_view view = {.invocation = invocation,
				   .table = table_open(&status_layout, invocation->options, err),
				   .is_ranked = true,
				   .silent = true};
	char *text = NULL;

	if (view.table && add_locks(&view, err) == 0)
		text = table_text(view.table, width, err);
	table_close(view.table);
	if (text)
		*err = trouble_of(&view) ? *trouble_of(&view) : (struct error){STATUS_OK, ""};
	return text;
}

static int watch_locks(const struct invocation *invocation, struct error *err)
{
	struct server server = *invocation->server;
	struct invocation watched = *invocation;

	watched.server = &server;
	return watch_run(&(struct watch){.title = "fairlock status",
					 .period_ms = watched.options->watch_ms,
					 .source = watched_text,
					 .data = &watched,
					 .server = &server},
			 err);
}

/* If something fails, no locks are printed: half of them would look as if the others were gone. */
static int print_locks(struct status_view *view, struct error *err)
{
	if (add_locks(view, err) < 0)
		return -1;
	if (view->metrics) {
		view->metrics->unseen_slots = view->unseen;
		view->metrics->grants = view->unseen > 0 ? 0 : view->grants;
		prometheus_print(view->metrics);
	}
	if (view->table)
		table_print(view->table);
	return 0;
}

static int run_status(const struct invocation *invocation, int *status, struct error *err)
{
	const struct options *options = invocation->options;
	/* a default for all commands is no question */
	const bool is_quiet = options->quiet &&
			      options_origin(options, option_named("quiet"))->source == SOURCE_FLAG;
	const bool is_question = is_quiet && !options->prometheus;
	struct prometheus metrics = {0};
	struct status_view view = {.invocation = invocation, .is_ranked = invocation->argc == 0};
	int result;

	if (check_names(invocation->argv, invocation->argc, err) < 0)
		return -1;
	*status = STATUS_OK;
	if (options->watch_ms)
		return watch_locks(invocation, err);
	if (options->prometheus)
		view.metrics = &metrics;
	else if (!is_quiet && !(view.table = table_open(&status_layout, options, err)))
		return -1;
	result = print_locks(&view, err);
	table_close(view.table);
	prometheus_free(&metrics);
	*status = view.status;
	if (is_question && (view.held || view.status == STATUS_OK))
		*status = view.held ? 0 : 1;
	/* if one is held, that is the answer, whatever else cannot be seen */
	return result == 0 && !(is_question && view.held) ? tell_trouble(&view, err) : result;
}

const struct command status_command = {
	.name = "status",
	.operands = "[NAME...]",
	.summary = "show the holder of each lock, and the number of waiters",
	.examples = "  fairlock status                          the locks that are in use\n"
		    "  fairlock status --watch backup deploy    two locks, redrawn every second\n"
		    "  fairlock status -q backup && echo busy   exit with 0 if it is held\n",
	.table = &status_layout,
	.bit = COMMAND_STATUS,
	.most = OPERANDS_UNLIMITED,
	.run = run_status,
};
