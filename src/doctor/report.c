/* Merges findings that several servers share, and prints what stands above them; values look as a
 * configuration file would have them. */
#include "doctor/report.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/json.h"
#include "base/signals.h"
#include "base/terminal.h"
#include "cli/command.h"
#include "cli/settings.h"
#include "redis/server_error.h"

/* A finding with its servers. */
#define LINE_MAX_BYTES 2048

#define WIDTH_MOST 100 /* longer lines are hard to read */
#define WIDTH_LEAST 50
/* Where the columns begin. */
#define CHECK_AT 11
#define TEXT_AT 26
#define REMARK_AT 50

static const char *const severities[] = {"ok", "note", "warning", "error"};
static const char *const colours[] = {"\033[32m", "\033[36m", "\033[35m", "\033[1;31m"};

/* ---- Findings ---- */

void find(struct findings *findings, enum severity severity, const char *check, const char *format,
	  ...)
{
	struct finding *new = &findings->list[findings->count], *last = findings->list;
	va_list args;
	char *hint;

	*new = (struct finding){.severity = severity, .check = check};
	va_start(args, format);
	vsnprintf(new->text, sizeof(new->text), format, args);
	va_end(args);
	hint = strstr(new->text, SERVER_ERROR_HINT); /* to doctor, which is here */
	if (hint)
		memmove(hint, hint + strlen(SERVER_ERROR_HINT),
			strlen(hint + strlen(SERVER_ERROR_HINT)) + 1);
	while (last != new && (last->severity != severity || strcmp(last->check, check) != 0 ||
			       strcmp(last->text, new->text) != 0))
		last++;
	if (last == new && findings->count < FINDINGS_MAX - 1)
		findings->count++;
	if (findings->place && last->place_count < PLACES_MAX)
		last->places[last->place_count++] = findings->place;
	if (severity > findings->worst)
		findings->worst = severity;
	findings->last = last;
}

void advise(struct findings *findings, const char *consequence, const char *remedy, ...)
{
	va_list args;

	findings->last->consequence = consequence;
	va_start(args, remedy);
	vsnprintf(findings->last->remedy, sizeof(findings->last->remedy), remedy, args);
	va_end(args);
}

/* ---- Remedies for a server that is not reached, or does not serve ---- */

/* The kind of a failure shows in its status and in a few words of its cause, as the C library or
 * the server says them. The last remedy of a status is for a failure of no known kind. */
struct remedy {
	const char *words; /* any of these, between bars; "": whatever it says */
	const char *text;  /* %s: the host, or the socket; no full stop, for doctor prints "-> " in
			      front */
};

static const struct remedy unavailable[] = {
	{"is installed", "install the package redis-server or valkey-server, or name a server: "
			 "FAIRLOCK_URL, or url in fairlock.conf"},
	{"has locked its folder",
	 "give each host a machine-id of its own (systemd-machine-id-setup), or name a server: "
	 "FAIRLOCK_URL, or url in fairlock.conf"},
	{"server.log",
	 "see server.log in its folder, whether the disk is full, and redis-server --version"},
	{"no sentinel", "mend host and port in the URL, or write redis://HOST:PORT for a server "
			"without sentinels"},
	{"is a sentinel", "write redis+sentinel://HOST:PORT/MASTER; the masters: "
			  "redis-cli -p 26379 SENTINEL MASTERS"},
	{"knows no such master", "compare the master's name in the URL with the sentinels': "
				 "redis-cli -p 26379 SENTINEL MASTERS"},
	{"certificate|TLS|rediss", "compare the URL (redis:// is without TLS, rediss:// with it), "
				   "--tls-ca, and the host name in the certificate"},
	{"Name |name resolution|its name|No address",
	 "check the spelling of the host name, and this host's resolver: getent hosts %s"},
	{"Connection refused",
	 "start the server on %s, or mend host and port in the URL: nothing listens there"},
	{"No such file",
	 "start the server, or mend the path in the URL: its setting unixsocket has the path"},
	{"Permission denied",
	 "let this user write to %s: add it to the group of the socket and its "
	 "folder, or change unixsocketperm"},
	{"LOADING|loading",
	 "wait until it has read its data: redis-cli INFO persistence says how far it is"},
	{"BUSY|busy", "end the script: redis-cli SCRIPT KILL, or FUNCTION KILL"},
	{"number of clients|many clients",
	 "raise maxclients, or find out with redis-cli CLIENT LIST whose connections these are"},
	{"OOM|memory", "raise maxmemory, or find out what fills it: redis-cli --bigkeys"},
	{"MISCONF|disk|snapshot|save its data", "see the server's log: is its disk full?"},
	{"NOREPLICAS|replicas", "mend the replicas, or lower min-replicas-to-write"},
	{"READONLY|replica|read only|read-only",
	 "name its master in the URL, or the sentinels: redis+sentinel://HOST:PORT/MASTER"},
	{"cluster|CLUSTERDOWN|slot|moving to another node",
	 "see which nodes are down: redis-cli --cluster check HOST:PORT"},
	{"unknown command|lacks a command",
	 "take its rename-command out of the server's configuration; Redis 6.2, Valkey 7.2 and "
	 "later have it"},
	{"HELLO|NOPROTO",
	 "use Redis 6.2 or Valkey 7.2 or later, without a proxy that refuses HELLO 3"},
	{"no reply", "see whether the server hangs: is its process stopped, is the host out of "
		     "memory, did somebody say CLIENT PAUSE?"},
	{"timed out|No route|unreachable|in time",
	 "see whether %s is the right address, the host is up, and no firewall is in between"},
	{"", "see the server's log, and where the URL comes from (Settings)"},
};

