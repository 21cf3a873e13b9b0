/* Owner ids, and the description of a process that goes with them to the server. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "base/shorten.h"

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

/* Lists the owner ids that we inherited, each once, in a static array: $FAIRLOCK_OWNER, and
 * $FAIRLOCK_HELD, those of the enclosing holds. Returns how many there are, at most HELD_MAX. Skips
 * words that are no owner ids. Which of them holds a lock, only the server can say. */
int owner_inherited(char (**ids)[OWNER_MAX_BYTES]);

/* Describes a process: "HOST\tPID\tUSER\tCOMMAND". words: the command, ended by NULL. With a reason
 * (else NULL; 200 bytes at most) only the first of them is told, and "\tREASON" unless it is "". */
void owner_describe(char by[BY_MAX_BYTES], pid_t pid, char *const *words, const char *reason);

/* The parts of a description, "" for an unknown one. They point into text. */
struct owner_process {
	char text[BY_MAX_BYTES];
	const char *host;
	const char *pid;
	const char *user;
	const char *command;
	const char *reason;
};

void owner_parse(struct owner_process *process, const char *by);

#define OWNER_SHOWN_BYTES (4 * MESSAGE_CHARACTERS + 1)

/* Turns a description into "COMMAND (pid PID, USER@HOST)", or "COMMAND: REASON (pid ...". Cuts each
 * part at 40 characters, and more of them, the unimportant first, to fit into so many in all (at
 * most MESSAGE_CHARACTERS). Leaves out a pid that is "". Returns text. */
const char *owner_show(char text[OWNER_SHOWN_BYTES], size_t characters, const char *by);

/* The command without the folder of its program. Points into command. */
const char *owner_without_folder(const char *command);
