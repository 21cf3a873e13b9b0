/* libsmartcols escapes only ASCII's control characters, and writes other bytes as they come. */
#include "output/table_text.h"

#include <libsmartcols/libsmartcols.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/utf8.h"

char *table_clean(const char *text, bool is_json, bool is_raw)
{
	if (is_raw)
		return strdup(text);

	char *copy = malloc(strlen(text) * (sizeof(UTF8_REPLACEMENT) - 1) + 1);
	char *end = copy;

	while (copy && *text) {
		uint32_t code = 0;
		const size_t length = utf8_decode(text, &code);

		if (length == 0)
			end = stpcpy(end, UTF8_REPLACEMENT);
		else if (!is_json && code >= 0x7f && utf8_is_harmful(code))
			*end++ = '?';
		else
			end = mempcpy(end, text, length);
		text += length > 0 ? length : 1;
	}
	if (copy)
		*end = '\0';
	return copy;
}

char *table_json_list(const char *text)
{
	char *clean = table_clean(text, true, false);
	char *list = clean ? malloc(6 * strlen(clean) + sizeof("[\"\"]")) : NULL, *end = list;

	if (list && text[strspn(text, "0123456789")] == '\0') {
		strcpy(list, text);
	} else if (list) {
		end = stpcpy(end, "[\"");
		for (const char *at = clean; *at; at++)
			if (*at == ',')
				end = stpcpy(end, "\",\"");
			else if ((unsigned char)*at < ' ')
				end += sprintf(end, "\\u%04x", (unsigned)*at);
			else if (*at == '"' || *at == '\\')
				end += sprintf(end, "\\%c", *at);
			else
				*end++ = *at;
		strcpy(end, "\"]");
	}
	free(clean);
	return list;
}

int table_print_lines(struct libscols_table *lines)
{
	char *text = NULL;

	if (!scols_table_is_json(lines))
		return scols_print_table(lines) < 0 ? -1 : 0;
	if (scols_print_table_to_string(lines, &text) < 0)
		return -1;
	json_print_made(text);
	/* some versions of the library have ended the last line */
	if (*text && text[strlen(text) - 1] != '\n')
		putchar('\n');
	free(text);
	return 0;
}
