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
#include "lock/lock.h"
#include "lock/lock_list.h"
#include "lock/owner.h"
#include "output/prometheus.h"
#include "output/table.h"
#include "output/watch.h"
#include "redis/client_call.h"
#include "redis/cluster_nodes.h"
#include "redis/reply.h"
#include "redis/script.h"

enum {
	NAME,
	STATE,
	OWNER,
	HOST,
	PID,
	USER,
	COMMAND,
	CLIENT,
	HELD_MS,
	LEASE_MS,
	HOLDS,
	TOKEN,
	WAITERS,
	HELD,
	LEASE,
	COLUMN_COUNT,
};

static const struct column columns[COLUMN_COUNT] = {
	[NAME] = {.name = "NAME", .kind = COLUMN_TEXT, .least = 12},
	[STATE] = {.name = "STATE", .kind = COLUMN_TEXT},
	[OWNER] = {.name = "OWNER", .kind = COLUMN_TEXT},
	[HOST] = {.name = "HOST", .kind = COLUMN_TEXT, .least = 8},
	[PID] = {.name = "PID", .kind = COLUMN_NUMBER, .spare = 1},
	[USER] = {.name = "USER", .kind = COLUMN_TEXT, .least = 6},
	[COMMAND] = {.name = "COMMAND", .kind = COLUMN_TEXT, .least = 10},
	[CLIENT] = {.name = "CLIENT", .kind = COLUMN_TEXT},
	[HELD_MS] = {.name = "HELD_MS", .kind = COLUMN_NUMBER},
	[LEASE_MS] = {.name = "LEASE_MS", .kind = COLUMN_NUMBER},
	[HOLDS] = {.name = "HOLDS", .kind = COLUMN_NUMBER},
	[TOKEN] = {.name = "TOKEN", .kind = COLUMN_NUMBER},
	[WAITERS] = {.name = "WAITERS", .kind = COLUMN_NUMBER},
	[HELD] = {.name = "HELD", .kind = COLUMN_DURATION},
	[LEASE] = {.name = "LEASE", .kind = COLUMN_DURATION, .spare = 2},
};

static const struct layout layout = {
	.name = "locks",
	.columns = columns,
	.column_count = COLUMN_COUNT,
	.people = "NAME,STATE,USER,HOST,PID,COMMAND,HELD,LEASE,WAITERS",
	.raw = "NAME,STATE,USER,HOST,PID,COMMAND,HELD_MS,LEASE_MS,WAITERS",
	.json = "NAME,STATE,OWNER,HOST,PID,USER,COMMAND,CLIENT,HELD_MS,LEASE_MS,HOLDS,TOKEN,"
		"WAITERS",
	.nothing = "no locks",
};

/* What the status script answered; the texts live as long as its reply. */
struct state {
	const char *name;
	const char *owner;
	const char *token;
	const char *by;
	bool is_held;
	bool is_ours; /* fairlock's, so our hash tells more about the hold */
	long long holds;
	int64_t held_ms; /* -1: not known */
	int64_t ttl_ms;  /* -1: none */
	long long waiters;
	int64_t oldest_wait_ms; /* -1: not known */
	/* how often there was such an event */
	long long grants, expiries, breaks, losses;
};

/* What the cells of one line point to. */
struct line {
	struct owner_process process;
	char numbers[COLUMN_COUNT][DURATION_MAX_BYTES];
	const char *cells[COLUMN_COUNT];
};

/* How long ago it was; -1 where the server's times make no sense. */
static int64_t elapsed_ms(const char *since, const char *now)
{
	int64_t begun = strtoll(since, NULL, 10), at = strtoll(now, NULL, 10);

	return begun < 0 || at < begun ? -1 : at - begun;
}

static int read_state(struct state *state, const struct redisReply *reply, struct error *err)
{
	const char *since = reply_text(reply, 5);

	*state = (struct state){
		.owner = reply_text(reply, 0),
		.holds = reply_number(reply, 1),
		.ttl_ms = reply_number(reply, 2),
		.token = reply_text(reply, 3),
		.by = reply_text(reply, 4),
		.is_ours = reply_number(reply, 6) == 1,
		.waiters = reply_number(reply, 7),
		.name = reply_text(reply, 9),
		.oldest_wait_ms = reply_number(reply, 10),
		.grants = reply_number(reply, 11),
		.expiries = reply_number(reply, 12),
		.breaks = reply_number(reply, 13),
		.losses = reply_number(reply, 14),
		.held_ms = -1,
	};
	if (!reply_fits(reply, "siisssiissiiiii"))
		return reply_nonsense(err);
	state->is_held = *state->owner != '\0';
	if (*since)
		state->held_ms = elapsed_ms(since, reply_text(reply, 8));
	return 0;
}

static void set_number(struct line *line, int column, int64_t number)
{
	snprintf(line->numbers[column], sizeof(line->numbers[column]), "%" PRId64, number);
	line->cells[column] = line->numbers[column];
}

/* In milliseconds, and for people. */
static void set_duration(struct line *line, int column, int shown_column, int64_t ms)
{
	set_number(line, column, ms);
	line->cells[shown_column] = duration_show(line->numbers[shown_column], ms);
}

