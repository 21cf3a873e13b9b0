/* Merges findings that several servers share; wraps long ones into columns. */
#include "doctor/findings.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/json.h"
#include "base/terminal.h"
#include "redis/server_error.h"

/* A finding with its servers. */
#define LINE_MAX_BYTES (2 * FINDING_MAX_BYTES + 16)

#define PLACE_SEPARATOR ", "

#define WIDTH_MOST 100 /* longer lines are hard to read */
#define WIDTH_LEAST 50
/* Where the columns begin. */
#define CHECK_AT 11
#define TEXT_AT 26
#define REMARK_AT 50

static const char *const severities[] = {"ok", "note", "warning", "error"};
static const char *const colours[] = {"\033[32m", "\033[36m", "\033[35m", "\033[1;31m"};

/* ---- Findings ---- */

static struct finding *find_same(struct findings *findings, const struct finding *like)
{
	for (size_t i = 0; i < findings->count; i++) {
		struct finding *finding = &findings->list[i];

		if (finding->severity == like->severity &&
		    strcmp(finding->check, like->check) == 0 &&
		    strcmp(finding->text, like->text) == 0)
			return finding;
	}
	return NULL;
}

static struct finding *append_spare(struct findings *findings)
{
	struct finding *list = reallocarray(findings->list, findings->count + 1, sizeof(*list));

	if (!list) {
		findings->is_incomplete = true;
		return &findings->spare;
	}
	findings->list = list;
	list[findings->count] = findings->spare;
	return &list[findings->count++];
}

static void add_place(struct finding *finding, const char *place)
{
	const size_t length = strlen(finding->places);

	if (!place)
		return;
	snprintf(finding->places + length, sizeof(finding->places) - length, "%s%s",
		 length ? PLACE_SEPARATOR : "", place);
	finding->place_count++;
}

/* A message may send its reader to doctor, which is here. */
static void drop_hint(char *text)
{
	char *hint = strstr(text, SERVER_ERROR_HINT);
	const char *rest = hint ? hint + strlen(SERVER_ERROR_HINT) : "";

	if (hint)
		memmove(hint, rest, strlen(rest) + 1);
}

void findings_add(struct findings *findings, enum severity severity, const char *check,
		  const char *format, ...)
{
	va_list args;

	findings->spare = (struct finding){.severity = severity, .check = check};
	va_start(args, format);
	vsnprintf(findings->spare.text, sizeof(findings->spare.text), format, args);
	va_end(args);
	drop_hint(findings->spare.text);
	findings->last = find_same(findings, &findings->spare);
	if (!findings->last)
		findings->last = append_spare(findings);
	add_place(findings->last, findings->place);
}

void findings_explain(struct findings *findings, const char *consequence, const char *remedy, ...)
{
	va_list args;

	findings->last->consequence = consequence;
	va_start(args, remedy);
	vsnprintf(findings->last->remedy, sizeof(findings->last->remedy), remedy, args);
	va_end(args);
}

/* A sort that keeps the order of equals; there are a few dozen. */
void findings_sort(struct findings *findings)
{
	for (size_t i = 1; i < findings->count; i++)
		for (size_t j = i;
		     j > 0 && findings->list[j].severity > findings->list[j - 1].severity; j--) {
			struct finding moved = findings->list[j];

			findings->list[j] = findings->list[j - 1];
			findings->list[j - 1] = moved;
		}
}

enum severity findings_worst(const struct findings *findings)
{
	enum severity worst = SEVERITY_OK;

	for (size_t i = 0; i < findings->count; i++)
		if (findings->list[i].severity > worst)
			worst = findings->list[i].severity;
	return worst;
}

void findings_free(struct findings *findings)
{
	free(findings->list);
	*findings = (struct findings){0};
}

/* ---- For people ---- */

static int width_of(const struct terminal *terminal)
{
	return terminal->columns > WIDTH_MOST    ? WIDTH_MOST
	       : terminal->columns < WIDTH_LEAST ? WIDTH_LEAST
						 : terminal->columns;
}

/* Prints words behind TEXT_AT, the first where the cursor is, and ends the line. A word that is
 * too long stands uncut on a line of its own, so that it can be copied. */
