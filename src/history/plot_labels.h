#ifndef FAIRLOCK_PLOT_LABELS_H
#define FAIRLOCK_PLOT_LABELS_H

struct job;
struct rows;
struct screen;

/* What stands left of a drawing: the command, and where it runs. */
struct labels {
	const char *place; /* of all jobs, where it is the same and no label shows it; else "" */
	int command_width;
	int place_width; /* 0: it is not shown */
};

/* As wide as they need to be, if that leaves enough room; else they are cut. */
void labels_measure(struct labels *labels, const struct rows *rows, const struct screen *screen);

/* With the blank behind them. */
int labels_width(const struct labels *labels);

/* Prints the label of a job, or (job is NULL) as many blanks. */
void labels_put(const struct labels *labels, const struct screen *screen, const struct job *job);

#endif
