/* fairlock doctor: is this server fit to hold locks, and how would we reach it. */
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "cli/command.h"
#include "cli/options.h"
#include "doctor/diagnose.h"
#include "doctor/setting_source.h"
#include "lock/lock_keys.h"

enum {
	EXIT_WARNINGS = 1,
	EXIT_ERRORS = 2,
};

static const struct server_info *first_facts(const struct diagnosis *examination)
{
	const struct server_info *info = examination->info;

	return info && info->version[0] ? info : NULL;
}

static const char *mode_of(const struct diagnosis *examination)
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

static const char *role_of(const struct server_info *info)
{
	return info->is_replica ? "replica" : "master";
}

static const char *user_of(const struct server *server)
{
	return server->user ? server->user : "default";
}

/* How to end the private server. From within its folder: a socket's path may be short only. */
static void show_shutdown(char *text, size_t size, const struct diagnosis *examination)
{
	snprintf(text, size, "cd '%s' && %s-cli -s socket shutdown", examination->folder,
		 strcmp(first_facts(examination)->software, "valkey") == 0 ? "valkey" : "redis");
}

static void print_private(const struct diagnosis *examination)
{
	char text[FOLDER_MAX_BYTES + 64];

	if (!examination->folder[0])
		return;
	snprintf(text, sizeof(text), "%s/server.log", examination->folder);
	findings_print_line("log", text, NULL);
	snprintf(text, sizeof(text), "%ld", (long)examination->pid);
	findings_print_line("process id", text, NULL);
	show_shutdown(text, sizeof(text), examination);
	findings_print_line("to end it", text, NULL);
}

static void print_server(const struct diagnosis *examination)
{
	const struct server *server = examination->invocation->server;
	const struct server_info *info = first_facts(examination);
	char text[256];

	puts("Server");
	findings_print_line("url", server->label, NULL);
	if (!info)
		return;
	for (size_t i = 0; i < examination->fact_count; i++)
		findings_print_line(i == 0 ? "address" : "", examination->info[i].address, NULL);
	snprintf(text, sizeof(text), "%s %s, %s, %s",
		 strcmp(info->software, "valkey") == 0 ? "Valkey" : "Redis", info->version,
		 mode_of(examination), role_of(info));
	findings_print_line("software", text, NULL);
	findings_print_line("user", user_of(server), NULL);
	if (info->tls)
		findings_print_line("TLS", info->tls,
				    server->tls_files.insecure ? "certificate not verified" : NULL);
	print_private(examination);
}

static void print_settings(const struct diagnosis *examination)
{
	const struct options *options = examination->invocation->options;
	struct shown_setting shown;

	puts("\nSettings");
	for (size_t i = 0; setting_source_show(&shown, i, options, examination->invocation->server);
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

static void print_people(const struct diagnosis *examination)
{
	print_server(examination);
	print_settings(examination);
	puts("\nFindings");
	findings_print(&examination->report, SEVERITY_OK);
}

static void print_private_json(const struct diagnosis *examination, struct json *json)
{
	char text[FOLDER_MAX_BYTES + 64] = "", log[FOLDER_MAX_BYTES + 64] = "";

	if (examination->folder[0] && first_facts(examination)) {
		snprintf(log, sizeof(log), "%s/server.log", examination->folder);
		show_shutdown(text, sizeof(text), examination);
	}
	json_text(json, "folder", examination->folder);
	json_text(json, "log", log);
	json_text(json, "shutdown", text);
	if (examination->pid)
		json_printf(json, "pid", "%ld", (long)examination->pid);
	else
		json_text(json, "pid", NULL);
}

static void print_server_json(const struct diagnosis *examination, struct json *json)
{
	const struct server *server = examination->invocation->server;
	const struct server_info *info = first_facts(examination);

	json_open(json, "server", '{');
	json_text(json, "url", server->label);
	json_text(json, "software", info ? info->software : NULL);
	json_text(json, "version", info ? info->version : NULL);
	json_text(json, "mode", info ? mode_of(examination) : NULL);
	json_text(json, "role", info ? role_of(info) : NULL);
	json_text(json, "user", user_of(server));
	json_text(json, "tls", info ? info->tls : NULL);
	json_open(json, "addresses", '[');
	for (size_t i = 0; info && i < examination->fact_count; i++)
		json_text(json, NULL, info[i].address);
	json_close(json, ']');
	print_private_json(examination, json);
	json_close(json, '}');
}

static void print_json(const struct diagnosis *examination)
{
	const struct invocation *invocation = examination->invocation;
	struct shown_setting shown;
	struct json json = {0};

	json_open(&json, NULL, '{');
	print_server_json(examination, &json);
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
	findings_print_json(&examination->report, &json);
	json_close(&json, '}');
}

static void print(struct diagnosis *examination)
{
	const struct options *options = examination->invocation->options;

	findings_sort(&examination->report);
	if (options->json)
		print_json(examination);
	else if (options->quiet)
		findings_print(&examination->report, SEVERITY_WARNING);
	else
		print_people(examination);
	fflush(stdout); /* before main says what failed */
}

static int exit_status(const struct findings *report)
{
	switch (findings_worst(report)) {
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

static int run_doctor(const struct invocation *invocation, int *status, struct error *err)
{
	struct diagnosis examination;
	struct lock_keys keys;
	int result;

	for (int i = 0; i < invocation->argc; i++)
		if (lock_keys_make(&keys, invocation->argv[i], err) < 0)
			return -1;
	result = diagnose(&examination, invocation, err);
	print(&examination);
	*status = exit_status(&examination.report);
	/* people have read it among the findings */
	if (result < 0 && !invocation->options->json) {
		*status = (int)err->status;
		result = 0;
	}
	if (result == 0 && examination.report.is_incomplete)
		result = fail(err, STATUS_OS, "cannot list all findings: out of memory");
	diagnosis_free(&examination);
	return result;
}

const struct command doctor_command = {
	.name = "doctor",
	.operands = "[NAME...]",
	.summary = "is this server fit to hold locks, and how would we reach it",
	.bit = COMMAND_DOCTOR,
	.most = OPERANDS_UNLIMITED,
	.shows_options = true,
	.run = run_doctor,
};
