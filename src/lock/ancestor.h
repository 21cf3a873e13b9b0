/* Finds out whether a process above us drew an owner id, even if its environment was not passed on.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* A number of this process, for its owner ids: it says which process of this PID namespace it is,
 * also when another one has its process id. 0: there is no /proc of this namespace. */
uint32_t ancestor_mark(void);

/* Whether a process above us runs the same program. */
bool ancestor_runs_program(void);

/* Whether a process above us drew this owner id. */
bool ancestor_drew(const char *owner);
