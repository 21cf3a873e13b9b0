/* Owner ids, the description of a process that goes with them to the server, and what messages say
 * of the holders. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/text.h"
#include "cli/options.h"

/* UUID:NUMBER; Redisson's may be longer. */
#define OWNER_MAX_BYTES 80
#define HELD_MAX 200
#define BY_MAX_BYTES 512

struct table_row;

#define SECRET_BYTES 17

/* Writes a fresh owner id of this process. is_marked: for owner_is_above in its descendants. */
int owner_new(char id[OWNER_MAX_BYTES], bool is_marked, struct error *err);

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

/* The same, and fills the cells of these columns; *process must outlive the row. */
void owner_fill_row(struct table_row *row, struct owner_process *process, const char *by);

#define OWNER_SHOWN_BYTES (4 * MESSAGE_CHARACTERS + 1)

/* Turns a description into "COMMAND (pid PID, USER@HOST)", or "COMMAND: REASON (pid ...", with each
 * part cut at 40 characters. If that does not fit into so many characters in all (at most
 * MESSAGE_CHARACTERS), it becomes "COMMAND (USER@HOST)", or as much of that as fits. Returns text.
 */
const char *owner_show(char text[OWNER_SHOWN_BYTES], size_t characters, const char *by);

/* The command without the folder of its program. Points into command. */
const char *owner_without_folder(const char *command);

/* Whether a process above us drew this owner id, marked, even if its environment was not passed on;
 * NULL: whether one runs this program. */
bool owner_is_above(const char *owner);

/* ---- Modes: how a hold has the lock, and how a process wants it ---- */

/* The mode of a hold: MODE_EXCLUSIVE, MODE_SHARED, or a slot: its name behind MODE_SLOT. A want is
 * one of the first two; or #N, one of the slots 1 to N; or =A,B, one of these. */
#define MODE_MAX_BYTES (SLOT_MAX_BYTES + 1)
#define MODE_EXCLUSIVE "x"
#define MODE_SHARED "s"
#define MODE_SLOT '='

/* The word for people: exclusive, shared, slots. */
const char *mode_word(const char *mode);
const char *want_word(const char *want);

/* Whether a hold that was granted for this want has a slot. */
bool want_is_slot(const char *want);

/* ---- The holders of a lock, as told to a process that does not get it ---- */

/* One holder, and how many hold beside it. The texts belong to the server's reply. */
struct holder {
	const char *owner; /* "": unknown, or nobody holds it */
	const char *by;
	int64_t held_ms; /* -1: unknown; below that: --min-hold keeps the lock until -held_ms */
	char mode;       /* as in MODE_...; 0: unknown */
	int64_t count;   /* how many hold the lock */
	int64_t slots;   /* each has one of so many; 0: they are not counted */
	int64_t next_ms; /* in how many ms the first of their leases ends; -1: unknown */
	bool by_hand;    /* a person took it, with acquire, and gives it back */
	/* Of the waiter: */
	const char *want;
	bool is_last; /* other waiters come before it, if it fits */
};

/* Whether they take one of another number of slots than the waiter. */
bool holder_is_of_other_count(const struct holder *holder);

/* Writes "held by COMMAND (pid PID, USER@HOST) for TIME", or "... and 11 others that share it"; or
 * "held by hand until 14:00, USER@HOST: REASON"; or
 * "all 3 slots are held, the next lease ends in TIME"; or "all others take one of 4 slots"; or
 * "kept until TIME by --min-hold of COMMAND (USER@HOST)". Cuts it to so many characters, at least
 * HOLDER_LEAST. Returns text. */
#define HOLDER_LEAST 20
const char *holder_show(char text[OWNER_SHOWN_BYTES], size_t characters,
			const struct holder *holder);

/* Appends SEPARATOR and the same to a message in text, which has so many bytes, if there is room
 * for HOLDER_LEAST characters of it in a message. */
void holder_say(char *text, size_t size, const char *separator, const struct holder *holder);
