/* Reads small files whole, and closes descriptors in bulk. */
#pragma once

#include <stddef.h>
#include <sys/types.h>

/* Opens a file to be read whole. Returns a descriptor, or -1 with errno. A pipe that no program
 * writes into, or a terminal, may hold the caller up. */
int read_file_open(const char *path);

/* Reads a file into text, at most size bytes, and closes it. fd is the result of read_file_open.
 * Returns the number of bytes, or -1 with errno. */
ssize_t read_file(int fd, char *text, size_t size);

/* Closes all descriptors from first to last, also where the kernel has no close_range(2). */
void close_descriptors_from(unsigned int first, unsigned int last);
