/* Escapes no more than JSON demands, and control characters of Latin-1. */
#include "base/json.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/utf8.h"

void json_print_string(const char *text)
{
	putchar('"');
	while (*text) {
		uint32_t code = 0;
		size_t length = utf8_decode(text, &code);

		if (length == 0)
			fputs(UTF8_REPLACEMENT, stdout);
		else if (utf8_is_control(code))
			printf("\\u%04" PRIx32, code);
		else if (code == '"' || code == '\\')
			printf("\\%c", (int)code);
		else
			fwrite(text, 1, length, stdout);
		text += length > 0 ? length : 1;
	}
	putchar('"');
}
