/* Ids are random and have the form of Redisson's, so that both kinds of clients share a queue. */
#include "lock/owner.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

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
	uint8_t b[16];

	if (getrandom(b, sizeof(b), 0) != sizeof(b))
		return fail(err, STATUS_OS, "cannot get random bytes: %s", strerror(errno));
	b[6] = (uint8_t)((b[6] & 0x0f) | 0x40);
	b[8] = (uint8_t)((b[8] & 0x3f) | 0x80);
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

int owner_inherited(char (**ids)[OWNER_MAX_BYTES])
{
	static char list[HELD_MAX][OWNER_MAX_BYTES]; /* 16 kB, most of them never touched */
	const char *word = getenv("FAIRLOCK_HELD");
	int count = 0;

	while (word && *word && count < HELD_MAX) {
		size_t length = strcspn(word, WORD_SEPARATOR);

		if (is_owner(word, length)) {
			memcpy(list[count], word, length);
			list[count++][length] = '\0';
		}
		word += length;
		word += strspn(word, WORD_SEPARATOR);
	}
	*ids = list;
	return count;
}

/* Appends text, with '?' for control characters, and the separator behind it ('\0': none). */
static void append(char *by, const char *text, char behind)
{
	size_t at = strlen(by);

	for (; *text && at < BY_MAX_BYTES - 1; text++)
		by[at++] = (unsigned char)*text < ' ' || *text == 127 ? '?' : *text;
	if (behind && at < BY_MAX_BYTES - 1)
		by[at++] = behind;
	by[at] = '\0';
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

void owner_describe(char by[BY_MAX_BYTES], char *const *words)
{
	char host[65] = "";
	char number[16];

	by[0] = '\0';
	gethostname(host, sizeof(host) - 1);
	append(by, host, '\t');
	snprintf(number, sizeof(number), "%d", (int)getpid());
	append(by, number, '\t');
	append(by, user_name(number, sizeof(number)), '\t');
	for (; *words; words++)
		append(by, *words, words[1] ? ' ' : '\0');
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
	process->command = rest;
}

void owner_show(char *text, size_t size, const char *by)
{
	struct owner_process process;

	owner_parse(&process, by);
	snprintf(text, size, "%s (pid %s, %s@%s)", process.command, process.pid, process.user,
		 process.host);
}

const char *owner_without_folder(const char *command)
{
	const size_t word = strcspn(command, " ");
	const char *slash = memrchr(command, '/', word);

	return slash && slash + 1 < command + word ? slash + 1 : command;
}
