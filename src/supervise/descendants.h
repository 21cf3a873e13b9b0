#pragma once

#include <sys/types.h>

/* Sends a signal (0: none) to every living descendant of this process, which must be a subreaper,
 * in whatever process group or session, but not to `spare` (0: none), whose children are not
 * spared, nor to a private server. Returns how many there are, or -1 when they cannot be found. A
 * process that forks meanwhile can escape one call: repeat until the count is 0. */
int descendants_signal(int signo, pid_t spare);
