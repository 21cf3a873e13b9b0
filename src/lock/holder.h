/* The holders of a lock, as the server has described them to a process that does not get it. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lock/owner.h"
#include "output/timestamp.h"

/* Longer than any lock was held, and short enough for sums, whatever a server says. */
#define HELD_MAX_MS (INT64_C(1) << 45)

/* No server has memory for more holders. */
#define HOLDERS_MAX 100000000

/* One holder, and how many hold beside it. The texts belong to the server's reply. */
struct holder {
	const char *owner; /* "": unknown, or nobody holds it */
	const char *by;
	int64_t held_ms; /* -1: unknown; below that: kept, see holder_show_kept */
	char mode;       /* as in want.h; 0: unknown */
	int64_t count;   /* how many hold the lock */
	int64_t slots;   /* each has one of so many; 0: they are not counted */
	int64_t next_ms; /* in how many ms the first of their leases ends; -1: unknown */
	bool by_hand;    /* a person took it, with acquire, and gives it back */
	/* Of the waiter: */
	const char *want;
	bool is_last; /* other waiters come before it, if it fits */
};

/* The time held, as a script has told it, within bounds. */
int64_t holder_held_ms(long long held);

/* A lock that --min-hold keeps is held by nobody: its last holder has ended. Then held_ms is below
 * -1, and this writes until when it is kept, as 18:03:25, and returns text; else it returns NULL.
 */
const char *holder_show_kept(char text[TIMESTAMP_MAX_BYTES], int64_t held_ms);

#define UNTIL_MAX_BYTES (TIMESTAMP_MAX_BYTES + 8)

/* Writes until when a person holds it, as " until 14:00", or nothing if nobody knows. Returns
 * text. */
const char *holder_show_until(char text[UNTIL_MAX_BYTES], const struct holder *holder);

#define SLOTS_HELD_BYTES 64

/* If the holders take one of another number of slots than the waiter, writes that, and returns
 * text; else returns NULL. */
const char *holder_show_count(char text[SLOTS_HELD_BYTES], const struct holder *holder);

/* Writes how many slots are held: "2 of 3 slots" if the waiter wants one of three, "3 slots" if it
 * wants none. Returns text, or NULL where a message is to name the holder: if it has the lock
 * alone, and if the waiter wants one slot only, which it has. */
const char *holder_show_slots(char text[SLOTS_HELD_BYTES], const struct holder *holder);

/* Writes "held by COMMAND (pid PID, USER@HOST) for TIME", or "... and 11 others that share it"; or
 * "held by hand until 14:00, USER@HOST: REASON"; or
 * "all 3 slots are held, the next lease ends in TIME"; or "all others take one of 4 slots"; or
 * "kept until TIME by --min-hold of COMMAND (USER@HOST)": as much of it as fits into so many
 * characters. Returns text. */
const char *holder_show(char text[OWNER_SHOWN_BYTES], size_t characters,
			const struct holder *holder);

/* Appends SEPARATOR and the same to a message in text, which has so many bytes: as much of it as
 * there is room for in a message. */
void holder_say(char *text, size_t size, const char *separator, const struct holder *holder);
