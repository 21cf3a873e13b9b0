/* Formats messages, and writes each as one line. */
#include "base/error.h"

#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define OBJECT_CHARACTERS 40 /* so much is left of an object in any case */

#define LINE_MAX_BYTES 1024

int fail(struct error *err, enum status status, const char *format, ...)
{
	va_list args;

	err->status = status;
	va_start(args, format);
	if ((size_t)vsnprintf(err->text, sizeof(err->text), format, args) >= sizeof(err->text))
		utf8_cut_end(err->text);
	va_end(args);
	return -1;
}

int fail_about(struct error *err, enum status status, const char *verb, const char *object,
	       const char *cause)
{
	const size_t others =
		strlen("cannot  : ") + count_characters(verb) + count_characters(cause);
	const size_t room = others + OBJECT_CHARACTERS < MESSAGE_CHARACTERS
				    ? MESSAGE_CHARACTERS - others
				    : OBJECT_CHARACTERS;
	char shown[4 * MESSAGE_CHARACTERS + 1], whole[4 * MESSAGE_CHARACTERS + 1];

	/* a message of long characters may have more bytes than the error */
	snprintf(whole, sizeof(whole), "cannot %s %s: %s", verb,
		 shorten_middle(shown, room, object), cause);
	tame(whole);
	return fail(err, status, "%s", shorten_to(whole, MESSAGE_CHARACTERS, whole));
}

/* A pipe that is ready has room for a line; a terminal that Ctrl-S holds up is not ready. */
static bool is_ready(void)
{
	struct pollfd slot = {.fd = STDERR_FILENO, .events = POLLOUT};

	return poll(&slot, 1, 0) == 1 && slot.revents == POLLOUT;
}

/* Waits for a descriptor that another program has made non-blocking, as for any other. */
static void write_whole(const char *text, size_t length)
{
	struct pollfd slot = {.fd = STDERR_FILENO, .events = POLLOUT};

	while (length > 0) {
		const ssize_t written = write(STDERR_FILENO, text, length);

		if (written >= 0) {
			text += written;
			length -= (size_t)written;
		} else if (errno != EAGAIN || poll(&slot, 1, -1) < 0) {
			return;
		}
	}
}

void print_message(bool may_wait, const char *format, ...)
{
	static const char prefix[] = "fairlock: ";
	const size_t start = sizeof(prefix) - 1;
	char line[LINE_MAX_BYTES];
	size_t length;
	va_list args;

	va_start(args, format);
	memcpy(line, prefix, start);
	if ((size_t)vsnprintf(line + start, sizeof(line) - start - 1, format, args) >=
	    sizeof(line) - start - 1)
		utf8_cut_end(line + start);
	va_end(args);
	tame(line + start);
	length = strlen(line);
	line[length++] = '\n';
	if (may_wait)
		write_whole(line, length);
	else if (is_ready())
		(void)!write(STDERR_FILENO, line, length);
}
