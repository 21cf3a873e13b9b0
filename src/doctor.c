/* fairlock doctor: is this server fit to hold locks, and how would we reach it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "checks.h"
#include "clock.h"
#include "command.h"
#include "facts.h"
#include "json.h"
#include "local.h"
#include "name.h"
#include "names.h"
#include "nodes.h"
#include "options.h"
#include "origins.h"
#include "report.h"
#include "tell.h"

#define SAMPLES 20
#define PATH_BYTES 400

enum {
	EXIT_WARNINGS = 1,
	EXIT_ERRORS = 2,
};

/* All that is known. */
struct examination {
	const struct invocation *invocation;
	struct nodes nodes;
	struct facts *facts; /* one for each node */
	struct report report;
	char folder[PATH_BYTES]; /* of a private server */
	pid_t pid;
};

/* ---- Looking ---- */

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
		struct facts *facts = &examination->facts[i];

		if (facts_ask(facts, &nodes->clients[i], SAMPLES, err) < 0)
			return -1;
		if (examination->folder[0])
			snprintf(facts->address, sizeof(facts->address), "%s/socket",
				 examination->folder);
		tell_step(invocation->teller, "asked %s: %s %s, %s", facts->address,
			  facts->software, facts->version, facts->mode);
	}
	return 0;
}

/* A cluster whose slots are given to nobody is in order as far as its nodes go. */
static void check_slots(struct examination *examination)
{
	if (examination->nodes.count == 0)
		finding_explain(report_add(&examination->report, SEVERITY_ERROR, "slots",
					   "no node of this cluster has any"),
				"No lock can be taken (CLUSTERDOWN, 69).",
				"redis-cli --cluster check HOST:PORT");
}

static void check_nodes(struct examination *examination)
{
	const struct invocation *invocation = examination->invocation;
	struct report *report = &examination->report;

	report->places = examination->nodes.count;
	for (size_t i = 0; i < examination->nodes.count; i++) {
		const struct facts *facts = &examination->facts[i];

		report->place = facts->address;
		check_server(report, facts, invocation->options);
		check_user(report, facts, invocation->options, invocation->argv, invocation->argc);
	}
	report->place = NULL;
	check_times(report, examination->facts, examination->nodes.count, invocation->options);
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
	names_free(&names);
	client_close(&client);
	return result;
}

