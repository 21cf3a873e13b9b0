/* The way to the locks: through one connection, or through one for each node of a cluster. */
#include "commands/look.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/terminal.h"
#include "lock/lock.h"
#include "redis/cluster_nodes.h"

static int ask(struct look *look, struct client *client, const char *name, struct error *err)
{
	struct lock_keys keys;
	struct request request;

	if (lock_keys_make(&keys, name, err) < 0)
		return -1;
	wire_look(&keys, &request, look->what);
	request.question = look->question;
	request.about = keys.shown;
	if (client_ask(client, &request, NEVER_MS, err) < 0)
		return -1;
	return look->show(look, &keys, client, err);
}

/* A key that something else uses, or a gap in a cluster, does not hide the other locks. */
static int ask_or_pass(void *data, const char *name, struct client *client, struct error *err)
{
	struct look *look = data;
	const int named = look->invocation->argc;
	bool is_gap;

	if (ask(look, client, name, err) == 0)
		return 0;
	is_gap = named > 1 && err->status == STATUS_UNAVAILABLE &&
		 client->connection.handshake.is_cluster;
	if (named == 1 || (err->status != STATUS_CONFIG && !is_gap))
		return -1;
	if (!look->is_watched)
		complain("%s", err->text);
	if (look->status == STATUS_OK || is_gap)
		look->status = (int)err->status;
	return 0;
}

/* A list of locks may be read where none can be taken. That must not look well: a replica knows no
 * waiter, for one. */
static void ask_for_grants(struct look *look, struct client *client)
{
	const bool wants_metrics = look->invocation->options->prometheus;
	struct error why;
	enum grants grants;

	if (!look->table && !wants_metrics)
		return;
	grants = grants_ask(client, &why);
	if (grants == GRANTS_NONE || look->grants == GRANTS_NOT_KNOWN)
		look->grants = grants;
	if (grants == GRANTS_NONE && !wants_metrics)
		look->trouble = why;
}

/* A lock that is named twice is shown once. */
static int look_at_named(struct look *look, struct error *err)
{
	const struct invocation *invocation = look->invocation;
	struct client client;
	int result = 0;

	client_init(&client, invocation->server, look->is_watched ? NULL : invocation->messenger,
		    invocation->options->connect_timeout_ms);
	for (int i = 0; result == 0 && i < invocation->argc; i++) {
		bool is_double = false;

		for (int k = 0; k < i; k++)
			is_double |= strcmp(invocation->argv[k], invocation->argv[i]) == 0;
		if (!is_double)
			result = ask_or_pass(look, invocation->argv[i], &client, err);
	}
	if (result == 0 && look->status == STATUS_OK)
		ask_for_grants(look, &client);
	client_close(&client);
	return result;
}

static int look_at_all(struct look *look, struct error *err)
{
	const struct invocation *invocation = look->invocation;
	struct cluster_nodes nodes;
	int result = cluster_nodes_open(&nodes, invocation->server,
					look->is_watched ? NULL : invocation->messenger,
					invocation->options->connect_timeout_ms, false, err);

	if (result == 0)
		result = for_each_lock(&nodes, LOCK_STATE, NEVER_MS, ask_or_pass, look, err);
	for (size_t i = 0; result == 0 && i < nodes.count; i++)
		if (!cluster_nodes_has_lost(&nodes, &nodes.list[i].client))
			ask_for_grants(look, &nodes.list[i].client);
	if (nodes.owners)
		look->unseen = (int64_t)cluster_nodes_unseen(&nodes);
	if (result == 0 && cluster_nodes_check(&nodes, &look->trouble) < 0 &&
	    look->unseen == CLUSTER_SLOTS)
		result = look_end(look, &look->status, err);
	cluster_nodes_close(&nodes);
	return result;
}

int look_at_locks(struct look *look, struct error *err)
{
	look->unseen = -1;
	look->grants = GRANTS_NOT_KNOWN;
	return look->invocation->argc > 0 ? look_at_named(look, err) : look_at_all(look, err);
}

/* The table is there in any case, or NULL. */
static int fill_table(struct look *look, struct error *err)
{
	look->table = table_open(&look->layout, look->invocation->options, err);
	if (!look->table || look_at_locks(look, err) < 0)
		return -1;
	if (look->hidden > 0) {
		snprintf(look->last, sizeof(look->last), "%zu free lock%s: --all", look->hidden,
			 look->hidden == 1 ? "" : "s");
		look->layout.nothing = "no lock is held or waited for";
		look->layout.last = look->last;
	}
	return 0;
}

/* ---- --watch: draws, sleeps, and draws again. It changes no setting of the terminal, so there is
 * nothing to restore, and Ctrl-C and Ctrl-Z work as ever, also while the server is silent. ---- */

/* The title, and the line for what is wrong. */
#define HEAD_ROWS 2

