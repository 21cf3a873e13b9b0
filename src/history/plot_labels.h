/* The labels on the left of a drawing: the command, and where it runs. */
#pragma once

struct plot_job;
struct plot_rows;
struct terminal;

struct plot_labels {
	const char *place; /* common to all jobs, so that no label shows it; "": there is none */
	int command_width;
	int place_width; /* 0: it is not shown */
};

/* Makes the labels as wide as they need to be, or cuts them if that leaves too little room. */
void plot_labels_measure(struct plot_labels *labels, const struct plot_rows *rows,
			 const struct terminal *terminal);

/* The blank behind them is included. */
int plot_labels_width(const struct plot_labels *labels);

/* Prints the label of a job; if job is NULL, as many blanks. */
void plot_labels_put(const struct plot_labels *labels, const struct terminal *terminal,
		     const struct plot_job *job);
