/* mbrtowc(3) would depend on the locale, strtoll(3) takes blanks and signs, and strverscmp(3) of
 * musl 1.2.3 takes every number for more than any word. */
#include "base/text.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"

static const char dots[] = "...";

/* ---- UTF-8 ---- */

size_t utf8_decode(const char *text, uint32_t *code)
{
	static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
	const unsigned char *bytes = (const unsigned char *)text;
	size_t length;

	if (bytes[0] < 0x80) {
		*code = bytes[0];
		return 1;
	}
	if (bytes[0] < 0xc0 || bytes[0] > 0xf7)
		return 0;
	length = bytes[0] < 0xe0 ? 2 : bytes[0] < 0xf0 ? 3 : 4;
	*code = bytes[0] & (0x7fu >> length);
	for (size_t i = 1; i < length; i++) {
		if ((bytes[i] & 0xc0) != 0x80)
			return 0;
		*code = *code << 6 | (bytes[i] & 0x3fu);
	}
	if (*code < least[length] || *code > 0x10ffff || (*code >= 0xd800 && *code <= 0xdfff))
		return 0;
	return length;
}

bool utf8_is_control(uint32_t code)
{
	return code < 0x20 || (code >= 0x7f && code < 0xa0);
}

bool utf8_is_unprintable(uint32_t code)
{
	return utf8_is_control(code) || code == 0x61c || code == 0x200e || code == 0x200f ||
	       (code >= 0x2028 && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069);
}

/* The rest cannot be seen: two names that differ in one of these look the same. */
bool utf8_is_harmful(uint32_t code)
{
	return utf8_is_unprintable(code) || code == 0xad || code == 0x180e ||
	       (code >= 0x200b && code <= 0x200d) || (code >= 0x2060 && code <= 0x206f) ||
	       code == 0xfeff || (code >= 0xfff9 && code <= 0xfffb) ||
	       (code >= 0xe0000 && code <= 0xe007f);
}

void utf8_cut_end(char *text)
{
	size_t length = strlen(text), start = length;
	uint32_t code;

	while (start > 0 && length - start < 3 && ((unsigned char)text[start - 1] & 0xc0) == 0x80)
		start--;
	if (start > 0 && (unsigned char)text[start - 1] >= 0xc0 &&
	    utf8_decode(text + start - 1, &code) == 0)
		text[start - 1] = '\0';
}

void tame(char *text)
{
	char *end = text;

	while (*text) {
		uint32_t code = 0;
		const size_t length = utf8_decode(text, &code);

		if (length == 0 || utf8_is_harmful(code)) {
			*end++ = '?';
		} else {
			memmove(end, text, length);
			end += length;
		}
		text += length > 0 ? length : 1;
	}
	*end = '\0';
}

/* The length in bytes of at most `count` characters. */
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

size_t count_characters(const char *text)
{
	size_t count = 0;

	for (; *text; count++)
		text += length_of(text, 1);
	return count;
}

/* ---- Shorter texts. They count characters, not columns: a message is no table. ---- */

const char *shorten_to(char *shown, size_t characters, const char *text)
{
	const size_t whole = length_of(text, characters);
	const size_t mark = strlen(dots) < characters ? strlen(dots) : characters;
	const bool is_longer = text[whole] != '\0';
	const size_t kept = is_longer ? length_of(text, characters - mark) : whole;

	memmove(shown, text, kept);
	snprintf(shown + kept, mark + 1, "%s", is_longer ? dots : "");
	return shown;
}

const char *shorten(char shown[SHORT_MAX_BYTES], const char *text)
{
	return shorten_to(shown, SHORT_CHARACTERS, text);
}

const char *shorten_middle(char *shown, size_t characters, const char *text)
{
	const size_t count = count_characters(text), kept = characters - strlen(dots);
	const size_t head = length_of(text, kept / 2);

	if (count <= characters)
		return strcpy(shown, text);
	memcpy(shown, text, head);
	strcpy(shown + head, dots);
	strcat(shown + head, text + length_of(text, count - (kept - kept / 2)));
	return shown;
}

size_t message_room(const char *words, ...)
{
	char text[4 * MESSAGE_CHARACTERS + 1];
	size_t taken;
	va_list arguments;

	va_start(arguments, words);
	vsnprintf(text, sizeof(text), words, arguments);
	va_end(arguments);
	taken = count_characters(text);
	return taken < MESSAGE_CHARACTERS ? MESSAGE_CHARACTERS - taken : 0;
}

const char *shorten_word(char shown[SHORT_MAX_BYTES], const char *text)
{
	const size_t length = strspn(text, LETTERS DIGITS "-");
	char word[SHORT_MAX_BYTES];

	if (text[length] == '\0')
		return shorten(shown, text);
	snprintf(word, sizeof(word), "%.*s%s", (int)length, text, dots);
	return shorten(shown, word);
}

/* ---- Numbers, order, quotes ---- */

int number_parse(const char *text, size_t length, int64_t *number)
{
	*number = 0;
	for (size_t i = 0; i < length; i++) {
		if (text[i] < '0' || text[i] > '9' || __builtin_mul_overflow(*number, 10, number) ||
		    __builtin_add_overflow(*number, text[i] - '0', number))
			return -1;
	}
	return 0;
}

/* Of two numbers without zeros in front, the longer one is larger. */
int natural_order(const char *a, const char *b)
{
	size_t at = 0, number, a_digits, b_digits;

	while (a[at] && a[at] == b[at])
		at++;
	for (number = at; number > 0 && strchr(DIGITS, a[number - 1]); number--)
		;
	a_digits = strspn(a + number, DIGITS);
	b_digits = strspn(b + number, DIGITS);
	if (a_digits && b_digits && a_digits != b_digits && a[number] != '0' && b[number] != '0')
		return a_digits < b_digits ? -1 : 1;
	return (unsigned char)a[at] - (unsigned char)b[at];
}

const char *shell_name(char *quoted, size_t size, const char *name)
{
	static const char plain[] = LETTERS DIGITS "_./:@%+=-";
	const char *mark = *name && name[strspn(name, plain)] == '\0' ? "" : "'";
	size_t length = (size_t)snprintf(quoted, size, "%s%s", *name == '-' ? "-- " : "", mark);

	for (; *name && length + 6 < size; name++)
		length += (size_t)snprintf(quoted + length, size - length, "%.*s",
					   *name == '\'' ? 4 : 1, *name == '\'' ? "'\\''" : name);
	snprintf(quoted + length, size - length, "%s", mark);
	if (*name)
		snprintf(quoted, size, "NAME");
	return quoted;
}
