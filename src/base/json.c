/* A value puts the comma that is due before it, so that the last one needs no special care. */
#include "base/json.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "base/text.h"

static void begin_value(struct json *json, const char *key)
{
	if (json->comma_due)
		putchar(',');
	json->comma_due = true;
	if (!key)
		return;
	putchar('"');
	for (; *key; key++)
		putchar(*key >= 'A' && *key <= 'Z' ? *key - 'A' + 'a' : *key);
	fputs("\":", stdout);
}

void json_open(struct json *json, const char *key, char bracket)
{
	begin_value(json, key);
	putchar(bracket);
	json->comma_due = false;
	json->depth++;
}

void json_close(struct json *json, char bracket)
{
	putchar(bracket);
	json->comma_due = true;
	if (--json->depth == 0)
		putchar('\n');
}

static void put_escaped(uint32_t code)
{
	if (code > 0xffff) /* two halves */
		printf("\\u%04" PRIx32 "\\u%04" PRIx32, 0xd800 + ((code - 0x10000) >> 10),
		       0xdc00 + (code & 0x3ff));
	else
		printf("\\u%04" PRIx32, code);
}

static void put_quoted(const char *text)
{
	putchar('"');
	while (*text) {
		uint32_t code = 0;
		size_t length = utf8_decode(text, &code);

		if (length == 0)
			fputs(UTF8_REPLACEMENT, stdout);
		else if (utf8_is_harmful(code))
			put_escaped(code);
		else if (code == '"' || code == '\\')
			printf("\\%c", (int)code);
		else
			fwrite(text, 1, length, stdout);
		text += length > 0 ? length : 1;
	}
	putchar('"');
}

void json_text(struct json *json, const char *key, const char *text)
{
	begin_value(json, key);
	if (text && *text)
		put_quoted(text);
	else
		fputs("null", stdout);
}

void json_printf(struct json *json, const char *key, const char *format, ...)
{
	va_list args;

	begin_value(json, key);
	va_start(args, format);
	vprintf(format, args);
	va_end(args);
}

void json_break_line(struct json *json)
{
	fputs(json->comma_due ? ",\n" : "\n", stdout);
	json->comma_due = false;
}
