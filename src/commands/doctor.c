/* fairlock doctor: prints whether a server is fit to hold locks, and how we would reach it. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/json.h"
#include "base/terminal.h"
#include "cli/command.h"
#include "cli/options.h"
#include "doctor/diagnose.h"
#include "doctor/setting_source.h"
#include "lock/lock.h"

enum {
	EXIT_WARNINGS = 1,
	EXIT_ERRORS = 2,
};

static const struct server_info *first_info(const struct diagnosis *diagnosis)
{
	const struct server_info *info = diagnosis->info;

	return info && info->version[0] ? info : NULL;
}

static const char *mode_of(const struct diagnosis *diagnosis)
{
	const enum server_kind kind = diagnosis->invocation->server->kind;

	return kind == SERVER_LOCAL      ? "local"
	       : kind == SERVER_SENTINEL ? "sentinel"
					 : first_info(diagnosis)->mode;
}

static const char *role_of(const struct server_info *info)
{
	return info->is_replica ? "replica" : "master";
}

#define PRIVATE_MAX_BYTES (FOLDER_MAX_BYTES + 64)

/* The log of the private server, and a command that ends the server; "" if there is none. The
 * command works within the folder, because the path of a socket has to be short. */
static void describe_private(const struct diagnosis *diagnosis, char log[PRIVATE_MAX_BYTES],
			     char shutdown[PRIVATE_MAX_BYTES])
{
	const struct server_info *info = first_info(diagnosis);

	*log = *shutdown = '\0';
	if (!info || !diagnosis->folder[0])
		return;
	snprintf(log, PRIVATE_MAX_BYTES, "%s/server.log", diagnosis->folder);
	snprintf(shutdown, PRIVATE_MAX_BYTES, "cd '%s' && %s-cli -s socket shutdown",
		 diagnosis->folder, strcmp(info->software, "valkey") == 0 ? "valkey" : "redis");
}

static void print_private(const struct diagnosis *diagnosis)
{
	char log[PRIVATE_MAX_BYTES], shutdown[PRIVATE_MAX_BYTES], pid[24];

	describe_private(diagnosis, log, shutdown);
	if (!*log)
		return;
	snprintf(pid, sizeof(pid), "%ld", (long)diagnosis->pid);
	findings_print_line("log", log, NULL);
	findings_print_line("process id", pid, NULL);
	findings_print_line("to end it", shutdown, NULL);
}

static void print_server(const struct diagnosis *diagnosis)
{
	const struct server *server = diagnosis->invocation->server;
	const struct server_info *info = first_info(diagnosis);
	char text[256];

	puts("Server");
	findings_print_line("url", server->label, NULL);
	if (!info)
		return;
	for (size_t i = 0; i < diagnosis->info_count; i++)
		findings_print_line(i == 0 ? "address" : "", diagnosis->info[i].address, NULL);
	snprintf(text, sizeof(text), "%s %s, %s, %s", info->vendor, info->version,
		 mode_of(diagnosis), role_of(info));
	findings_print_line("software", text, NULL);
	findings_print_line("user", info->user, NULL);
	if (info->tls)
		findings_print_line("TLS", info->tls,
				    server->tls_files.insecure ? "certificate not verified" : NULL);
	print_private(diagnosis);
}

static void print_settings(const struct diagnosis *diagnosis)
{
	const struct options *options = diagnosis->invocation->options;
	struct shown_setting shown;

	puts("\nSettings");
	for (size_t i = 0; setting_source_show(&shown, i, options, diagnosis->invocation->server);
	     i++) {
		const bool is_default = strcmp(shown.source, "default") == 0;

		if (is_default && strcmp(shown.name, "url") != 0 && !options->verbose)
			continue;
		findings_print_line(shown.name,
				    shown.is_secret       ? "(not shown)"
				    : shown.value[0] == 0 ? "-"
							  : shown.value,
				    is_default ? "default" : shown.where);
	}
}

static bool is_coloured(const struct diagnosis *diagnosis)
{
	return terminal_colours(diagnosis->invocation->options->colour, STDOUT_FILENO);
}

static void print_people(const struct diagnosis *diagnosis)
{
	print_server(diagnosis);
	print_settings(diagnosis);
	puts("\nFindings");
	findings_print(&diagnosis->findings, SEVERITY_OK, is_coloured(diagnosis));
}

