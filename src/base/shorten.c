/* Counts characters, not columns: a message is no table. */
#include "base/shorten.h"

#include <stdio.h>
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

size_t count_characters(const char *text)
{
	size_t count = 0;

	for (; *text; count++)
		text += length_of(text, 1);
	return count;
}

const char *shorten_to(char *shown, size_t characters, const char *text)
{
	const size_t whole = length_of(text, characters);
	const size_t mark = strlen(dots) < characters ? strlen(dots) : characters;
	const size_t kept = text[whole] ? length_of(text, characters - mark) : whole;

	memcpy(shown, text, kept);
	snprintf(shown + kept, mark + 1, "%s", text[whole] ? dots : "");
	return shown;
}

const char *shorten(char shown[SHORT_MAX_BYTES], const char *text)
{
	return shorten_to(shown, SHORT_CHARACTERS, text);
}

const char *shorten_word(char shown[SHORT_MAX_BYTES], const char *text)
{
	const size_t length = strspn(text, "abcdefghijklmnopqrstuvwxyz"
					   "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-");
	const int kept = (int)(length < SHORT_CHARACTERS ? length : SHORT_CHARACTERS);

	if (text[length] == '\0')
		return shorten(shown, text);
	snprintf(shown, SHORT_MAX_BYTES, "%.*s%s", kept, text, dots);
	shorten_end(shown, SHORT_CHARACTERS);
	return shown;
}

const char *shorten_middle(char *shown, size_t characters, const char *text)
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
