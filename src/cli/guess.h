/* Guesses what the user meant by a wrong word: the nearest one of a list, and the cause in the
 * message about a wrong command or option. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct command;

#define NEAREST_MAX_BYTES 32

struct nearest {
	const char *word;
	size_t distance;              /* of best; only a smaller one is better */
	char best[NEAREST_MAX_BYTES]; /* "": none is near */
};

/* word must outlive it. */
void nearest_begin(struct nearest *nearest, const char *word);

/* Keeps the candidate if it is near, and nearer than those before it. Case does not count. */
void nearest_try(struct nearest *nearest, const char *candidate);

#define CAUSE_MAX_BYTES 128

/* word is no command; more: other words follow. Returns cause. */
const char *guess_command(char cause[CAUSE_MAX_BYTES], const char *word, bool more);

/* The command does not have the option, "-x" or "--name". Returns cause. */
const char *guess_option(char cause[CAUSE_MAX_BYTES], const char *option,
			 const struct command *command);