static const struct remedy refused[] = {
	{"protected|DENIED",
	 "give the server a password (requirepass) or an address to listen on (bind)"},
	{"certificate", "give a certificate that the server trusts: --tls-cert and --tls-key"},
	{"password|WRONGPASS|NOAUTH",
	 "set FAIRLOCK_PASSWORD or --password-file, at least as near as the URL: see Passwords in "
	 "fairlock(1); the settings show which one is used"},
	{"",
	 "give the user what PERMISSIONS in fairlock(1) lists; fairlock doctor NAME says what is "
	 "missing for a lock"},
};

static const struct remedy config[] = {
	{"list of hosts", "write the master alone, redis://HOST, or the sentinels that watch it: "
			  "redis+sentinel://S1,S2,S3/MASTER"},
	{"", "mend the URL; see in the settings where it comes from"},
};

static const struct remedy strange[] = {
	{"", "see what listens there: it may be no Redis, or want TLS (rediss://)"},
};

static const struct remedy other[] = {{"", "see the message"}};

static bool has_any(const char *text, const char *words)
{
	char word[32];

	if (!*words)
		return true;
	for (; *words; words += *words == '|') {
		const size_t length = strcspn(words, "|");

		snprintf(word, sizeof(word), "%.*s", (int)length, words);
		if (strstr(text, word))
			return true;
		words += length;
	}
	return false;
}

void advise_on(struct findings *found, const char *consequence, const struct error *err,
	       const struct server *server)
{
	const char *place = server->kind == SERVER_UNIX ? server->path
			    : server->seed_count > 0    ? server->seeds[0].host
							: "this host";
	const struct remedy *remedy = err->status == STATUS_UNAVAILABLE ? unavailable
				      : err->status == STATUS_REFUSED   ? refused
				      : err->status == STATUS_CONFIG    ? config
				      : err->status == STATUS_BUG       ? strange
									: other;
	/* the name of the server must not decide */
	const char *cause = strstr(err->text, ": "), *gap;

	while (!has_any(cause ? cause : err->text, remedy->words))
		remedy++;
	gap = strstr(remedy->text, "%s");
	if (gap)
		advise(found, consequence, "%.*s%.200s%s", (int)(gap - remedy->text), remedy->text,
		       place, gap + 2);
	else
		advise(found, consequence, "%s", remedy->text);
}

/* ---- Settings ---- */

