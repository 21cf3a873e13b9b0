/* Says of several holders how many they are, and of one who it is. */
#include "lock/holder.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/duration.h"
#include "lock/want.h"

/* With less room it is not said who holds the lock. */
#define HOLDER_CHARACTERS 12

int64_t holder_held_ms(long long held)
{
	return held < -TIMESTAMP_LAST_MS ? -TIMESTAMP_LAST_MS
	       : held > HELD_MAX_MS      ? HELD_MAX_MS
					 : held;
}

const char *holder_show_kept(char text[TIMESTAMP_MAX_BYTES], int64_t held_ms)
{
	return held_ms < -1 ? timestamp_until(text, -held_ms, wall_ms()) : NULL;
}

/* A process that has ended has no pid. */
static void show_ended(char text[OWNER_SHOWN_BYTES], size_t characters, const char *by)
{
	struct owner_process process;
	char ended[BY_MAX_BYTES + 8];

	owner_parse(&process, by);
	snprintf(ended, sizeof(ended), "%s\t\t%s\t%s\t%s", process.host, process.user,
		 process.command, process.reason);
	owner_show(text, characters, ended);
}

static void show_kept(char text[OWNER_SHOWN_BYTES], size_t characters, const char *until,
		      const char *by)
{
	static const char of[] = " by --min-hold of ";
	char shown[OWNER_SHOWN_BYTES];
	size_t words;

	snprintf(text, OWNER_SHOWN_BYTES, "kept until %s", until);
	words = strlen(text) + strlen(of);
	if (strlen(text) > characters)
		*text = '\0';
	if (!*by || words + HOLDER_CHARACTERS > characters)
		return;
	show_ended(shown, characters - words, by);
	strcat(text, of);
	strcat(text, shown);
}

/* ---- Several holders ---- */

/* "all 1 slots" would say little; and named slots are none of those that are counted. */
static int64_t wanted_slots(const struct holder *holder)
{
	const int64_t slots = want_slots(holder->want);
	const bool is_other = holder->slots > 0 && *holder->want != '#';

	return is_other || (slots == 1 && holder->count > 1) ? 0 : slots;
}

static bool has_slots(const struct holder *holder)
{
	return holder->mode == MODE_SLOT && (holder->count > 1 || want_slots(holder->want) > 1);
}

const char *holder_show_count(char text[SLOTS_HELD_BYTES], const struct holder *holder)
{
	if (holder->slots == 0 || *holder->want != '#' || want_slots(holder->want) == holder->slots)
		return NULL;
	snprintf(text, SLOTS_HELD_BYTES, "all others take one of %" PRId64 " slots", holder->slots);
	return text;
}

const char *holder_show_slots(char text[SLOTS_HELD_BYTES], const struct holder *holder)
{
	const int64_t wanted = wanted_slots(holder);

	if (!has_slots(holder))
		return NULL;
	if (wanted == 0)
		snprintf(text, SLOTS_HELD_BYTES, "%" PRId64 " slots", holder->count);
	else
		snprintf(text, SLOTS_HELD_BYTES, "%" PRId64 " of %" PRId64 " slots",
			 holder->count < wanted ? holder->count : wanted, wanted);
	return text;
}

/* Whether the waiter could hold the lock beside these, if no other waiter came first. */
static bool fits(const struct holder *holder)
{
	if (holder->mode == MODE_SLOT)
		return holder->count < wanted_slots(holder);
	return strcmp(holder->want, MODE_SHARED) == 0 && holder->mode == MODE_SHARED[0];
}

/* Appends it if it fits. Returns whether it does. */
static bool append(char *text, size_t characters, const char *more)
{
	if (count_characters(text) + count_characters(more) > characters)
		return false;
	strcat(text, more);
	return true;
}

static void say_others(char *text, size_t characters, const struct holder *holder)
{
	if (holder->is_last && fits(holder))
		append(text, characters, ", but others asked first");
}

static void show_slots(char text[OWNER_SHOWN_BYTES], size_t characters, const struct holder *holder)
{
	const int64_t wanted = wanted_slots(holder);
	char slots[SLOTS_HELD_BYTES], time[DURATION_MAX_BYTES], lease[DURATION_MAX_BYTES + 32];

	*text = '\0';
	if (wanted > 0 && holder->count >= wanted)
		snprintf(slots, sizeof(slots), "all %" PRId64 " slots", wanted);
	else
		holder_show_slots(slots, holder);
	strcat(slots, holder->count == 1 ? " is held" : " are held");
	if (!append(text, characters, slots))
		return;
	if (holder->next_ms >= 0 && !fits(holder)) {
		snprintf(lease, sizeof(lease), ", the next lease ends in %s",
			 duration_show(time, holder->next_ms));
		append(text, characters, lease);
	}
	say_others(text, characters, holder);
}

