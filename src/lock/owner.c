/* Ids have the form of Redisson's, so that both kinds of clients share a queue. In that of a wrap,
 * the last eight digits of the UUID mark the process that drew it; the others are random. */
#include "lock/owner.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/descriptors.h"
#include "base/text.h"
#include "output/table.h"
#include "redis/server.h"

/* ---- The processes above us ---- */

/* /proc/PID/stat may be read by all users, unlike the environment of root's processes. */
struct process {
	pid_t pid;
	pid_t parent; /* 0: none in this PID namespace */
	uint32_t mark;
	char name[20]; /* of its program, in brackets */
};

/* A PID namespace and the time of the start tell a process from others with its number, here or in
 * another container. Returns false if it cannot be seen. */
static bool look_at(struct process *process, const char *folder)
{
	unsigned long long start;
	char path[40], text[512];
	struct stat space;
	ssize_t length;
	char *name, *end;

	snprintf(path, sizeof(path), "/proc/%s/stat", folder);
	length = read_file(path, text, sizeof(text) - 1);
	if (length <= 0 || stat("/proc/self/ns/pid", &space) < 0)
		return false;
	text[length] = '\0';
	name = strchr(text, '(');
	end = strrchr(text, ')');
	if (!name || !end ||
	    sscanf(end,
		   ") %*c %d %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s "
		   "%llu",
		   &process->parent, &start) != 2)
		return false;
	end[1] = '\0';
	process->pid = (pid_t)strtol(text, NULL, 10);
	snprintf(process->name, sizeof(process->name), "%s", name);
	process->mark = (uint32_t)((start << 32 ^ space.st_ino) * 0x9e3779b97f4a7c15 >> 32);
	return true;
}

/* False if /proc is that of another PID namespace. */
static bool look_at_us(struct process *us)
{
	return look_at(us, "self") && us->pid == getpid();
}

/* Whether the process drew this owner id. */
static bool drew(const struct process *process, const char *owner)
{
	char end[24];
	const size_t length =
		(size_t)snprintf(end, sizeof(end), "%08x:%d", process->mark, (int)process->pid);

	return strlen(owner) > length && strcmp(owner + strlen(owner) - length, end) == 0;
}

bool owner_is_above(const char *owner)
{
	struct process us, above;
	char folder[16];

	if (!look_at_us(&us))
		return false;
	for (above = us; above.parent > 0;) {
		snprintf(folder, sizeof(folder), "%d", (int)above.parent);
		if (!look_at(&above, folder))
			return false;
		if (owner ? drew(&above, owner) : strcmp(above.name, us.name) == 0)
			return true;
	}
	return false;
}

/* ---- Ids ---- */

int owner_new(char id[OWNER_MAX_BYTES], bool is_marked, struct error *err)
{
	struct process us;
	uint32_t w[4];

	if (getrandom(w, sizeof(w), 0) != sizeof(w))
		return fail(err, STATUS_OS, "cannot get random bytes: %s", strerror(errno));
	w[1] = (w[1] & 0xffff0fff) | 0x4000;
	w[2] = (w[2] & 0x3fffffff) | 0x80000000;
	if (is_marked && look_at_us(&us))
		w[3] = us.mark;
	snprintf(id, OWNER_MAX_BYTES, "%08x-%04x-%04x-%04x-%04x%08x:%d", w[0], w[1] >> 16,
		 w[1] & 0xffff, w[2] >> 16, w[2] & 0xffff, w[3], (int)getpid());
	return 0;
}

void owner_draw_secret(char secret[SECRET_BYTES])
{
	uint64_t dice;

	*secret = '\0';
	if (getrandom(&dice, sizeof(dice), 0) == sizeof(dice))
		snprintf(secret, SECRET_BYTES, "%016" PRIx64, dice);
}

/* UUID:NUMBER. Without the UUID, as when uuidgen is not there, two hosts would be one owner. */
static bool is_owner(const char *word, size_t length)
{
	static const char form[] = "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx:";
	const size_t at = sizeof(form) - 1;

	for (size_t i = 0; i < at; i++)
		if (form[i] == 'x' ? !isxdigit((unsigned char)word[i]) : word[i] != form[i])
			return false;
	return length > at && length < OWNER_MAX_BYTES &&
	       strspn(word + at, "0123456789") >= length - at;
}