static void show_value(char *text, size_t size, const struct options *options,
		       const struct option_row *row)
{
	const void *member = (const char *)options + row->offset;
	char duration[DURATION_MAX_BYTES], name[SIGNAL_MAX_BYTES];

	if (row->kind == OPTION_FLAG)
		snprintf(text, size, "%s", *(const bool *)member ? "yes" : "no");
	else if (row->kind == OPTION_DURATION || row->kind == OPTION_PERIOD)
		snprintf(text, size, "%s",
			 duration_show_fraction(duration, *(const int64_t *)member));
	else if (row->kind == OPTION_NUMBER)
		snprintf(text, size, "%" PRId64, *(const int64_t *)member);
	else if (row->kind == OPTION_INT)
		snprintf(text, size, "%d", *(const int *)member);
	else if (row->kind == OPTION_SIGNAL)
		snprintf(text, size, "%s", signal_show(name, *(const int *)member));
	else if (row->kind == OPTION_COLOUR)
		snprintf(text, size, "%s", colour_words[*(const enum colour_choice *)member]);
	else /* a text; no setting is a list */
		snprintf(text, size, "%s", *(const char *const *)member);
}

static void show_origin(struct shown_setting *shown, const struct options *options,
			const struct option_row *row)
{
	static const char *const names[] = {[0] = "default",
					    [SOURCE_FLAG] = "flag",
					    [SOURCE_ENVIRONMENT] = "environment",
					    [SOURCE_FILE] = "file"};

	shown->source = names[options_origin(options, row)->source];
	settings_where(options, row, shown->where, sizeof(shown->where));
}

/* Several sources may have a password; options->password_source is the one that counts. */
static void show_password(struct shown_setting *shown, const struct options *options)
{
	static const char *const rows[] = {[PASSWORD_URL] = "url",
					   [PASSWORD_TEXT] = "password",
					   [PASSWORD_FILE] = "password-file"};
	const enum password_source source = options->password_source;

	shown->is_secret = source != PASSWORD_NONE;
	if (source == PASSWORD_NONE) {
		shown->source = "default";
	} else if (source == PASSWORD_SHARED) {
		shown->source = "environment";
		snprintf(shown->where, sizeof(shown->where), "REDISCLI_AUTH");
	} else {
		show_origin(shown, options, option_named(rows[source]));
		if (source == PASSWORD_URL)
			shown->source = "url";
	}
}

bool report_setting(struct shown_setting *shown, const struct option_row *row,
		    const struct options *options, const struct server *server)
{
	if (!(row->sources & (SOURCE_ENVIRONMENT | SOURCE_FILE)))
		return false;
	*shown = (struct shown_setting){.name = row->name};
	if (strcmp(row->name, "password") == 0) {
		show_password(shown, options);
		return true;
	}
	show_origin(shown, options, row);
	if (row->kind == OPTION_URL)
		snprintf(shown->value, sizeof(shown->value), "%s", server->label);
	else if (options_has(options, row))
		show_value(shown->value, sizeof(shown->value), options, row);
	else
		snprintf(shown->value, sizeof(shown->value), "%s", row->fallback);
	return true;
}

/* ---- For people ---- */

/* Prints words behind TEXT_AT, the first where the cursor is, and ends the line. A word that is
 * too long stands uncut on a line of its own, so that it can be copied. */
static void print_wrapped(const struct terminal *terminal, const char *text)
{
	const int width = terminal->columns > WIDTH_MOST    ? WIDTH_MOST
			  : terminal->columns < WIDTH_LEAST ? WIDTH_LEAST
							    : terminal->columns;
	char copy[LINE_MAX_BYTES], *rest;
	int used = TEXT_AT;

	snprintf(copy, sizeof(copy), "%s", text);
	tame(copy);
	for (char *word = strtok_r(copy, " ", &rest); word; word = strtok_r(NULL, " ", &rest)) {
		const int columns = terminal_width(terminal, word);

		if (used > TEXT_AT && used + 1 + columns > width) {
			printf("\n%*s", TEXT_AT, "");
			used = TEXT_AT;
		} else if (used > TEXT_AT) {
			putchar(' ');
			used++;
		}
		fputs(word, stdout);
		used += columns;
	}
	putchar('\n');
}

