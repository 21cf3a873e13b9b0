#pragma once

/* Becomes the program argv[0], found in PATH and run as execvp(3) of the GNU library does: a file
 * that the kernel does not know how to run is a script for /bin/sh, which POSIX asks for and
 * other C libraries leave out. Returns only on failure, with errno. Safe after vfork. */
void exec_path(char *const *argv);
