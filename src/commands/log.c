/* fairlock log: prints the latest events of a lock, or of all locks, as a list, in figures, or
 * drawn. With --follow it looks for new ones again and again. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/terminal.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/options.h"
#include "history/events.h"
#include "lock/lock.h"
#include "lock/lock_list.h"
#include "output/timestamp.h"
#include "redis/client.h"
#include "redis/cluster_nodes.h"
#include "redis/reply.h"

/* From one look for new events to the next. */
#define PERIOD_MS 1000

/* From one search for locks, and for the nodes that have them, to the next; and four times as long
 * as it takes, because a server goes through all its keys, and a hung node delays the others. */
#define SEARCH_MS 5000

/* A lock that was not found for so long is forgotten: a log expires a week after its last use. */
#define FORGET_MS (INT64_C(10) * 24 * 3600 * 1000)

/* A lock whose log is read. */
struct logged {
	char name[NAME_MAX_BYTES + 1];
	struct client *client;          /* of the node that has it; NULL: none is known */
	int64_t found_ms;               /* when it was found there last */
	char after[ENTRY_ID_MAX_BYTES]; /* its latest entry that was read; "": none */
	bool is_told;                   /* the user knows why its log cannot be read */
};

struct reader {
	const struct invocation *invocation;
	const struct lock_keys *keys; /* of NAME; NULL: the logs of all locks are read */
	struct log_query query;
	struct table *table;        /* NULL: figures or a drawing are wanted */
	struct client client;       /* for NAME */
	struct cluster_nodes nodes; /* for all locks */
	struct logged *locks;
	size_t count;
	int64_t search_ms; /* when to search for locks */
	bool has_begun;    /* the first events were printed */
	int status;        /* not STATUS_OK: one of the logs cannot be read */
};

/* ---- Locks ---- */

/* Notes where a lock is: a new one, or one that is known. */
static int note_lock(void *reader, const char *name, struct client *client, struct error *err)
{
	struct reader *r = reader;
	struct logged *locks;
	size_t i = 0;

	while (i < r->count && strcmp(r->locks[i].name, name) != 0)
		i++;
	if (i == r->count) {
		locks = reallocarray(r->locks, i + 1, sizeof(*locks));
		if (!locks)
			return fail(err, STATUS_OS, "cannot read the logs: %s", strerror(ENOMEM));
		r->locks = locks;
		r->count++;
		locks[i] = (struct logged){0};
		snprintf(locks[i].name, sizeof(locks[i].name), "%s", name);
	}
	r->locks[i].client = client;
	r->locks[i].found_ms = clock_ms();
	return 0;
}

/* A lock that is not found may be on its way to another node, or its node may be away. */
static void forget_locks(struct reader *r)
{
	size_t kept = 0;

	for (size_t i = 0; i < r->count; i++)
		if (clock_ms() - r->locks[i].found_ms < FORGET_MS)
			r->locks[kept++] = r->locks[i];
	r->count = kept;
}

static int find_locks(struct reader *r, struct error *err)
{
	const struct invocation *invocation = r->invocation;
	const int64_t timeout_ms = invocation->options->connect_timeout_ms, begun_ms = clock_ms();

	for (size_t i = 0; i < r->count; i++)
		r->locks[i].client = NULL;
	cluster_nodes_close(&r->nodes);
	if (cluster_nodes_open(&r->nodes, invocation->server,
			       r->has_begun ? NULL : invocation->messenger, timeout_ms,
			       begun_ms + timeout_ms, err) < 0 ||
	    for_each_lock(&r->nodes, LOCK_LOG, NEVER_MS, note_lock, r, err) < 0)
		return -1;
	forget_locks(r);
	r->search_ms = clock_ms() + SEARCH_MS + 4 * (clock_ms() - begun_ms);
	return 0;
}

/* ---- Reading and printing ---- */

/* If something else uses the name of one of all locks, the other logs are shown all the same. A
 * node may go away between the search for its locks and the question for a log. */
static int read_log(struct reader *r, struct logged *lock, struct history *history,
		    struct error *err)
{
	char other[SHORT_MAX_BYTES];
	struct lock_keys keys;

	if (lock_keys_make(&keys, lock->name, err) < 0)
		return -1;
	if (history_fetch(history, lock->client, &r->query, &keys, lock->after, err) == 0)
		return 0;
	if (r->keys)
		return -1;
	if (err->status == STATUS_USAGE) /* the user has not named this lock */
		fail(err, STATUS_CONFIG,
		     "cannot show the log of lock %s: its name on the server is %s", keys.shown,
		     shorten(other, reply_text(lock->client->reply, 1)));
	if (err->status != STATUS_CONFIG) {
		r->search_ms = 0;
		return cluster_nodes_lose(&r->nodes, lock->client, err) ? 0 : -1;
	}
	if (!lock->is_told)
		complain("%s", err->text);
	lock->is_told = true;
	r->status = (int)err->status;
	return 0;
}

static int read_logs(struct reader *r, struct history *history, struct error *err)
{
	if (!r->keys && clock_ms() >= r->search_ms && find_locks(r, err) < 0)
		return -1;
	for (size_t i = 0; i < r->count; i++) {
		struct logged *lock = &r->locks[i];

		if (lock->client && !cluster_nodes_has_lost(&r->nodes, lock->client) &&
		    read_log(r, lock, history, err) < 0)
			return -1;
	}
	if (!r->keys)
		history_sort(history);
	return 0;
}