static void print_finding(const struct terminal *terminal, const struct finding *finding,
			  size_t servers)
{
	char text[LINE_MAX_BYTES];
	size_t length = (size_t)snprintf(text, sizeof(text), "%s", finding->text);

	if (finding->place_count < servers)
		for (size_t i = 0; i < finding->place_count && length < sizeof(text); i++)
			length += (size_t)snprintf(text + length, sizeof(text) - length, "%s%s%s",
						   i == 0 ? " (at " : ", ", finding->places[i],
						   i + 1 == finding->place_count ? ")" : "");
	printf("  %s%-*s%s%-*s", terminal->colour ? colours[finding->severity] : "", CHECK_AT - 2,
	       severities[finding->severity], terminal->colour ? "\033[0m" : "", TEXT_AT - CHECK_AT,
	       finding->check);
	print_wrapped(terminal, text);
	if (!finding->consequence)
		return;
	printf("%*s", TEXT_AT, "");
	print_wrapped(terminal, finding->consequence);
	printf("%*s", TEXT_AT, "");
	snprintf(text, sizeof(text), "-> %s", finding->remedy);
	print_wrapped(terminal, text);
}

/* Prints a line "  NAME  VALUE   REMARK". */
static void print_line(const struct terminal *terminal, const char *name, const char *value,
		       const char *remark)
{
	char shown[LINE_MAX_BYTES];
	const int room = REMARK_AT - TEXT_AT;
	int columns;

	snprintf(shown, sizeof(shown), "%s", value);
	tame(shown);
	columns = terminal_width(terminal, shown);
	printf("  %-*s%s", TEXT_AT - 2, name, shown);
	if (*remark)
		printf("%*s%s", columns + 2 > room ? 2 : room - columns, "", remark);
	putchar('\n');
}

/* ---- Both ---- */

struct report {
	const struct diagnosis *diagnosis;
	const struct options *options;
	struct terminal terminal;
	struct json json; /* with --json */
};

/* Prints a fact under one name for people and another for programs; NULL: not for them. */
static void put(struct report *report, const char *name, const char *key, const char *value)
{
	if (report->options->json && key)
		json_text(&report->json, key, value);
	else if (!report->options->json && name && value && *value)
		print_line(&report->terminal, name, value, "");
}

/* Begins what is an object or a list for programs. */
static void begin(struct report *report, const char *title, const char *key, char bracket)
{
	if (report->options->json) {
		json_break_line(&report->json);
		json_open(&report->json, key, bracket);
	} else {
		puts(title);
	}
}

static void end(struct report *report, char bracket)
{
	if (report->options->json)
		json_close(&report->json, bracket);
}

/* A command that ends the server works within its folder, because the path of a socket has to be
 * short. */
static void print_private(struct report *report, const char *software)
{
	const char *folder = report->diagnosis->folder;
	const long pid = report->diagnosis->pid;
	char log[FOLDER_MAX_BYTES + 64] = "", command[FOLDER_MAX_BYTES + 64] = "", text[24] = "";

	if (*folder && *software) {
		snprintf(log, sizeof(log), "%s/server.log", folder);
		snprintf(command, sizeof(command), "cd '%s' && %s-cli -s socket shutdown", folder,
			 strcmp(software, "valkey") == 0 ? "valkey" : "redis");
		snprintf(text, sizeof(text), "%ld", pid);
	}
	put(report, NULL, "folder", folder);
	put(report, "log", "log", log);
	put(report, "process id", NULL, text);
	put(report, "to end it", "shutdown", command);
	if (report->options->json)
		json_printf(&report->json, "pid", pid ? "%ld" : "null", pid);
}

static void print_server(struct report *report)
{
	static const struct facts unknown = {.mode = ""};
	const struct diagnosis *diagnosis = report->diagnosis;
	const struct server *server = diagnosis->invocation->server;
	const bool is_known = diagnosis->facts_count > 0;
	const struct facts *facts = is_known ? diagnosis->facts : &unknown;
	const char *role = !is_known ? "" : facts->is_replica ? "replica" : "master";
	const char *mode = is_known && server->kind == SERVER_LOCAL      ? "local"
			   : is_known && server->kind == SERVER_SENTINEL ? "sentinel"
									 : facts->mode;
	char software[128] = "", tls[64] = "";

	if (is_known)
		snprintf(software, sizeof(software), "%s %s, %s, %s", facts->vendor, facts->version,
			 mode, role);
	if (facts->tls)
		snprintf(tls, sizeof(tls), "%s%s", facts->tls,
			 server->tls_files.insecure ? ", certificate not verified" : "");
	begin(report, "Server", "server", '{');
	put(report, "url", "url", server->label);
	put(report, NULL, "software", facts->software);
	put(report, NULL, "version", facts->version);
	put(report, NULL, "mode", mode);
	put(report, NULL, "role", role);
	if (report->options->json)
		json_open(&report->json, "addresses", '[');
	for (size_t i = 0; i < diagnosis->facts_count; i++)
		if (report->options->json)
			json_text(&report->json, NULL, facts[i].address);
		else
			put(report, i == 0 ? "address" : "", NULL, facts[i].address);
	end(report, ']');
	put(report, "software", NULL, software);
	put(report, "user", "user", server->user ? server->user : "default");
	put(report, NULL, "tls", facts->tls);
	put(report, "TLS", NULL, tls);
	print_private(report, facts->software);
	end(report, '}');
}