static void fill_hold(struct line *line, const struct state *state)
{
	owner_parse(&line->process, state->by);
	line->cells[OWNER] = state->owner;
	line->cells[HOST] = line->process.host;
	line->cells[PID] = line->process.pid;
	line->cells[USER] = line->process.user;
	line->cells[COMMAND] = line->process.command;
	line->cells[CLIENT] = state->is_ours ? "fairlock" : "redisson";
	line->cells[TOKEN] = state->token;
	set_number(line, HOLDS, state->holds);
	if (state->held_ms >= 0)
		set_duration(line, HELD_MS, HELD, state->held_ms);
	if (state->ttl_ms >= 0)
		set_duration(line, LEASE_MS, LEASE, state->ttl_ms);
	else
		line->cells[LEASE] = "none";
}

static int add_line(struct table *table, const struct state *state, bool coloured,
		    struct error *err)
{
	struct line line = {0};

	line.cells[NAME] = state->name;
	line.cells[STATE] = state->is_held ? "held" : "free";
	set_number(&line, WAITERS, state->waiters);
	if (state->is_held)
		fill_hold(&line, state);
	if (table_add(table, line.cells, err) < 0)
		return -1;
	if (coloured)
		table_colour(table, state->is_held ? "magenta" : "green");
	return 0;
}

static int add_metrics(struct prometheus *metrics, const struct state *state, struct error *err)
{
	const int64_t values[METRIC_COUNT] = {
		[METRIC_HELD] = state->is_held,
		[METRIC_HOLDS] = state->is_held ? state->holds : 0,
		[METRIC_HOLD_MS] = state->is_held ? state->held_ms : 0,
		[METRIC_LEASE_MS] = !state->is_held       ? 0
				    : state->ttl_ms == -1 ? METRIC_ENDLESS
							  : state->ttl_ms,
		[METRIC_WAITERS] = state->waiters,
		[METRIC_OLDEST_WAIT_MS] = state->waiters > 0 ? state->oldest_wait_ms : 0,
		[METRIC_GRANTS] = state->grants,
		[METRIC_EXPIRIES] = state->expiries,
		[METRIC_BREAKS] = state->breaks,
		[METRIC_LOSSES] = state->losses,
	};

	return prometheus_add(metrics, state->name, values, err);
}

/* What has been seen. */
struct waiter_view {
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

static int ask(struct state *state, struct client *client, const struct lock_keys *keys,
	       struct error *err)
{
	struct request request;

	lock_request(keys, &request, &script_status);
	if (client_call(client, &request, clock_ms() + client->timeout_ms, false, err) < 0 ||
	    read_state(state, client->reply, err) < 0)
		return -1;
	if (strcmp(state->name, keys->name) != 0)
		return fail(err, STATUS_USAGE,
			    "cannot use the name %s: it shares keys with %s, which is in use",
			    keys->name, state->name);
	return 0;
}

/* What is seen of a cluster of which a part is missing is shown first. */
static int tell_gap(const struct waiter_view *view, struct error *err)
{
	if (view->gap.status == STATUS_OK)
		return 0;
	*err = view->gap;
	return -1;
}

/* A name that something else uses, and a slot of a cluster that is not served, are told, and keep
 * nobody from seeing the others. */
static int pass_over(struct waiter_view *view, const struct client *client, const struct error *err)
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

static int look(struct waiter_view *view, const char *name, struct client *client,
		struct error *err)
{
	struct lock_keys keys;
	struct state state;

	if (lock_keys_make(&keys, name, err) < 0)
		return -1;
	if (ask(&state, client, &keys, err) < 0)
		return pass_over(view, client, err);
	view->held |= state.is_held;
	if (view->metrics)
		return add_metrics(view->metrics, &state, err);
	return view->table ? add_line(view->table, &state, view->coloured, err) : 0;
}

static int look_at(struct waiter_view *view, const struct invocation *invocation, struct error *err)
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
static int look_unless_lost(struct waiter_view *view, struct cluster_nodes *nodes,
			    const struct found *lock, struct error *err)
{
	if (cluster_nodes_has_lost(nodes, lock->client))
		return 0;
	if (look(view, lock->name, lock->client, err) == 0)
		return 0;
	return cluster_nodes_lose(nodes, lock->client, err) ? 0 : -1;
}

static int look_at_all(struct waiter_view *view, const struct invocation *invocation,
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

static int fill(struct waiter_view *view, const struct invocation *invocation, struct error *err)
{
	return invocation->argc > 0 ? look_at(view, invocation, err)
				    : look_at_all(view, invocation, err);
}

static char *look_again(void *data, int width, struct error *err)
{
	const struct invocation *invocation = data;
	/* what something else uses is left out: there is no place to tell it */
	struct waiter_view view = {.table = table_open(&layout, invocation->options, err),
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
	struct waiter_view view = {
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
	struct waiter_view view = {.status = STATUS_OK};
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
	if (!options->quiet && !(view.table = table_open(&layout, options, err)))
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
	.summary = "who holds what, for how long, how many wait",
	.bit = COMMAND_STATUS,
	.most = OPERANDS_UNLIMITED,
	.run = run_status,
};
