/* Reads small files whole, connects to unix sockets, and closes descriptors in bulk. */
#pragma once

#include <stddef.h>
#include <sys/types.h>

/* Reads a file into text, at most size bytes. A pipe that no program writes into, or a terminal,
 * may hold the caller up. Returns the number of bytes, or -1 with errno. */
ssize_t read_file(const char *path, char *text, size_t size);

/* Closes all descriptors from first to last, also where the kernel has no close_range(2). */
void close_descriptors_from(unsigned int first, unsigned int last);

/* Connects to a unix socket, at once. Returns a close-on-exec, non-blocking socket, or -1 with
 * errno. */
int connect_unix(const char *path);
