/* execvp(3) as the GNU library has it, for every C library. */
#pragma once

#include <stdbool.h>

/* Becomes the program argv[0], found in PATH. A file that the kernel cannot run is a script for
 * /bin/sh, as POSIX wants and other C libraries do not. Returns only on failure, with errno. */
void exec_path(char *const *argv);

/* Whether argv[0] is a program that exec_path would find and begin without waiting for a disk or a
 * network. False also for a script, for a file that this process may not read, and where the system
 * does not tell (openat2(2) and preadv2(2) do, of Linux 5.12, on most file systems). What Linux
 * loads with the program, a dynamic linker or an emulator, counts as being in memory. */
bool exec_path_is_cached(char *const *argv);

#define EXEC_WHY_BYTES 400

/* Says for a message why exec_path failed with this errno: which interpreter is missing,
 * or that only a shell could run this. Returns why, or the system's words for the errno. */
const char *exec_path_why(char why[EXEC_WHY_BYTES], char *const *argv, int cause);