bool owner_is_valid(const char *id)
{
	return is_owner(id, strlen(id));
}

/* Adds the owner ids of a variable. Returns how many there are then. */
static int list_owners(char (*ids)[OWNER_MAX_BYTES], int count, const char *variable)
{
	const char *word = getenv(variable);

	while (word && *word && count < HELD_MAX) {
		const size_t length = strcspn(word, " ");
		bool is_new = is_owner(word, length);

		for (int i = 0; i < count && is_new; i++)
			is_new = strncmp(ids[i], word, length) != 0 || ids[i][length] != '\0';
		if (is_new) {
			memcpy(ids[count], word, length);
			ids[count++][length] = '\0';
		}
		word += length;
		word += strspn(word, " ");
	}
	return count;
}

int owner_inherited(char (**ids)[OWNER_MAX_BYTES])
{
	static char list[HELD_MAX][OWNER_MAX_BYTES]; /* 16 kB, most of them never touched */

	*ids = list;
	return list_owners(list, list_owners(list, 0, "FAIRLOCK_OWNER"), "FAIRLOCK_HELD");
}

/* Appends text, with '?' for control characters and '*' for a password in a URL, and the separator
 * behind it ('\0': none). most: how long it may all become. Returns whether it fits; else it ends
 * behind a whole character. */
static bool append(char *by, size_t most, const char *text, char behind)
{
	size_t at = strlen(by), hidden = 0;
	const char *secret = password_find(text, &hidden);

	while (*text && at + (behind != '\0') < most) {
		if (text == secret) {
			by[at++] = '*';
			text += hidden;
			secret = password_find(text, &hidden);
			continue;
		}
		by[at++] = (unsigned char)*text < ' ' || *text == 127 ? '?' : *text;
		text++;
	}
	by[at] = '\0';
	if (*text)
		utf8_cut_end(by);
	at = strlen(by);
	if (behind && at < most)
		by[at++] = behind;
	by[at] = '\0';
	return !*text;
}

/* $LOGNAME costs no look-up in the password database, and the name is only for people to read. */
static const char *user_name(char *number, size_t size)
{
	const char *name = getenv("LOGNAME");

	if (!name || !*name)
		name = getenv("USER");
	if (name && *name)
		return name;
	if (geteuid() == 0)
		return "root";
	snprintf(number, size, "%u", (unsigned)geteuid());
	return number;
}

void owner_describe(char by[BY_MAX_BYTES], pid_t pid, char *const *words, const char *reason)
{
	const size_t whole = BY_MAX_BYTES - 1;
	const size_t most = reason && *reason ? whole - strlen(reason) - 1 : whole;
	char host[65] = "";
	char number[16];

	by[0] = '\0';
	gethostname(host, sizeof(host) - 1);
	append(by, most, host, '\t');
	snprintf(number, sizeof(number), "%d", (int)pid);
	append(by, most, number, '\t');
	append(by, most, user_name(number, sizeof(number)), '\t');
	if (!reason) {
		while (*words && append(by, most, *words, words[1] ? ' ' : '\0'))
			words++;
		return;
	}
	if (*words)
		append(by, most, *words, '\0');
	if (*reason) {
		append(by, whole, "", '\t');
		append(by, whole, reason, '\0');
	}
}

/* Ends the word at *rest, which then begins behind it. */
static const char *next_word(char **rest)
{
	char *word = *rest;

	*rest += strcspn(word, "\t");
	if (**rest)
		*(*rest)++ = '\0';
	return word;
}

void owner_parse(struct owner_process *process, const char *by)
{
	char *rest = process->text;

	snprintf(process->text, sizeof(process->text), "%s", by);
	process->host = next_word(&rest);
	process->pid = next_word(&rest);
	process->user = next_word(&rest);
	process->command = next_word(&rest);
	process->reason = rest;
}

void owner_fill_row(struct table_row *row, struct owner_process *process, const char *by)
{
	owner_parse(process, by);
	row->cells[COLUMN_HOST] = process->host;
	row->cells[COLUMN_PID] = process->pid;
	row->cells[COLUMN_USER] = process->user;
	row->cells[COLUMN_COMMAND] = process->command;
	row->cells[COLUMN_REASON] = process->reason;
}

/* ---- For messages ---- */

