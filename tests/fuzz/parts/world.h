#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

/* Where the real client talks to a server that says what the fuzzer found. Its sockets are real,
 * and it reads from them as it always does. Time is not: nobody waits, a clock that the client
 * reads jumps to when it wants to be woken. Other processes, signals and names are left out. The
 * linker puts what world.c has in the places of the rest.
 *
 * What the server says is a text of lines, each of which ends with \r\n on its way:
 *
 *     "TEXT     a bulk string, whose length is added; \n in it is \r\n
 *     ---       what follows is said when the client has said something more, and waits
 *     ...       what follows is said as soon as it waits; as the first line, before it says
 * anything
 *     ===       the server hangs up; what follows is said over the next connection
 *     ANY       itself: *2 or :1 or -ERR no, or something that is no RESP
 *
 * The last line is cut off where it has no \n. When all is said the server keeps silent, and
 * refuses connections. One who still comes back is told in the end that there is no hope.
 */
void world_begin(const char *script, size_t length, bool has_terminal);
void world_end(void);

/* Runs a command line of ours against it: "wrap -n job true". Returns the exit status, which is one
 * that the manual lists. */
int world_run(const char *url, const char *words);

/* The owner id that every lock has. */
#define WORLD_ID "00000000-0000-4000-8000-000000000000:1"

/* The secret of each question. */
#define WORLD_SECRET "0123456789abcdef"

/* Whether COMMAND was started. */
bool world_has_started(void);

/* Whether path is one of these, as far as a command may open files. NULL ends that. text is what
 * is read from it. */
struct world_file {
	const char *path;
	const char *text;
	size_t length;
};

void world_files(const struct world_file *files, size_t count);