static void print_wrapped(const struct terminal *terminal, const char *text)
{
	char copy[LINE_MAX_BYTES], *rest;
	int used = TEXT_AT;

	snprintf(copy, sizeof(copy), "%s", text);
	tame(copy);
	for (char *word = strtok_r(copy, " ", &rest); word; word = strtok_r(NULL, " ", &rest)) {
		const int columns = terminal_width(terminal, word);

		if (used > TEXT_AT && used + 1 + columns > width_of(terminal)) {
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

static void print_finding(const struct findings *findings, const struct finding *finding,
			  const struct terminal *terminal)
{
	char text[LINE_MAX_BYTES];
	const bool somewhere = finding->place_count > 0 && finding->place_count < findings->places;

	snprintf(text, sizeof(text), "%s%s%s%s", finding->text, somewhere ? " (at " : "",
		 somewhere ? finding->places : "", somewhere ? ")" : "");
	printf("  %s%-*s%s%-*s", terminal->colour ? colours[finding->severity] : "", CHECK_AT - 2,
	       severities[finding->severity], terminal->colour ? "\033[0m" : "", TEXT_AT - CHECK_AT,
	       finding->check);
	print_wrapped(terminal, text);
	if (!finding->consequence)
		return;
	printf("%*s", TEXT_AT, "");
	print_wrapped(terminal, finding->consequence);
	snprintf(text, sizeof(text), "-> %s", finding->remedy);
	printf("%*s", TEXT_AT, "");
	print_wrapped(terminal, text);
}

static void print_counts(const struct findings *findings)
{
	size_t counts[SEVERITY_ERROR + 1] = {0};

	for (size_t i = 0; i < findings->count; i++)
		counts[findings->list[i].severity]++;
	printf("\n%zu error%s, %zu warning%s, %zu note%s, %zu ok\n", counts[SEVERITY_ERROR],
	       counts[SEVERITY_ERROR] == 1 ? "" : "s", counts[SEVERITY_WARNING],
	       counts[SEVERITY_WARNING] == 1 ? "" : "s", counts[SEVERITY_NOTE],
	       counts[SEVERITY_NOTE] == 1 ? "" : "s", counts[SEVERITY_OK]);
}

void findings_print(const struct findings *findings, enum severity least, bool is_coloured)
{
	struct terminal terminal;

	terminal_init(&terminal, STDOUT_FILENO);
	terminal.colour = is_coloured;
	for (size_t i = 0; i < findings->count; i++)
		if (findings->list[i].severity >= least)
			print_finding(findings, &findings->list[i], &terminal);
	if (least == SEVERITY_OK)
		print_counts(findings);
}

void findings_print_line(const char *name, const char *value, const char *remark)
{
	char shown[LINE_MAX_BYTES];
	const int room = REMARK_AT - TEXT_AT;
	struct terminal terminal;
	int columns;

	snprintf(shown, sizeof(shown), "%s", value);
	tame(shown);
	terminal_init(&terminal, STDOUT_FILENO);
	columns = terminal_width(&terminal, shown);
	printf("  %-*s%s", TEXT_AT - 2, name, shown);
	if (remark && *remark)
		printf("%*s%s", columns + 2 > room ? 2 : room - columns, "", remark);
	putchar('\n');
}

/* ---- For programs ---- */

static void print_places(struct json *json, const char *places)
{
	char place[FINDING_MAX_BYTES];

	json_open(json, "servers", '[');
	while (*places) {
		const char *end = strstr(places, PLACE_SEPARATOR);
		const size_t length = end ? (size_t)(end - places) : strlen(places);

		snprintf(place, sizeof(place), "%.*s", (int)length, places);
		json_text(json, NULL, place);
		places += length + (end ? strlen(PLACE_SEPARATOR) : 0);
	}
	json_close(json, ']');
}

void findings_print_json(const struct findings *findings, struct json *json)
{
	json_open(json, "findings", '[');
	for (size_t i = 0; i < findings->count; i++) {
		const struct finding *finding = &findings->list[i];

		json_break_line(json);
		json_open(json, NULL, '{');
		json_text(json, "severity", severities[finding->severity]);
		json_text(json, "check", finding->check);
		json_text(json, "finding", finding->text);
		json_text(json, "consequence", finding->consequence);
		json_text(json, "remedy", finding->remedy);
		print_places(json, finding->places);
		json_close(json, '}');
	}
	json_close(json, ']');
}