/* ---- One of them ---- */

/* Writes "held by COMMAND (pid PID, USER@HOST)BEHIND", or nothing. */
static void show_one(char text[OWNER_SHOWN_BYTES], size_t characters, const struct holder *holder,
		     const char *behind)
{
	static const char held_by[] = "held by ";
	const size_t words = strlen(held_by) + strlen(behind);
	char shown[OWNER_SHOWN_BYTES];

	*text = '\0';
	if (words + HOLDER_CHARACTERS > characters)
		return;
	if (*holder->by)
		owner_show(shown, characters - words, holder->by);
	else
		shorten_to(shown, characters - words, holder->owner);
	strcpy(text, held_by);
	strcat(text, shown);
	strcat(text, behind);
}

const char *holder_show_until(char text[UNTIL_MAX_BYTES], const struct holder *holder)
{
	char until[TIMESTAMP_MAX_BYTES];
	const int64_t now_ms = wall_ms();

	*text = '\0';
	if (holder->next_ms < 0 || holder->next_ms > TIMESTAMP_LAST_MS - now_ms)
		return text;
	timestamp_until_minute(until, now_ms + holder->next_ms, now_ms);
	snprintf(text, UNTIL_MAX_BYTES, " until %s", until);
	return text;
}

/* Whoever reads it may ask this person. */
static void show_by_hand(char text[OWNER_SHOWN_BYTES], size_t characters,
			 const struct holder *holder)
{
	struct owner_process process;
	char until[UNTIL_MAX_BYTES], user[SHORT_MAX_BYTES], host[SHORT_MAX_BYTES];
	char reason[SHORT_MAX_BYTES], person[2 * SHORT_MAX_BYTES + 4];

	owner_parse(&process, holder->by);
	*text = '\0';
	if (!append(text, characters, "held by hand") ||
	    !append(text, characters, holder_show_until(until, holder)))
		return;
	snprintf(person, sizeof(person), ", %s@%s", shorten(user, process.user),
		 shorten(host, process.host));
	if (!append(text, characters, person) || !*process.reason)
		return;
	const size_t room = characters - count_characters(text);

	if (room < HOLDER_CHARACTERS)
		return;
	strcat(text, ": ");
	strcat(text, shorten_to(reason, room < SHORT_CHARACTERS + 2 ? room - 2 : SHORT_CHARACTERS,
				process.reason));
}

static void show_shared(char text[OWNER_SHOWN_BYTES], size_t characters,
			const struct holder *holder)
{
	const int64_t others = holder->count - 1;
	char behind[SLOTS_HELD_BYTES];

	snprintf(behind, sizeof(behind), " and %" PRId64 " other%s", others,
		 others == 1 ? " that shares it" : "s that share it");
	show_one(text, characters, holder, behind);
	if (!*text && characters >= HOLDER_CHARACTERS + strlen(" share it"))
		snprintf(text, OWNER_SHOWN_BYTES, "%" PRId64 " share it", holder->count);
}

const char *holder_show(char text[OWNER_SHOWN_BYTES], size_t characters,
			const struct holder *holder)
{
	char time[DURATION_MAX_BYTES], since[DURATION_MAX_BYTES + 8] = "";
	char until[TIMESTAMP_MAX_BYTES], slots[SLOTS_HELD_BYTES];

	*text = '\0';
	if (holder_show_count(slots, holder)) {
		append(text, characters, slots);
		return text;
	}
	if (has_slots(holder)) {
		show_slots(text, characters, holder);
		return text;
	}
	if (holder->count > 1)
		show_shared(text, characters, holder);
	else if (holder_show_kept(until, holder->held_ms))
		show_kept(text, characters, until, holder->by);
	else if (holder->by_hand && *holder->by)
		show_by_hand(text, characters, holder);
	else {
		if (holder->held_ms >= 0)
			snprintf(since, sizeof(since), " for %s",
				 duration_show(time, holder->held_ms));
		show_one(text, characters, holder, since);
	}
	if (*text)
		say_others(text, characters, holder);
	return text;
}

void holder_say(char *text, size_t size, const char *separator, const struct holder *holder)
{
	const size_t length = strlen(text), taken = count_characters(text) + strlen(separator);
	char shown[OWNER_SHOWN_BYTES];

	if (taken >= MESSAGE_CHARACTERS)
		return;
	holder_show(shown, MESSAGE_CHARACTERS - taken, holder);
	if (*shown)
		snprintf(text + length, size - length, "%s%s", separator, shown);
}
