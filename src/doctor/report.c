/* Merges findings that several servers share, and prints what stands above them. */
#include "doctor/report.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/param.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/json.h"
#include "redis/server_error.h"

/* A finding with its servers. */
#define LINE_MAX_BYTES WRAPPED_MAX_BYTES

#define WIDTH_MOST 100 /* longer lines are hard to read */
#define WIDTH_LEAST 50
/* Where the columns begin. */
#define CHECK_AT 11
#define TEXT_AT 26
#define REMARK_AT 50

static const char *const severities[] = {"ok", "note", "warning", "error"};
static const char *const colours[] = {"\033[32m", "\033[36m", "\033[35m", "\033[1;31m"};

/* The report lists at most this many findings of a kind; the last one counts the rest. */
#define ALIKE_MAX 10

const char *facts_text(const struct facts *facts, const char *name)
{
	const size_t length = strlen(name);

	for (const char *at = facts->text; at && at < facts->text + facts->size;
	     at += strlen(at) + 1)
		if (strncmp(at, name, length) == 0 && at[length] == ':')
			return at + length + 1;
	return "";
}

/* ---- Findings ---- */

/* The finding with this text, or the one that counts those which are not listed, or a new one. */
static struct finding *find_place(struct diagnosis *all, const struct finding *new)
{
	struct finding *last = NULL;
	size_t alike = 0;

	for (size_t i = 0; i < all->count; i++) {
		struct finding *old = &all->findings[i];

		if (old->severity != new->severity || old->consequence != new->consequence ||
		    strcmp(old->check, new->check) != 0)
			continue;
		if (strcmp(old->text, new->text) == 0)
			return old;
		last = old;
		alike++;
	}
	if (alike == ALIKE_MAX) {
		last->more++;
		return NULL;
	}
	return &all->findings[all->count];
}

void find(struct diagnosis *all, enum severity severity, const char *check, const char *consequence,
	  const char *remedy, const char *format, ...)
{
	struct finding *new = &all->findings[all->count], *place;
	char *hint;
	va_list args;

	*new = (struct finding){.severity = severity, .check = check, .consequence = consequence};
	va_start(args, format);
	vsnprintf(new->text, sizeof(new->text), format, args);
	va_end(args);
	snprintf(new->remedy, sizeof(new->remedy), "%s", consequence && remedy ? remedy : "");
	hint = strstr(new->text, SERVER_ERROR_HINT); /* to doctor, which is here */
	if (hint)
		memmove(hint, hint + strlen(SERVER_ERROR_HINT),
			strlen(hint + strlen(SERVER_ERROR_HINT)) + 1);
	place = find_place(all, new);
	all->last = place ? place : new;
	if (place == new)
		all->count++;
	assert(all->count < FINDINGS_MAX);
	if (place && all->place && place->place_count < PLACES_MAX)
		place->places[place->place_count++] = all->place;
	if (severity > all->worst)
		all->worst = severity;
}

void advise(struct diagnosis *all, const char *remedy, ...)
{
	va_list args;

	va_start(args, remedy);
	vsnprintf(all->last->remedy, sizeof(all->last->remedy), remedy, args);
	va_end(args);
}

/* ---- For people ---- */

static void print_wrapped(const struct terminal *terminal, const char *text)
{
	terminal_wrap(terminal, stdout, text, TEXT_AT, TEXT_AT,
		      MIN(MAX(terminal->columns, WIDTH_LEAST), WIDTH_MOST));
}

static const char *write_text(char text[LINE_MAX_BYTES], const struct finding *finding)
{
	const int length = snprintf(text, LINE_MAX_BYTES, "%s", finding->text);

	if (finding->more)
		snprintf(text + length, LINE_MAX_BYTES - (size_t)length, "; and %zu more",
			 finding->more);
	return text;
}

static void print_finding(const struct terminal *terminal, const struct finding *finding,
			  size_t servers)
{
	char text[LINE_MAX_BYTES];
	size_t length = strlen(write_text(text, finding));

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
	const struct diagnosis *all;
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
	const char *folder = report->all->folder;
	const long pid = report->all->pid;
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
	static const struct facts unknown = {.size = 0};
	const struct diagnosis *all = report->all;
	const struct server *server = all->invocation->server;
	const bool is_known = all->facts_count > 0;
	const struct facts *facts = is_known ? all->facts : &unknown;
	const char *role = !is_known ? "" : facts->is_replica ? "replica" : "master";
	const char *mode = is_known && server->kind == SERVER_LOCAL ? "local"
			   : is_known && server->kind == SERVER_SENTINEL
				   ? "sentinel"
				   : facts_text(facts, "mode");
	char software[128] = "", tls[64] = "";

	if (is_known)
		snprintf(software, sizeof(software), "%s %s, %s, %s", facts->vendor,
			 facts_text(facts, "version"), mode, role);
	if (facts->tls)
		snprintf(tls, sizeof(tls), "%s%s", facts->tls,
			 server->tls_files.insecure ? ", certificate not verified" : "");
	begin(report, "Server", "server", '{');
	put(report, "url", "url", server->label);
	put(report, NULL, "software", facts_text(facts, "server"));
	put(report, NULL, "version", facts_text(facts, "version"));
	put(report, NULL, "mode", mode);
	put(report, NULL, "role", role);
	if (report->options->json)
		json_open(&report->json, "addresses", '[');
	for (size_t i = 0; i < all->facts_count; i++)
		if (report->options->json)
			json_text(&report->json, NULL, facts[i].address);
		else
			put(report, i == 0 ? "address" : "", NULL, facts[i].address);
	end(report, ']');
	put(report, "software", NULL, software);
	put(report, "user", "user", server->user ? server->user : "default");
	put(report, NULL, "tls", facts->tls);
	put(report, "TLS", NULL, tls);
	print_private(report, facts_text(facts, "server"));
	end(report, '}');
}

