#ifndef FAIRLOCK_SLURP_H
#define FAIRLOCK_SLURP_H

#include <stddef.h>
#include <sys/types.h>

/* Reads a file into text, at most size bytes. Returns their number, or -1 with errno. */
ssize_t slurp(const char *path, char *text, size_t size);

#endif
