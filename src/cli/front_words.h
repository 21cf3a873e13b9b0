/* Options that all commands have may stand before the command, too: fairlock -v status. */
#pragma once

struct command;

/* Reads the words before the command: it has the options of all commands, and no others. */
extern const struct command front_command;

/* Moves the command's name in front of the options before it, so that they stand behind it. Moves
 * nothing if there is no command, or if a word before it is a mistake. */
void front_words_move(int count, char **words);
