/* Ids have the form of Redisson's, so that both kinds of clients share a queue. The last eight
 * digits of the UUID mark the process that drew it (ancestor.h), the others are random. */
#include "lock/owner.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/utf8.h"
#include "lock/ancestor.h"
#include "redis/password.h"

#define WORD_SEPARATOR " "
#define UUID_LENGTH 36

/* Returns the place for the next one. */
static char *put_byte(char *text, uint8_t byte)
{
	*text++ = SECRET_DIGITS[byte >> 4];
	*text++ = SECRET_DIGITS[byte & 0x0f];
	return text;
}

int owner_new(char id[OWNER_MAX_BYTES], struct error *err)
{
	const uint32_t mark = ancestor_mark();
	uint8_t b[16];

	if (getrandom(b, sizeof(b), 0) != sizeof(b))
		return fail(err, STATUS_OS, "cannot get random bytes: %s", strerror(errno));
	b[6] = (uint8_t)((b[6] & 0x0f) | 0x40);
	b[8] = (uint8_t)((b[8] & 0x3f) | 0x80);
	for (size_t i = 0; mark && i < sizeof(mark); i++)
		b[12 + i] = (uint8_t)(mark >> (24 - 8 * i));
	for (size_t i = 0; i < sizeof(b); i++) {
		if (i == 4 || i == 6 || i == 8 || i == 10)
			*id++ = '-';
		id = put_byte(id, b[i]);
	}
	snprintf(id, OWNER_MAX_BYTES - UUID_LENGTH, ":%d", (int)getpid());
	return 0;
}

void owner_draw_secret(char secret[SECRET_BYTES])
{
	uint8_t b[SECRET_BYTES / 2];

	*secret = '\0';
	if (getrandom(b, sizeof(b), 0) != sizeof(b))
		return;
	for (size_t i = 0; i < sizeof(b); i++)
		secret = put_byte(secret, b[i]);
	*secret = '\0';
}

static bool is_owner(const char *word, size_t length)
{
	return length > 0 && length < OWNER_MAX_BYTES &&
	       strspn(word, "0123456789abcdefABCDEF-:") >= length;
}

bool owner_is_valid(const char *id)
{
	return is_owner(id, strlen(id));
}

static bool is_listed(char (*ids)[OWNER_MAX_BYTES], int count, const char *word, size_t length)
{
	for (int i = 0; i < count; i++)
		if (strncmp(ids[i], word, length) == 0 && ids[i][length] == '\0')
			return true;
	return false;
}

/* Adds the owner ids of a variable. Returns how many there are then. */
static int list_owners(char (*ids)[OWNER_MAX_BYTES], int count, const char *variable)
{
	const char *word = getenv(variable);

	while (word && *word && count < HELD_MAX) {
		size_t length = strcspn(word, WORD_SEPARATOR);

		if (is_owner(word, length) && !is_listed(ids, count, word, length)) {
			memcpy(ids[count], word, length);
			ids[count++][length] = '\0';
		}
		word += length;
		word += strspn(word, WORD_SEPARATOR);
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

/* ---- For messages ---- */

/* Less of a command says too little; then we leave out the process first. */
#define COMMAND_CHARACTERS 20

/* Where the room is short, user and host get so much each. */
#define NAME_CHARACTERS 12

/* Writes " (pid PID, USER@HOST)", or as much of it as fits. */
static void show_process(char text[OWNER_SHOWN_BYTES], size_t characters,
			 const struct owner_process *process)
{
	char pid[SHORT_MAX_BYTES], user[SHORT_MAX_BYTES], host[SHORT_MAX_BYTES];
	const bool has_pid = *process->pid != '\0';
	const char *before = has_pid ? "pid " : "", *behind = has_pid ? ", " : "";
	char first[BY_MAX_BYTES];

	shorten_to(pid, NAME_CHARACTERS, process->pid);
	snprintf(text, OWNER_SHOWN_BYTES, " (%s%s%s%s@%s)", before, pid, behind,
		 shorten(user, process->user), shorten(host, process->host));
	if (count_characters(text) <= characters)
		return;
	snprintf(first, sizeof(first), "%.*s", (int)strcspn(process->host, "."), process->host);
	snprintf(text, OWNER_SHOWN_BYTES, " (%s%s%s%s@%s)", before, pid, behind,
		 shorten_to(user, NAME_CHARACTERS, process->user),
		 shorten_to(host, NAME_CHARACTERS, first));
	if (has_pid && count_characters(text) > characters)
		snprintf(text, OWNER_SHOWN_BYTES, " (pid %s)", pid);
	if (count_characters(text) > characters)
		*text = '\0';
}

const char *owner_show(char text[OWNER_SHOWN_BYTES], size_t characters, const char *by)
{
	char command[SHORT_MAX_BYTES], reason[SHORT_MAX_BYTES], what[2 * SHORT_MAX_BYTES + 2];
	char behind[OWNER_SHOWN_BYTES];
	struct owner_process process;
	size_t least;

	owner_parse(&process, by);
	snprintf(what, sizeof(what), "%s%s%s", shorten(command, process.command),
		 *process.reason ? ": " : "", shorten(reason, process.reason));
	least = count_characters(what);
	if (least > COMMAND_CHARACTERS)
		least = COMMAND_CHARACTERS;
	show_process(behind, characters > least ? characters - least : 0, &process);
	shorten_to(text, characters - count_characters(behind), what);
	strcat(text, behind);
	return text;
}

const char *owner_without_folder(const char *command)
{
	const size_t word = strcspn(command, " ");
	const char *slash = memrchr(command, '/', word);

	return slash && slash + 1 < command + word ? slash + 1 : command;
}
