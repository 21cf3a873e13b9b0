#pragma once

#include <stdbool.h>

struct command;

/* fairlock --complete WORD...
 *
 * What the shells' completions ask. WORDs are the words of a command line
 * behind "fairlock", up to the one that is being completed, which may be empty.
 * Prints one candidate a line: the whole word, and behind a tab what it means,
 * if there is something to say. A line that begins with a tab asks the shell to
 * complete in its own way:
 *
 *	TAB files N     file names; N bytes of the word come before the file name
 *	TAB command N   a command line of its own, that begins with the N-th WORD
 *	                (the first is 0)
 *
 * Is silent about mistakes: a prompt is no place for them.
 *
 * commands ends with a NULL. Returns false, and has printed nothing, when another executable
 * is needed to reach the server. */
bool complete(const struct command *const *commands, int argc, char **argv);
