/* Guesses what the user meant: the cause in the message about a wrong command or option. */
#pragma once

#include <stdbool.h>

struct arguments;
struct command;

#define CAUSE_MAX_BYTES 128

/* word is no command; more: other words follow. commands ends with a NULL. Returns cause. */
const char *suggest_command(char cause[CAUSE_MAX_BYTES], const struct command *const *commands,
			    const char *word, bool more);

/* After ARGUMENT_UNKNOWN or ARGUMENT_AMBIGUOUS. Returns cause. */
const char *suggest_option(char cause[CAUSE_MAX_BYTES], const struct arguments *arguments,
			   bool is_ambiguous);
