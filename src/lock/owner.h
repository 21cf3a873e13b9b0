#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

/* UUID:NUMBER, with room to spare for Redisson's. */
#define OWNER_MAX_BYTES 80
#define HELD_MAX 200
#define BY_MAX_BYTES 512

#define SECRET_DIGITS "0123456789abcdef"
#define SECRET_BYTES 17

/* Writes a fresh owner id of this process. */
int owner_new(char id[OWNER_MAX_BYTES], struct error *err);

/* Writes sixteen digits that nobody can guess, or "" when the kernel has none to give. */
void owner_draw_secret(char secret[SECRET_BYTES]);

/* Whether a text may be an owner id, of ours or of Redisson. */
bool owner_is_valid(const char *id);

/* Splits $FAIRLOCK_HELD, the owner ids of the enclosing holds. Returns how many there are, and
 * where: they stay there. Words that are no owner ids are left out, and what is more than HELD_MAX.
 */
int owner_inherited(char (**ids)[OWNER_MAX_BYTES]);

/* Writes "HOST\tPID\tUSER\tCOMMAND" about this process, for people to read. words is the
 * command, ended by NULL. */
void owner_describe(char by[BY_MAX_BYTES], char *const *words);

/* The parts of what owner_describe wrote; "" for what is not known. They point into text. */
struct owner_process {
	char text[BY_MAX_BYTES];
	const char *host;
	const char *pid;
	const char *user;
	const char *command;
};

void owner_parse(struct owner_process *process, const char *by);

/* Writes "COMMAND (pid PID, USER@HOST)" from what owner_describe wrote. */
void owner_show(char *text, size_t size, const char *by);

/* The command without the folder of its program. Points into command. */
const char *owner_without_folder(const char *command);
