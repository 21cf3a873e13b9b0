#pragma once

#include <stdbool.h>
#include <stddef.h>

struct json;

/* The findings of `doctor`. */

enum severity {
	SEVERITY_OK,
	SEVERITY_NOTE,    /* good to know */
	SEVERITY_WARNING, /* locks work, until something else happens */
	SEVERITY_ERROR,   /* locks do not work, or two may hold one */
};

#define FINDING_MAX_BYTES 512

struct finding {
	enum severity severity;
	const char *check;
	char text[FINDING_MAX_BYTES];
	const char *consequence; /* NULL: none */
	char remedy[FINDING_MAX_BYTES];
	char places[FINDING_MAX_BYTES]; /* the servers that it is about, comma-separated */
	size_t place_count;
};

/* The findings, and the server that those to come are about. Several servers with the same finding
 * share it. */
struct findings {
	struct finding *list;
	size_t count;
	const char *place;
	size_t places; /* how many servers there are */
	struct finding spare;
	bool is_incomplete; /* there was no memory for all */
};

/* Adds a finding. Never NULL; valid until the next is added. */
__attribute__((format(printf, 4, 5))) struct finding *findings_add(struct findings *report,
								   enum severity severity,
								   const char *check,
								   const char *format, ...);

/* Says what a finding leads to, and what to do. */
__attribute__((format(printf, 3, 4))) void finding_explain(struct finding *finding,
							   const char *consequence,
							   const char *remedy, ...);

/* The worst first; of the same severity in the order in which they came. */
void findings_sort(struct findings *report);

enum severity findings_worst(const struct findings *report);

/* On standard output, wrapped for its terminal, those that are at least so severe, and how many
 * there are. */
void findings_print(const struct findings *report, enum severity least);

/* The member "findings". */
void findings_print_json(const struct findings *report, struct json *json);

/* A line "  NAME  VALUE   REMARK" of what stands above the findings. */
void findings_print_line(const char *name, const char *value, const char *remark);

void findings_free(struct findings *report);
