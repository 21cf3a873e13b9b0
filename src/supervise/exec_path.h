/* execvp(3) as the GNU library has it, for every C library. */
#pragma once

/* Becomes the program argv[0], found in PATH. A file that the kernel cannot run is a script for
 * /bin/sh, as POSIX wants and other C libraries do not. Returns only on failure, with errno. */
void exec_path(char *const *argv);
