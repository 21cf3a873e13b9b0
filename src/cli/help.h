/* fairlock COMMAND --help */
#pragma once

#include <stdio.h>

struct command;

void help_print(const struct command *command, FILE *out);
