#include "error.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "utf8.h"

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
	tame(line + start);
	length = strlen(line);
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
	/* a failure that forgot to say what it is must not look like success */
	return err->status == STATUS_OK ? STATUS_BUG : (int)err->status;
}
