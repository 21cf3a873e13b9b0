/* Owner ids, and the description of a process that goes with them to the server. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

/* UUID:NUMBER; Redisson's may be longer. */
#define OWNER_MAX_BYTES 80
#define HELD_MAX 200
#define BY_MAX_BYTES 512

#define SECRET_DIGITS "0123456789abcdef"
#define SECRET_BYTES 17

/* Writes a fresh owner id of this process. */
int owner_new(char id[OWNER_MAX_BYTES], struct error *err);

/* Writes sixteen random digits, or "" if the kernel gives none. */
void owner_draw_secret(char secret[SECRET_BYTES]);

/* Whether a text may be an owner id, of ours or of Redisson. */
bool owner_is_valid(const char *id);

/* Splits $FAIRLOCK_HELD, the owner ids of the enclosing holds, into a static array. Returns how
 * many there are, at most HELD_MAX. Skips words that are no owner ids. */
int owner_inherited(char (**ids)[OWNER_MAX_BYTES]);

/* Describes this process: "HOST\tPID\tUSER\tCOMMAND". words: the command, ended by NULL. */
void owner_describe(char by[BY_MAX_BYTES], char *const *words);

/* The parts of a description, "" for an unknown one. They point into text. */
struct owner_process {
	char text[BY_MAX_BYTES];
	const char *host;
	const char *pid;
	const char *user;
	const char *command;
};

void owner_parse(struct owner_process *process, const char *by);

/* Turns a description into "COMMAND (pid PID, USER@HOST)". */
void owner_show(char *text, size_t size, const char *by);

/* The command without the folder of its program. Points into command. */
const char *owner_without_folder(const char *command);