/* Prints an option with the source that has set it; of a password only the source. */
static void print_setting(struct report *report, const struct option_row *row)
{
	static const char *const sources[] = {[0] = "default",
					      [SOURCE_FLAG] = "flag",
					      [SOURCE_ENVIRONMENT] = "environment",
					      [SOURCE_FILE] = "file"};
	const struct options *options = report->options;
	const bool is_password = row->kind == OPTION_PASSWORD;
	const char *from = is_password ? options->password_from : row->name;
	const char *source = "default";
	char where[WHERE_MAX_BYTES] = "", duration[DURATION_MAX_BYTES];
	const char *value = row->fallback;
	int64_t ms;

	if (from && option_named(from)) {
		source = sources[options_origin(options, from)->source];
		options_where(options, from, where);
	} else if (from) { /* a variable of other programs */
		source = "environment";
		strcpy(where, from);
	}
	if (is_password && from && strcmp(from, "url") == 0)
		source = "url";
	if (row->kind == OPTION_URL)
		value = report->all->invocation->server->label;
	else if (*where && !is_password)
		value = options_origin(options, from)->value;
	if (*where && row->kind == OPTION_DURATION && duration_parse(value, &ms) == 0)
		value = duration_show_fraction(duration, ms);
	if (report->options->json) {
		json_break_line(&report->json);
		json_open(&report->json, NULL, '{');
		json_text(&report->json, "name", row->name);
		json_text(&report->json, "value", value);
		json_text(&report->json, "source", source);
		json_text(&report->json, "where", where);
		json_close(&report->json, '}');
	} else if (*where || row->kind == OPTION_URL || options->verbose) {
		print_line(&report->terminal, row->name,
			   *value                  ? value
			   : is_password && *where ? "(not shown)"
						   : "-",
			   *where ? where : "default");
	}
}

static void print_finding_json(struct json *json, const struct finding *finding)
{
	char text[LINE_MAX_BYTES];

	json_break_line(json);
	json_open(json, NULL, '{');
	json_text(json, "severity", severities[finding->severity]);
	json_text(json, "check", finding->check);
	json_text(json, "finding", write_text(text, finding));
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
	const struct diagnosis *all = report->all;

	for (int severity = ERROR; severity >= (int)least; severity--)
		for (size_t i = 0; i < all->count; i++)
			if ((int)all->findings[i].severity != severity)
				continue;
			else if (report->options->json)
				print_finding_json(&report->json, &all->findings[i]);
			else
				print_finding(&report->terminal, &all->findings[i],
					      all->facts_count);
}

static void print_counts(const struct diagnosis *all)
{
	size_t counts[ERROR + 1] = {0};

	for (size_t i = 0; i < all->count; i++)
		counts[all->findings[i].severity]++;
	printf("\n%zu error%s, %zu warning%s, %zu note%s, %zu ok\n", counts[ERROR],
	       counts[ERROR] == 1 ? "" : "s", counts[WARNING], counts[WARNING] == 1 ? "" : "s",
	       counts[NOTE], counts[NOTE] == 1 ? "" : "s", counts[OK]);
}

void report_print(const struct diagnosis *all)
{
	const struct options *options = all->invocation->options;
	struct report report = {.all = all, .options = options};

	terminal_init(&report.terminal, STDOUT_FILENO);
	report.terminal.colour = terminal_colours(options->colour, STDOUT_FILENO);
	if (options->quiet && !options->json) {
		print_findings(&report, WARNING);
		return;
	}
	if (options->json)
		json_open(&report.json, NULL, '{');
	print_server(&report);
	begin(&report, "\nSettings", "settings", '[');
	for (const struct option_row *row = option_rows; row->name; row++)
		if (row->sources)
			print_setting(&report, row);
	end(&report, ']');
	begin(&report, "\nFindings", "findings", '[');
	print_findings(&report, OK);
	end(&report, ']');
	end(&report, '}');
	if (!options->json)
		print_counts(all);
}
