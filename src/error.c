#include "error.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

int fail(struct error *err, enum status status, const char *format, ...)
{
	va_list args;

	err->status = status;
	va_start(args, format);
	vsnprintf(err->text, sizeof(err->text), format, args);
	va_end(args);
	return -1;
}

/* What others wrote (a name, a server's reply) must neither break the line nor
 * drive the terminal. */
static void tame(char *text, size_t length)
{
	for (size_t i = 0; i < length; i++) {
		unsigned char c = (unsigned char)text[i];

		if (c < 0x20 || c == 0x7f)
			text[i] = '?';
		else if (c == 0xc2 && i + 1 < length && (unsigned char)text[i + 1] < 0xa0)
			text[i] = text[i + 1] = '?';
	}
}

void complain(const char *format, ...)
{
	static const char prefix[] = "fairlock: ";
	const size_t start = sizeof(prefix) - 1;
	char line[1024];
	va_list args;
	size_t length;

	memcpy(line, prefix, start);
	va_start(args, format);
	vsnprintf(line + start, sizeof(line) - start - 1, format, args);
	va_end(args);
	length = strlen(line);
	tame(line + start, length - start);
	line[length++] = '\n';
	if (write(STDERR_FILENO, line, length) < 0)
		return; /* nobody is left to be told */
}

int report_failure(const struct error *err, const char *command)
{
	complain("%s", err->text);
	if (err->status == STATUS_USAGE)
		dprintf(STDERR_FILENO, "Try 'fairlock%s%s --help'.\n", command ? " " : "",
			command ? command : "");
	return (int)err->status;
}