/* An empty table on a screen tells since when there was nothing. */
static int print(struct reader *r, const struct history *history, struct error *err)
{
	const struct options *options = r->invocation->options;
	char since[TIMESTAMP_MAX_BYTES], nothing[100];

	if (options->plot)
		return plot_print(history, r->keys->name,
				  terminal_colours(options->colour, STDOUT_FILENO), err);
	if (options->stats)
		return stats_print(history, r->keys->name, options->json, err);
	if (history_add_lines(history, r->table, options, !r->has_begun, err) < 0)
		return -1;
	if (r->query.from_ms != UNKNOWN_MS) {
		snprintf(nothing, sizeof(nothing), "no events since %s",
			 timestamp_local(since, r->query.from_ms, TIMESTAMP_LONG));
		table_when_empty(r->table, nothing);
	}
	table_print(r->table);
	return 0;
}

/* Shows the events that are new. Those that were read are printed even if a server was lost then,
 * because they are not read again. */
static int show_events(struct reader *r, struct error *err)
{
	struct history history = {0};
	int result = read_logs(r, &history, err);
	struct error failure;
	bool is_known;

	if ((result == 0 || r->has_begun) && print(r, &history, &failure) < 0) {
		*err = failure;
		result = -1;
	}
	/* an empty log may be that of a wrong name */
	if (result == 0 && r->keys && !r->has_begun && history.count == 0)
		lock_list_check(&r->client, r->keys, &is_known, &failure);
	history_free(&history);
	if (result < 0) {
		r->search_ms = 0;
		return -1;
	}
	r->has_begun = true;
	if (r->query.from_ms == UNKNOWN_MS)
		r->query.since[0] = '\0'; /* there is no log yet, so nothing to come is too old */
	return cluster_nodes_check(&r->nodes, err);
}

/* A server that is away is told once it has been so for the connect timeout: most restarts and
 * failovers are over by then. Returns 0 when nobody reads the output any more, or -1. */
static int follow(struct reader *r, struct error *err)
{
	struct pollfd output = {.fd = STDOUT_FILENO};
	int64_t tell_ms = NEVER_MS;
	bool is_told = false;

	do {
		const int64_t begun_ms = clock_ms();

		if (show_events(r, err) == 0) {
			tell_ms = NEVER_MS;
			is_told = false;
			continue;
		}
		if (!r->has_begun || err->status != STATUS_UNAVAILABLE)
			return -1;
		tell_ms = earliest(tell_ms, begun_ms + r->invocation->options->connect_timeout_ms);
		if (!is_told && clock_ms() >= tell_ms) {
			complain("%s", err->text);
			is_told = true;
		}
	} while (fflush(stdout) == 0 && poll(&output, 1, PERIOD_MS) <= 0);
	if (output.revents) /* without a new event no write would tell it */
		raise(SIGPIPE);
	return 0;
}

/* ---- The command ---- */

static int run(struct reader *r, struct error *err)
{
	const struct options *options = r->invocation->options;
	int result = 0;

	client_init(&r->client, r->invocation->server, options->connect_timeout_ms);
	r->client.connection.story.messenger = r->invocation->messenger;
	if (r->keys)
		result = note_lock(r, r->invocation->argv[0], &r->client, err);
	if (result == 0)
		result = options->follow ? follow(r, err) : show_events(r, err);
	free(r->locks);
	cluster_nodes_close(&r->nodes);
	client_close(&r->client);
	return result;
}

static int run_log(const struct invocation *invocation, int *status, struct error *err)
{
	const struct options *options = invocation->options;
	const bool is_for_one = invocation->argc > 0, is_list = !options->stats && !options->plot;
	struct reader r = {.invocation = invocation,
			   .query = {.from_ms = UNKNOWN_MS, .wants_now = !is_list}};
	struct lock_keys keys;
	int result;

	*status = STATUS_OK;
	if (options->since && since_parse(&r.query, options->since, err) < 0)
		return -1;
	if (is_for_one && lock_keys_make(&keys, invocation->argv[0], err) < 0)
		return -1;
	if (!is_for_one && !is_list)
		return fail(err, STATUS_USAGE, "cannot use --%s for all locks: add a NAME",
			    options->stats ? "stats" : "plot");
	if (is_list) {
		r.table = table_open(is_for_one ? &log_layout_of_one : &log_layout, options, err);
		if (!r.table)
			return -1;
	}
	r.keys = is_for_one ? &keys : NULL;
	result = run(&r, err);
	table_close(r.table);
	if (!options->follow)
		*status = r.status;
	return result;
}

const struct command log_command = {
	.name = "log",
	.operands = "[NAME]",
	.summary = "show the latest events of one lock, or of all",
	.examples = "  fairlock log --since 1h deploy   the events of the last hour\n"
		    "  fairlock log --follow --json     each new event of all locks\n"
		    "  fairlock log --plot deploy       who waited and who held, drawn\n",
	.table = &log_layout,
	.bit = COMMAND_LOG,
	.most = 1,
	.run = run_log,
};
