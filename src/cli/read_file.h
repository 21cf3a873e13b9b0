/* Reads small files whole. */
#pragma once

#include <stddef.h>
#include <sys/types.h>

/* Opens a file to be read whole. Returns a descriptor, or -1 with errno. */
int read_file_open(const char *path);

/* Reads a file into text, at most size bytes, and closes it. fd is the result of read_file_open.
 * Returns the number of bytes, or -1 with errno. */
ssize_t read_file(int fd, char *text, size_t size);
