/* A process that puts the terminal right if `--watch` is killed. */
#pragma once

#include <stdbool.h>
#include <sys/types.h>
#include <termios.h>

#include "base/error.h"

/* The state to which a terminal is to be restored. */
struct terminal_restorer {
	const char *leave; /* what is written to it */
	struct termios usual;
	struct termios ours; /* found as it is put back; what others set since is left alone */
	bool *needed;        /* shared with the process that restores */
	pid_t pid;
};

/* Starts a process that restores the terminal when we are gone and it is needed: nobody can do
 * anything about SIGKILL, and the shell would sit in the dark. It is in a process group of its own,
 * so that a signal to ours does not reach it. */
int terminal_restorer_start(struct terminal_restorer *restorer, struct error *err);

void terminal_restorer_end(struct terminal_restorer *restorer);
