/* Counts characters, not columns: a message is no table. */
#include "base/shorten.h"

#include <stddef.h>
#include <string.h>

#include "base/utf8.h"

static const char dots[] = "...";

/* The length in bytes of at most `count` characters. A byte that is not UTF-8 counts as one. */
static size_t length_of(const char *text, size_t count)
{
	const char *end = text;

	for (; *end && count > 0; count--) {
		uint32_t code;
		const size_t length = utf8_decode(end, &code);

		end += length > 0 ? length : 1;
	}
	return (size_t)(end - text);
}

const char *shorten(char shown[SHORT_MAX_BYTES], const char *text)
{
	const size_t whole = length_of(text, SHORT_CHARACTERS);
	const size_t kept = text[whole] ? length_of(text, SHORT_CHARACTERS - strlen(dots)) : whole;

	memcpy(shown, text, kept);
	strcpy(shown + kept, text[whole] ? dots : "");
	return shown;
}

const char *shorten_path(char shown[SHORT_PATH_BYTES], const char *path)
{
	const size_t length = strlen(path);
	const char *end = path;

	if (length < SHORT_PATH_BYTES)
		return strcpy(shown, path);
	end += length - (SHORT_PATH_BYTES - 1 - strlen(dots));
	while (((unsigned char)*end & 0xc0) == 0x80) /* in the middle of a character of UTF-8 */
		end++;
	strcpy(shown, dots);
	return strcat(shown, end);
}
