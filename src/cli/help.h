/* fairlock --help, and that of a command. */
#pragma once

#include <stdio.h>

struct command;

/* Prints the help of a command but for its end, so that more can come between. */
void help_print(const struct command *command, FILE *out);
void help_print_end(const struct command *command, FILE *out);

/* Lists the commands. */
void help_print_commands(FILE *out);
