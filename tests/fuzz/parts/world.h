/* Runs a command with the real client against a server that says what the fuzzer found. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

/* The client's sockets are real. Its time is not: instead of waiting, the clock jumps to the time
 * at which the client wants to wake. There are no other processes, signals and host names. The
 * linker puts the functions of world.c in the place of the real ones.
 *
 * The server's script is a text of lines, each of which ends with \r\n on its way:
 *
 *     "TEXT     a bulk string, whose length is added; \n in it is \r\n
 *     ---       the server says the rest when the client has said more, and waits
 *     ...       the server says the rest when the client waits; as the first line: at once
 *     ===       the server hangs up, and says the rest over the next connection
 *     ANY       itself: *2 or :1 or -ERR no, or no RESP at all
 *
 * A last line without \n is sent without \r\n. Behind its script the server keeps silent and
 * refuses connections. A client that still comes back is told in the end that there is no hope. */
void world_begin(const char *script, size_t length, bool has_terminal);
void world_end(void);

/* Runs a command line, "wrap -n job true". Returns the exit status, which the manual lists. */
int world_run(const char *url, const char *words);

/* The owner id of every lock of ours. */
#define WORLD_ID "00000000-0000-4000-8000-000000000000:1"

/* The secret of every request. */
#define WORLD_SECRET "0123456789abcdef"

/* Whether COMMAND was started. */
bool world_has_started(void);

/* A file, and what reading it gives. */
struct world_file {
	const char *path;
	const char *text;
	size_t length;
};

/* Makes these the only files that a command can open; NULL ends that. */
void world_files(const struct world_file *files, size_t count);
