/* The list of what `doctor` found, and its output. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct json;

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
	char places[FINDING_MAX_BYTES]; /* the servers with this finding, comma-separated */
	size_t place_count;
};

/* Zeroed, it is empty. Servers with the same finding share it. */
struct findings {
	struct finding *list;
	size_t count;
	struct finding *last; /* for findings_explain */
	const char *place;    /* the server whose findings are added now, or NULL */
	size_t places;        /* how many servers there are */
	struct finding spare;
	bool is_incomplete; /* there was no memory for all */
};

/* Adds a finding. check must be a literal. */
__attribute__((format(printf, 4, 5))) void findings_add(struct findings *findings,
							enum severity severity, const char *check,
							const char *format, ...);

/* Says what the finding that was added last leads to (a literal), and what to do. */
__attribute__((format(printf, 3, 4))) void findings_explain(struct findings *findings,
							    const char *consequence,
							    const char *remedy, ...);

/* The worst first; those of the same severity keep their order. */
void findings_sort(struct findings *findings);

enum severity findings_worst(const struct findings *findings);

/* Prints the findings that are at least so severe, wrapped for the terminal, and with SEVERITY_OK
 * how many of each severity there are. */
void findings_print(const struct findings *findings, enum severity least, bool is_coloured);

/* The member "findings". */
void findings_print_json(const struct findings *findings, struct json *json);

/* Prints a line "  NAME  VALUE   REMARK" of what stands above the findings. */
void findings_print_line(const char *name, const char *value, const char *remark);

void findings_free(struct findings *findings);
