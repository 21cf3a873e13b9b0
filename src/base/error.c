#include "base/error.h"

#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/utf8.h"

#define LINE_MAX_BYTES 1024

int fail(struct error *err, enum status status, const char *format, ...)
{
	va_list args;

	err->status = status;
	va_start(args, format);
	vsnprintf(err->text, sizeof(err->text), format, args);
	va_end(args);
	return -1;
}

void tame(char *text)
{
	while (*text) {
		uint32_t code = 0;
		size_t length = utf8_decode(text, &code);

		if (length == 0 || utf8_is_control(code))
			memset(text, '?', length > 0 ? length : 1);
		text += length > 0 ? length : 1;
	}
}

__attribute__((format(printf, 3, 0))) static size_t format_line(char *line, size_t size,
								const char *format, va_list args)
{
	static const char prefix[] = "fairlock: ";
	const size_t start = sizeof(prefix) - 1;
	size_t length;

	memcpy(line, prefix, start);
	vsnprintf(line + start, size - start - 1, format, args);
	tame(line + start);
	length = strlen(line);
	line[length++] = '\n';
	return length;
}

void complain(const char *format, ...)
{
	char line[LINE_MAX_BYTES];
	va_list args;

	va_start(args, format);
	const size_t length = format_line(line, sizeof(line), format, args);
	va_end(args);
	if (write(STDERR_FILENO, line, length) < 0)
		return; /* nobody is left to be told */
}

/* A pipe has room for a line when it says so, and a terminal that Ctrl-S holds up does not. */
void complain_in_passing(const char *format, ...)
{
	struct pollfd slot = {.fd = STDERR_FILENO, .events = POLLOUT};
	char line[LINE_MAX_BYTES];
	va_list args;

	va_start(args, format);
	const size_t length = format_line(line, sizeof(line), format, args);
	va_end(args);
	if (poll(&slot, 1, 0) == 1 && slot.revents == POLLOUT)
		(void)!write(STDERR_FILENO, line, length);
}

int report_failure(const struct error *err, const char *command)
{
	complain("%s", err->text);
	if (err->status == STATUS_USAGE)
		dprintf(STDERR_FILENO, "Try 'fairlock%s%s --help'.\n", command ? " " : "",
			command ? command : "");
	/* a failure that forgot to say what it is must not look like success */
	return err->status == STATUS_OK ? STATUS_BUG : (int)err->status;
}
