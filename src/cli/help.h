#ifndef FAIRLOCK_HELP_H
#define FAIRLOCK_HELP_H

#include <stdio.h>

struct command;

/* Prints the usage of one command. */
void help_print(const struct command *command, FILE *out);

#endif
