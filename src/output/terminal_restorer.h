/* A process that restores the terminal if `--watch` is killed. */
#pragma once

#include <stdbool.h>
#include <sys/types.h>
#include <termios.h>

#include "base/error.h"

struct terminal_restorer {
	const char *leave; /* is written to the terminal */
	struct termios usual;
	struct termios ours; /* if others have set the terminal since, it is left alone */
	bool *needed;        /* shared with the process that restores */
	pid_t pid;
};

/* Starts a process that restores the terminal when this one is gone, if it is needed then. No
 * process can catch SIGKILL, and the shell would be left without echo and cursor. */
int terminal_restorer_start(struct terminal_restorer *restorer, struct error *err);

/* Ends that process. */
void terminal_restorer_end(struct terminal_restorer *restorer);