/* Where the room is short, user and host get so much each; and with less for a command they are
 * left out. */
#define NAME_CHARACTERS 12

static const char *show_owner(char text[OWNER_SHOWN_BYTES], size_t characters, const char *by,
			      bool has_pid)
{
	char command[SHORT_MAX_BYTES], reason[SHORT_MAX_BYTES], what[2 * SHORT_MAX_BYTES + 2];
	char pid[SHORT_MAX_BYTES], user[SHORT_MAX_BYTES], host[SHORT_MAX_BYTES];
	char behind[OWNER_SHOWN_BYTES];
	struct owner_process process;

	owner_parse(&process, by);
	snprintf(what, sizeof(what), "%s%s%s", shorten(command, process.command),
		 *process.reason ? ": " : "", shorten(reason, process.reason));
	snprintf(behind, sizeof(behind), " (%s%s%s%s@%s)", has_pid ? "pid " : "",
		 has_pid ? shorten(pid, process.pid) : "", has_pid ? ", " : "",
		 shorten(user, process.user), shorten(host, process.host));
	if (count_characters(what) + count_characters(behind) > characters) {
		host[strcspn(host, ".")] = '\0';
		snprintf(behind, sizeof(behind), " (%s@%s)",
			 shorten_to(user, NAME_CHARACTERS, user),
			 shorten_to(host, NAME_CHARACTERS, host));
	}
	if (count_characters(behind) + NAME_CHARACTERS > characters)
		*behind = '\0';
	shorten_to(text, characters - count_characters(behind), what);
	return strcat(text, behind);
}

const char *owner_show(char text[OWNER_SHOWN_BYTES], size_t characters, const char *by)
{
	return show_owner(text, characters, by, true);
}

const char *owner_without_folder(const char *command)
{
	const size_t word = strcspn(command, " ");
	const char *slash = memrchr(command, '/', word);

	return slash && slash + 1 < command + word ? slash + 1 : command;
}

/* ---- Modes ---- */

const char *mode_word(const char *mode)
{
	return *mode == MODE_SLOT               ? "slots"
	       : strcmp(mode, MODE_SHARED) == 0 ? "shared"
						: "exclusive";
}

const char *want_word(const char *want)
{
	return want_is_slot(want) ? "slots" : mode_word(want);
}

/* How many slots are named in a want; 0: none. */
static int64_t want_slots(const char *want)
{
	int64_t count = want_is_slot(want);

	if (*want == '#')
		return strtoll(want + 1, NULL, 10);
	for (; *want; want++)
		count += *want == ',';
	return count;
}

bool want_is_slot(const char *want)
{
	return *want == '#' || *want == MODE_SLOT;
}

/* ---- Holders: of several, how many they are; of one, who it is ---- */

/* A message names the holder with at least this many characters. */
#define HOLDER_CHARACTERS 12

/* "all 1 slots" would say little; and named slots are none of those that are counted. */
static int64_t wanted_slots(const struct holder *holder)
{
	const int64_t slots = want_slots(holder->want);
	const bool is_other = holder->slots > 0 && *holder->want != '#';

	return is_other || (slots == 1 && holder->count > 1) ? 0 : slots;
}

bool holder_is_of_other_count(const struct holder *holder)
{
	return holder->slots > 0 && *holder->want == '#' &&
	       want_slots(holder->want) != holder->slots;
}

/* Whether the waiter could hold the lock beside these, if no other waiter came first. */
static bool fits(const struct holder *holder)
{
	if (holder->mode == MODE_SLOT)
		return !holder_is_of_other_count(holder) && holder->count < wanted_slots(holder);
	return strcmp(holder->want, MODE_SHARED) == 0 && holder->mode == MODE_SHARED[0];
}

static void say_slots(char text[OWNER_SHOWN_BYTES], const struct holder *holder)
{
	const int64_t wanted = wanted_slots(holder);
	const char *verb = holder->count == 1 ? "is" : "are";
	const bool are_all = wanted > 0 && holder->count >= wanted;
	char time[DURATION_MAX_BYTES], lease[DURATION_MAX_BYTES + 32] = "", of[32] = "";

	if (holder->next_ms >= 0 && !fits(holder))
		snprintf(lease, sizeof(lease), ", the next lease ends in %s",
			 duration_show(time, holder->next_ms));
	if (holder->count < wanted)
		snprintf(of, sizeof(of), " of %" PRId64, wanted);
	snprintf(text, OWNER_SHOWN_BYTES, "%s%" PRId64 "%s slots %s held%s", are_all ? "all " : "",
		 are_all ? wanted : holder->count, of, verb, lease);
}

