#pragma once

struct job;
struct plot_rows;
struct terminal;

/* The labels left of a drawing: the command, and where it runs. */
struct plot_labels {
	const char *place; /* of all jobs, where it is the same and no label shows it; else "" */
	int command_width;
	int place_width; /* 0: it is not shown */
};

/* As wide as they need to be, if that leaves enough room; else they are cut. */
void plot_labels_measure(struct plot_labels *labels, const struct plot_rows *rows,
			 const struct terminal *terminal);

/* With the blank behind them. */
int plot_labels_width(const struct plot_labels *labels);

/* Prints the label of a job, or (job is NULL) as many blanks. */
void plot_labels_put(const struct plot_labels *labels, const struct terminal *terminal,
		     const struct job *job);
