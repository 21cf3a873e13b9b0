/* A command gets the room that its place leaves, and a place at least half of it all. */
#include "history/plot_labels.h"

#include <stdio.h>
#include <string.h>
#include <sys/param.h>

#include "base/terminal.h"
#include "history/plot_rows.h"

#define WIDTH_MOST 48
#define WIDTH_LEAST 13 /* for "up to 10 wait" */

void plot_labels_measure(struct plot_labels *labels, const struct plot_rows *rows,
			 const struct terminal *terminal)
{
	const int most = MIN(terminal->columns * 2 / 5, WIDTH_MOST);
	int command = WIDTH_LEAST, place = 0;

	labels->place = rows->jobs[0].place;
	for (size_t i = 0; i < rows->job_count; i++) {
		command = MAX(command, terminal_width(terminal, rows->jobs[i].process.command));
		place = MAX(place, terminal_width(terminal, rows->jobs[i].place));
		if (strcmp(rows->jobs[0].place, rows->jobs[i].place) != 0)
			labels->place = "";
	}
	place = *labels->place ? 0 : MIN(place, MAX(most / 2, most - command - 1));
	labels->place_width = place;
	labels->command_width = MIN(command, most - place - (place > 0));
}

int plot_labels_width(const struct plot_labels *labels)
{
	return labels->command_width + labels->place_width + (labels->place_width > 0) + 1;
}

void plot_labels_put(const struct plot_labels *labels, const struct terminal *terminal,
		     const struct plot_job *job)
{
	terminal_put(terminal, job ? job->process.command : "", labels->command_width);
	if (labels->place_width > 0) {
		putchar(' ');
		terminal_put(terminal, job ? job->place : "", labels->place_width);
	}
	putchar(' ');
}