/* A reader of this message can ask the person who holds the lock. */
static void say_by_hand(char text[OWNER_SHOWN_BYTES], const struct holder *holder)
{
	const int64_t now_ms = wall_ms();
	char user[SHORT_MAX_BYTES], host[SHORT_MAX_BYTES], reason[SHORT_MAX_BYTES];
	char until[TIMESTAMP_MAX_BYTES] = "";
	struct owner_process process;

	owner_parse(&process, holder->by);
	if (holder->next_ms >= 0 && holder->next_ms <= TIMESTAMP_LAST_MS - now_ms)
		timestamp_until_minute(until, now_ms + holder->next_ms, now_ms);
	snprintf(text, OWNER_SHOWN_BYTES, "held by hand%s%s, %s@%s%s%s", *until ? " until " : "",
		 until, shorten(user, process.user), shorten(host, process.host),
		 *process.reason ? ": " : "", shorten(reason, process.reason));
}

/* "held by", who the holder is, and how many others, or for how long, if there is room for that. A
 * lock that --min-hold keeps is held by nobody: its last holder has ended. */
static void say_holder(char text[OWNER_SHOWN_BYTES], size_t characters, const struct holder *holder)
{
	const bool is_kept = holder->count <= 1 && holder->held_ms < -1;
	const int64_t others = holder->count - 1;
	char before[TIMESTAMP_MAX_BYTES + 32] = "held by ", behind[64] = "";
	char time[DURATION_MAX_BYTES], until[TIMESTAMP_MAX_BYTES], owner[OWNER_SHOWN_BYTES] = "";
	size_t taken, room = HOLDER_CHARACTERS;

	if (others > 0)
		snprintf(behind, sizeof(behind), " and %" PRId64 " other%s", others,
			 others == 1 ? " that shares it" : "s that share it");
	else if (is_kept)
		snprintf(before, sizeof(before), "kept until %s%s",
			 timestamp_until(until, -holder->held_ms, wall_ms()),
			 *holder->by ? " by --min-hold of " : "");
	else if (holder->held_ms >= 0)
		snprintf(behind, sizeof(behind), " for %s", duration_show(time, holder->held_ms));
	if (strlen(before) + strlen(behind) + HOLDER_CHARACTERS > characters)
		*behind = '\0';
	taken = strlen(before) + strlen(behind);
	if (characters > taken + HOLDER_CHARACTERS)
		room = characters - taken;
	if (*holder->by)
		show_owner(owner, room, holder->by, holder->held_ms >= -1); /* else it has ended */
	else if (!is_kept)
		shorten_to(owner, room, holder->owner);
	snprintf(text, OWNER_SHOWN_BYTES, "%s%s%s", before, owner, behind);
}

const char *holder_show(char text[OWNER_SHOWN_BYTES], size_t characters,
			const struct holder *holder)
{
	size_t length;

	if (holder_is_of_other_count(holder))
		snprintf(text, OWNER_SHOWN_BYTES, "all others take one of %" PRId64 " slots",
			 holder->slots);
	else if (holder->mode == MODE_SLOT && (holder->count > 1 || want_slots(holder->want) > 1))
		say_slots(text, holder);
	else if (holder->count <= 1 && holder->held_ms >= -1 && holder->by_hand && *holder->by)
		say_by_hand(text, holder);
	else
		say_holder(text, characters, holder);
	length = strlen(text);
	if (holder->is_last && fits(holder))
		snprintf(text + length, OWNER_SHOWN_BYTES - length, ", but others asked first");
	return shorten_to(text, characters, text);
}

void holder_say(char *text, size_t size, const char *separator, const struct holder *holder)
{
	const size_t length = strlen(text), taken = count_characters(text) + strlen(separator);
	char shown[OWNER_SHOWN_BYTES];

	if (taken + HOLDER_LEAST <= MESSAGE_CHARACTERS)
		snprintf(text + length, size - length, "%s%s", separator,
			 holder_show(shown, MESSAGE_CHARACTERS - taken, holder));
}