static void print_private_json(const struct diagnosis *diagnosis, struct json *json)
{
	char log[PRIVATE_MAX_BYTES], shutdown[PRIVATE_MAX_BYTES];

	describe_private(diagnosis, log, shutdown);
	json_text(json, "folder", diagnosis->folder);
	json_text(json, "log", log);
	json_text(json, "shutdown", shutdown);
	if (diagnosis->pid)
		json_printf(json, "pid", "%ld", (long)diagnosis->pid);
	else
		json_text(json, "pid", NULL);
}

static void print_server_json(const struct diagnosis *diagnosis, struct json *json)
{
	const struct server *server = diagnosis->invocation->server;
	const struct server_info *info = first_info(diagnosis);

	json_open(json, "server", '{');
	json_text(json, "url", server->label);
	json_text(json, "software", info ? info->software : NULL);
	json_text(json, "version", info ? info->version : NULL);
	json_text(json, "mode", info ? mode_of(diagnosis) : NULL);
	json_text(json, "role", info ? role_of(info) : NULL);
	json_text(json, "user", server->user ? server->user : "default");
	json_text(json, "tls", info ? info->tls : NULL);
	json_open(json, "addresses", '[');
	for (size_t i = 0; info && i < diagnosis->info_count; i++)
		json_text(json, NULL, info[i].address);
	json_close(json, ']');
	print_private_json(diagnosis, json);
	json_close(json, '}');
}

static void print_json(const struct diagnosis *diagnosis)
{
	const struct invocation *invocation = diagnosis->invocation;
	struct shown_setting shown;
	struct json json = {0};

	json_open(&json, NULL, '{');
	print_server_json(diagnosis, &json);
	json_break_line(&json);
	json_open(&json, "settings", '[');
	for (size_t i = 0; setting_source_show(&shown, i, invocation->options, invocation->server);
	     i++) {
		json_break_line(&json);
		json_open(&json, NULL, '{');
		json_text(&json, "name", shown.name);
		json_text(&json, "value", shown.value);
		json_text(&json, "source", shown.source);
		json_text(&json, "where", shown.where);
		json_close(&json, '}');
	}
	json_close(&json, ']');
	json_break_line(&json);
	findings_print_json(&diagnosis->findings, &json);
	json_close(&json, '}');
}

static void print_diagnosis(struct diagnosis *diagnosis)
{
	const struct options *options = diagnosis->invocation->options;

	findings_sort(&diagnosis->findings);
	if (options->json)
		print_json(diagnosis);
	else if (options->quiet)
		findings_print(&diagnosis->findings, SEVERITY_WARNING, is_coloured(diagnosis));
	else
		print_people(diagnosis);
}

static int exit_status(const struct findings *findings)
{
	const enum severity worst = findings_worst(findings);

	return worst == SEVERITY_ERROR     ? EXIT_ERRORS
	       : worst == SEVERITY_WARNING ? EXIT_WARNINGS
					   : STATUS_OK;
}

static int run_doctor(const struct invocation *invocation, int *status, struct error *err)
{
	struct diagnosis diagnosis;
	struct lock_keys keys;
	int result;

	for (int i = 0; i < invocation->argc; i++)
		if (lock_keys_make(&keys, invocation->argv[i], err) < 0)
			return -1;
	result = diagnose(&diagnosis, invocation, err);
	print_diagnosis(&diagnosis);
	*status = exit_status(&diagnosis.findings);
	/* people have read it among the findings */
	if (result < 0 && !invocation->options->json) {
		*status = (int)err->status;
		result = 0;
	}
	if (result < 0)
		fflush(stdout); /* before main reports it; else main finds out why that fails */
	if (result == 0 && diagnosis.findings.is_incomplete)
		result = fail(err, STATUS_OS, "cannot list all findings: out of memory");
	diagnosis_free(&diagnosis);
	return result;
}

const struct command doctor_command = {
	.name = "doctor",
	.operands = "[NAME...]",
	.summary = "check whether the server is fit to hold locks",
	.examples = "  fairlock doctor                             the server of the settings\n"
		    "  fairlock doctor -u redis://db.example.com   another server\n"
		    "  fairlock doctor backup                      the permissions for this lock\n",
	.bit = COMMAND_DOCTOR,
	.most = OPERANDS_UNLIMITED,
	.shows_options = true,
	.run = run_doctor,
};
