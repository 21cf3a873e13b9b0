/* Finds the command behind options, and brings the words into the order in which they are read. */
#include "cli/front_words.h"

#include <string.h>

#include "cli/argv_reader.h"
#include "cli/command.h"

const struct command front_command = {
	.name = "",
	.operands = "",
	.summary = "",
	.bit = COMMAND_FRONT,
	.most = OPERANDS_UNLIMITED,
};

void front_words_move(int count, char **words)
{
	struct arguments arguments;
	enum argument next;
	char *name;

	arguments_init(&arguments, &front_command, count, words);
	do
		next = arguments_next(&arguments);
	while (next == ARGUMENT_OPTION);
	if (next != ARGUMENT_OPERAND || arguments.options_ended)
		return;
	name = arguments.value;
	memmove(words + 1, words, (size_t)(arguments.at - 1) * sizeof(*words));
	words[0] = name;
}
