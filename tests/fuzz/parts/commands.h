/* The commands, from which a fuzzed input chooses one. Main has a list of its own, with a NULL
 * behind it. */
#pragma once

#include "cli/command.h"

#define COMMANDS 8

static const struct command *const commands[COMMANDS + 1] = {
	&wrap_command,   &acquire_command, &renew_command, &release_command,
	&status_command, &queue_command,   &log_command,   &doctor_command,
};
