/* The values of options, and names of locks, that completion offers. */
#pragma once

#include <stddef.h>

struct command;
struct option_row;
struct settings;

/* The word that is being completed. If it is an option and a value (--lease=30), head is the length
 * of the part before the value. */
struct complete_target {
	const char *word;
	size_t head;
};

/* Prints start + text as a candidate if it goes on where the value stops. meaning may be NULL. */
void complete_offer(const struct complete_target *target, const char *start, const char *text,
		    const char *meaning);

/* Offers the names of locks. */
void complete_name(struct settings *settings, const struct command *command,
		   const struct complete_target *target);

/* Offers values of an option. name is the NAME on the line, or NULL. */
void complete_value(struct settings *settings, const struct command *command,
		    const struct option_row *row, const struct complete_target *target,
		    const char *name);
