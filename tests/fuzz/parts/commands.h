/* A fuzzed input chooses one of all_commands. */
#pragma once

#include "cli/command.h"

#define COMMANDS 8
