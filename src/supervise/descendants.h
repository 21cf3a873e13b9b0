/* Finds everything that COMMAND has started, and sends it signals. */
#pragma once

#include <sys/types.h>

/* Sends a signal (0: none) to every living descendant of this process, which must be a subreaper,
 * in any process group and session. Leaves out a private server, and `spare` (0: none), but not the
 * children of that. Returns how many there are, or -1 if they cannot be found. A process that forks
 * meanwhile can escape one call: repeat until the count is 0. */
int descendants_signal(int signo, pid_t spare);
