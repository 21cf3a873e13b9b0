/* Counts characters, not columns: a message is no table. */
#include "base/shorten.h"

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

/* The beginning of the last `count` characters. */
static const char *tail_of(const char *text, size_t count)
{
	const char *tail = text;

	for (size_t i = length_of(text, count); text[i] != '\0'; i += length_of(text + i, 1))
		tail += length_of(tail, 1);
	return tail;
}

const char *shorten(char shown[SHORT_MAX_BYTES], const char *text)
{
	const size_t whole = length_of(text, SHORT_CHARACTERS);
	const size_t kept = text[whole] ? length_of(text, SHORT_CHARACTERS - strlen(dots)) : whole;

	memcpy(shown, text, kept);
	strcpy(shown + kept, text[whole] ? dots : "");
	return shown;
}

const char *shorten_middle(char *shown, const char *text, size_t characters)
{
	const size_t head = (characters - strlen(dots)) / 2;
	const size_t head_length = length_of(text, head);

	if (text[length_of(text, characters)] == '\0')
		return strcpy(shown, text);
	memcpy(shown, text, head_length);
	strcpy(shown + head_length, dots);
	strcat(shown + head_length, tail_of(text, characters - strlen(dots) - head));
	return shown;
}

bool shorten_end(char *text, size_t characters)
{
	const bool is_longer = text[length_of(text, characters)] != '\0';

	if (is_longer)
		strcpy(text + length_of(text, characters - strlen(dots)), dots);
	return is_longer;
}