static int examine(struct examination *examination, struct error *err)
{
	const struct invocation *invocation = examination->invocation;
	const int64_t timeout_ms = invocation->options->connect_timeout_ms;

	if (nodes_open(&examination->nodes, invocation->server, timeout_ms, clock_ms() + timeout_ms,
		       err) < 0)
		return -1;
	check_slots(examination);
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

/* ---- Showing ---- */

static const struct facts *first_facts(const struct examination *examination)
{
	const struct facts *facts = examination->facts;

	return facts && facts->version[0] ? facts : NULL;
}

static const char *mode_of(const struct examination *examination)
{
	switch (examination->invocation->server->kind) {
	case SERVER_LOCAL:
		return "local";
	case SERVER_SENTINEL:
		return "sentinel";
	case SERVER_UNIX:
	case SERVER_TCP:
		break;
	}
	return first_facts(examination)->mode;
}

static const char *role_of(const struct facts *facts)
{
	return facts->is_replica ? "replica" : "master";
}

static const char *user_of(const struct server *server)
{
	return server->user ? server->user : "default";
}

/* How to end the private server. From within its folder: a socket's path may be short only. */
static void show_shutdown(char *text, size_t size, const struct examination *examination)
{
	snprintf(text, size, "cd '%s' && %s-cli -s socket shutdown", examination->folder,
		 strcmp(first_facts(examination)->software, "valkey") == 0 ? "valkey" : "redis");
}

static void print_private(const struct examination *examination)
{
	char text[PATH_BYTES + 64];

	if (!examination->folder[0])
		return;
	snprintf(text, sizeof(text), "%s/server.log", examination->folder);
	report_print_line("log", text, NULL);
	snprintf(text, sizeof(text), "%ld", (long)examination->pid);
	report_print_line("process id", text, NULL);
	show_shutdown(text, sizeof(text), examination);
	report_print_line("to end it", text, NULL);
}

static void print_server(const struct examination *examination)
{
	const struct server *server = examination->invocation->server;
	const struct facts *facts = first_facts(examination);
	char text[256];

	puts("Server");
	report_print_line("url", server->label, NULL);
	if (!facts)
		return;
	for (size_t i = 0; i < examination->nodes.count; i++)
		report_print_line(i == 0 ? "address" : "", examination->facts[i].address, NULL);
	snprintf(text, sizeof(text), "%s %s, %s, %s",
		 strcmp(facts->software, "valkey") == 0 ? "Valkey" : "Redis", facts->version,
		 mode_of(examination), role_of(facts));
	report_print_line("software", text, NULL);
	report_print_line("user", user_of(server), NULL);
	if (facts->tls)
		report_print_line("TLS", facts->tls,
				  server->tls_files.insecure ? "certificate not verified" : NULL);
	print_private(examination);
}

static void print_settings(const struct examination *examination)
{
	const struct options *options = examination->invocation->options;
	struct shown_setting shown;

	puts("\nSettings");
	for (size_t i = 0; origins_show(&shown, i, options, examination->invocation->server); i++) {
		const bool is_default = strcmp(shown.source, "default") == 0;

		if (is_default && strcmp(shown.name, "url") != 0 && !options->verbose)
			continue;
		report_print_line(shown.name,
				  shown.is_secret       ? "(not shown)"
				  : shown.value[0] == 0 ? "-"
							: shown.value,
				  is_default ? "default" : shown.where);
	}
}

static void print_people(const struct examination *examination)
{
	print_server(examination);
	print_settings(examination);
	puts("\nFindings");
	report_print(&examination->report, SEVERITY_OK);
}

static void print_member(const char *name, const char *text)
{
	printf(",\"%s\":", name);
	if (text && *text)
		json_print_string(text);
	else
		fputs("null", stdout);
}

static void print_private_json(const struct examination *examination)
{
	char text[PATH_BYTES + 64] = "", log[PATH_BYTES + 64] = "";

	if (examination->folder[0] && first_facts(examination)) {
		snprintf(log, sizeof(log), "%s/server.log", examination->folder);
		show_shutdown(text, sizeof(text), examination);
	}
	print_member("folder", examination->folder);
	print_member("log", log);
	print_member("shutdown", text);
	if (examination->pid)
		printf(",\"pid\":%ld", (long)examination->pid);
	else
		fputs(",\"pid\":null", stdout);
}

static void print_server_json(const struct examination *examination)
{
	const struct server *server = examination->invocation->server;
	const struct facts *facts = first_facts(examination);

	fputs("\"server\":{\"url\":", stdout);
	json_print_string(server->label);
	print_member("software", facts ? facts->software : NULL);
	print_member("version", facts ? facts->version : NULL);
	print_member("mode", facts ? mode_of(examination) : NULL);
	print_member("role", facts ? role_of(facts) : NULL);
	print_member("user", user_of(server));
	print_member("tls", facts ? facts->tls : NULL);
	fputs(",\"addresses\":[", stdout);
	for (size_t i = 0; facts && i < examination->nodes.count; i++) {
		fputs(i > 0 ? "," : "", stdout);
		json_print_string(facts[i].address);
	}
	putchar(']');
	print_private_json(examination);
	putchar('}');
}

static void print_json(const struct examination *examination)
{
	const struct invocation *invocation = examination->invocation;
	struct shown_setting shown;

	putchar('{');
	print_server_json(examination);
	fputs(",\n\"settings\":[", stdout);
	for (size_t i = 0; origins_show(&shown, i, invocation->options, invocation->server); i++) {
		fputs(i > 0 ? ",\n{\"name\":" : "\n{\"name\":", stdout);
		json_print_string(shown.name);
		print_member("value", shown.value);
		print_member("source", shown.source);
		print_member("where", shown.where);
		putchar('}');
	}
	fputs("],\n\"findings\":", stdout);
	report_print_json(&examination->report);
	puts("}");
}

static void print(struct examination *examination)
{
	const struct options *options = examination->invocation->options;

	report_sort(&examination->report);
	if (options->json)
		print_json(examination);
	else if (options->quiet)
		report_print(&examination->report, SEVERITY_WARNING);
	else
		print_people(examination);
	fflush(stdout); /* before main says what failed */
}

static int exit_status(const struct report *report)
{
	switch (report_worst(report)) {
	case SEVERITY_OK:
	case SEVERITY_NOTE:
		break;
	case SEVERITY_WARNING:
		return EXIT_WARNINGS;
	case SEVERITY_ERROR:
		return EXIT_ERRORS;
	}
	return STATUS_OK;
}

static int run(const struct invocation *invocation, int *status, struct error *err)
{
	struct examination examination = {.invocation = invocation};
	struct lock_keys keys;
	int result;

	for (int i = 0; i < invocation->argc; i++)
		if (name_keys(&keys, invocation->argv[i], err) < 0)
			return -1;
	result = examine(&examination, err);
	if (result < 0)
		add_failure(&examination.report, err);
	print(&examination);
	*status = exit_status(&examination.report);
	if (result == 0 && examination.report.is_incomplete)
		result = fail(err, STATUS_OS, "cannot list all findings: out of memory");
	for (size_t i = 0; examination.facts && i < examination.nodes.count; i++)
		facts_free(&examination.facts[i]);
	free(examination.facts);
	report_free(&examination.report);
	nodes_close(&examination.nodes);
	return result;
}

const struct command doctor_command = {
	.name = "doctor",
	.operands = "[NAME...]",
	.summary = "is this server fit to hold locks, and how would we reach it",
	.run = run,
};