static void print_setting(struct report *report, const struct shown_setting *shown)
{
	const bool is_default = strcmp(shown->source, "default") == 0;

	if (report->options->json) {
		json_break_line(&report->json);
		json_open(&report->json, NULL, '{');
		json_text(&report->json, "name", shown->name);
		json_text(&report->json, "value", shown->value);
		json_text(&report->json, "source", shown->source);
		json_text(&report->json, "where", shown->where);
		json_close(&report->json, '}');
	} else if (!is_default || strcmp(shown->name, "url") == 0 || report->options->verbose) {
		print_line(&report->terminal, shown->name,
			   shown->is_secret ? "(not shown)"
			   : *shown->value  ? shown->value
					    : "-",
			   is_default ? "default" : shown->where);
	}
}

static void print_settings(struct report *report)
{
	const struct server *server = report->diagnosis->invocation->server;
	struct shown_setting shown;
	const struct option_row *row;

	begin(report, "\nSettings", "settings", '[');
	for (size_t i = 0; (row = option_at(i)) != NULL; i++)
		if (report_setting(&shown, row, report->options, server))
			print_setting(report, &shown);
	end(report, ']');
}

static void print_finding_json(struct json *json, const struct finding *finding)
{
	json_break_line(json);
	json_open(json, NULL, '{');
	json_text(json, "severity", severities[finding->severity]);
	json_text(json, "check", finding->check);
	json_text(json, "finding", finding->text);
	json_text(json, "consequence", finding->consequence);
	json_text(json, "remedy", finding->remedy);
	json_open(json, "servers", '[');
	for (size_t i = 0; i < finding->place_count; i++)
		json_text(json, NULL, finding->places[i]);
	json_close(json, ']');
	json_close(json, '}');
}

/* Prints the findings that are at least so severe, the worst first. */
static void print_findings(struct report *report, enum severity least)
{
	const struct findings *findings = &report->diagnosis->findings;

	for (int severity = ERROR; severity >= (int)least; severity--)
		for (size_t i = 0; i < findings->count; i++)
			if ((int)findings->list[i].severity != severity)
				continue;
			else if (report->options->json)
				print_finding_json(&report->json, &findings->list[i]);
			else
				print_finding(&report->terminal, &findings->list[i],
					      report->diagnosis->facts_count);
}

static void print_counts(const struct findings *findings)
{
	size_t counts[ERROR + 1] = {0};

	for (size_t i = 0; i < findings->count; i++)
		counts[findings->list[i].severity]++;
	printf("\n%zu error%s, %zu warning%s, %zu note%s, %zu ok\n", counts[ERROR],
	       counts[ERROR] == 1 ? "" : "s", counts[WARNING], counts[WARNING] == 1 ? "" : "s",
	       counts[NOTE], counts[NOTE] == 1 ? "" : "s", counts[OK]);
}

void report_print(const struct diagnosis *diagnosis)
{
	const struct options *options = diagnosis->invocation->options;
	struct report report = {.diagnosis = diagnosis, .options = options};

	terminal_init(&report.terminal, STDOUT_FILENO);
	report.terminal.colour = terminal_colours(options->colour, STDOUT_FILENO);
	if (options->quiet && !options->json) {
		print_findings(&report, WARNING);
		return;
	}
	if (options->json)
		json_open(&report.json, NULL, '{');
	print_server(&report);
	print_settings(&report);
	begin(&report, "\nFindings", "findings", '[');
	print_findings(&report, OK);
	end(&report, ']');
	end(&report, '}');
	if (!options->json)
		print_counts(&diagnosis->findings);
}
