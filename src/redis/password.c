/* Editors and shells add to a secret what nobody sees. */
#include "redis/password.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "base/descriptors.h"

/* A URL in a shell command ends before one of these. */
#define BLANKS " \t\n'\""

#define BYTE_ORDER_MARK "\xef\xbb\xbf"

const char *password_read(int fd, char text[PASSWORD_MAX_BYTES + 2])
{
	const ssize_t length = read_file(fd, text, PASSWORD_MAX_BYTES + 1);
	size_t line, mark;

	if (length < 0)
		return strerror(errno);
	text[length] = '\0';
	mark = strncmp(text, BYTE_ORDER_MARK, strlen(BYTE_ORDER_MARK)) ? 0
								       : strlen(BYTE_ORDER_MARK);
	memmove(text, text + mark, (size_t)length + 1 - mark);
	line = strcspn(text, "\n");
	if (line > PASSWORD_MAX_BYTES - mark)
		return "its first line is longer than 4096 bytes";
	if (line < (size_t)length - mark && text[line] == '\0')
		return "its first line has a NUL byte";
	if (line > 0 && text[line - 1] == '\r')
		line--;
	text[line] = '\0';
	return line > 0 ? NULL : "its first line is empty";
}

const char *password_fault(const char *text)
{
	const size_t length = strlen(text);

	if (length > 0 && text[length - 1] == '\n')
		return "ends with a line break";
	if (length > 0 && text[length - 1] == '\r')
		return "ends with a carriage return";
	if (length > 0 && text[length - 1] == ' ')
		return "ends with a blank";
	return strstr(text, BYTE_ORDER_MARK) ? "has a byte order mark" : NULL;
}

/* Whether what ends here is http or https: the path behind such a host may have an @. */
static bool is_web_at(const char *text, const char *end)
{
	const size_t length = (size_t)(end - text);

	return (length >= 4 && strncmp(end - 4, "http", 4) == 0) ||
	       (length >= 5 && strncmp(end - 5, "https", 5) == 0);
}

/* In a word that begins with the URL, or with --url=, the password may have blanks. */
const char *password_find(const char *text, size_t *length)
{
	const size_t word = strcspn(text, BLANKS);

	for (const char *slashes = text; (slashes = strstr(slashes, "://")); slashes++) {
		const char *user = slashes + strlen("://");
		const bool is_web = is_web_at(text, slashes);
		const size_t in_word =
			(size_t)(slashes - text) < word ? strlen(user) : strcspn(user, BLANKS);
		const size_t room = is_web ? strcspn(user, "/" BLANKS) : in_word;
		const char *at = memrchr(user, '@', room);
		const char *colon = at ? memchr(user, ':', (size_t)(at - user)) : NULL;
		const char *secret = colon ? colon + 1 : user;

		if (at && at > secret) {
			*length = (size_t)(at - secret);
			return secret;
		}
	}
	return NULL;
}
