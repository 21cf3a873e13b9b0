/* The list of all commands. */
#include "cli/command.h"

#include <string.h>

const struct command *const all_commands[] = {
	&wrap_command,    &acquire_command, &renew_command,
	&release_command, &status_command,  &queue_command,
	&log_command,     &doctor_command,  NULL,
};

const struct command front_command = {
	.name = "",
	.operands = "",
	.summary = "",
	.bit = COMMAND_FRONT,
	.most = OPERANDS_UNLIMITED,
};

const struct command *command_named(const char *name)
{
	const struct command *const *command = all_commands;

	while (*command && strcmp((*command)->name, name) != 0)
		command++;
	return *command;
}
