#ifndef FAIRLOCK_READ_FILE_H
#define FAIRLOCK_READ_FILE_H

#include <stddef.h>
#include <sys/types.h>

/* Opens a file to be read whole. Returns a descriptor, or -1 with errno. */
int slurp_open(const char *path);

/* Reads a file into text, at most size bytes, and closes it. fd: what slurp_open has returned.
 * Returns the number of bytes, or -1 with errno. */
ssize_t slurp(int fd, char *text, size_t size);

#endif