/* The height of a terminal that does not know its size. */
#define ROWS_USUAL 24

struct screen {
	struct terminal terminal;
	int rows;
	int width;       /* the last column stays free: erasing behind a full line erases its end */
	bool is_cleared; /* what stood there before has gone up */
	char *text;      /* the last one that came */
	struct error trouble;
};

/* Looks at the locks again. The old text stays if that fails. */
static int redraw(struct screen *screen, struct look look)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	int result = 0;

	if (out && (result = fill_table(&look, &screen->trouble)) == 0) {
		table_draw(look.table, out, screen->width);
		screen->trouble = look.trouble;
	}
	table_close(look.table);
	if (!out || fclose(out) != 0)
		result = fail(&screen->trouble, STATUS_OS, "cannot draw the screen: out of memory");
	if (result == 0) {
		free(screen->text);
		screen->text = text;
	} else {
		free(text);
	}
	return result;
}

static void put_line(const struct screen *screen, const char *text)
{
	char cut[2048];

	terminal_cut(&screen->terminal, cut, sizeof(cut), text, screen->width);
	printf("%s\033[K", cut);
}

/* If not all lines fit, the last row says how many are left out. */
static void put_text(const struct screen *screen, int rows)
{
	const char *text = screen->text;
	int left = 0;

	for (const char *end = text; (end = strchr(end, '\n')); end++)
		left++;
	for (; left > 0; left--, rows--) {
		const size_t length = strcspn(text, "\n");

		fputs("\n", stdout);
		if (rows == 1 && left > 1) {
			printf("... %d more\033[K", left);
			return;
		}
		printf("%.*s\033[K", (int)length, text);
		text += length + 1;
	}
}

/* Each line goes over the one before, so that nothing flickers. The lines of the shell that stood
 * on the screen are pushed up before. */
static void draw(struct screen *screen, const char *title)
{
	char now[TIMESTAMP_MAX_BYTES], head[NAME_MAX_BYTES + 128];

	for (int row = 1; row < screen->rows && !screen->is_cleared; row++)
		putchar('\n');
	screen->is_cleared = true;
	fputs("\033[H\033[?7l", stdout); /* the end of a long line is cut off */
	snprintf(head, sizeof(head), "%s  %s", title, timestamp_local(now, wall_ms(), "%T"));
	put_line(screen, head);
	if (screen->rows >= HEAD_ROWS) {
		putchar('\n');
		put_line(screen, screen->trouble.status ? screen->trouble.text : "");
	}
	if (screen->rows > HEAD_ROWS)
		put_text(screen, screen->rows - HEAD_ROWS);
	fputs("\033[J\033[?7h", stdout);
}

static int watch(const struct look *look, const char *title, struct error *err)
{
	const int64_t period_ms = look->invocation->options->watch_ms;
	struct screen screen = {.text = NULL};
	int64_t left_ms;

	if (isatty(STDOUT_FILENO) != 1)
		return fail(err, STATUS_USAGE,
			    "cannot use option '--watch': standard output is not a terminal");
	if (terminal_is_dumb())
		return fail(err, STATUS_USAGE,
			    "cannot use option '--watch': TERM says that this terminal cannot be "
			    "redrawn");
	terminal_init(&screen.terminal, STDOUT_FILENO);
	do {
		const int64_t next_ms = clock_ms() + period_ms;

		terminal_measure(&screen.terminal, STDOUT_FILENO);
		screen.rows = screen.terminal.rows > 0 ? screen.terminal.rows : ROWS_USUAL;
		screen.width = MAX(screen.terminal.columns - 1, 1);
		if (redraw(&screen, *look) < 0 && !screen.text) {
			*err = screen.trouble;
			return -1;
		}
		draw(&screen, title);
		left_ms = next_ms - clock_ms();
	} while (fflush(stdout) == 0 && poll(NULL, 0, (int)MAX(left_ms, 0)) <= 0);
	free(screen.text);
	return 0;
}

int look_run(struct look *look, const char *title, int *status, struct error *err)
{
	int result;

	look->is_watched = look->invocation->options->watch_ms > 0;
	if (look->is_watched)
		return watch(look, title, err);
	result = fill_table(look, err);
	if (result == 0)
		table_print(look->table, -1);
	table_close(look->table);
	return result == 0 ? look_end(look, status, err) : -1;
}

int look_end(const struct look *look, int *status, struct error *err)
{
	*status = look->status;
	if (look->trouble.status == STATUS_OK)
		return 0;
	*err = look->trouble;
	return -1;
}

void look_check_name(const struct look *look, const struct lock_keys *keys, struct client *client)
{
	struct error ignored;
	bool is_known;

	if (look->invocation->argc > 0 && !look->is_watched)
		lock_list_check(client, keys, &is_known, &ignored);
}
