#pragma once

#include <stdio.h>

struct command;

/* Prints the usage of one command. */
void help_print(const struct command *command, FILE *out);
