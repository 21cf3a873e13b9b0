/* mbrtowc(3) would depend on the locale. */
#include "base/utf8.h"

#include <string.h>

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

bool utf8_is_bidi(uint32_t code)
{
	return code == 0x61c || code == 0x200e || code == 0x200f ||
	       (code >= 0x202a && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069);
}

bool utf8_is_unprintable(uint32_t code)
{
	return utf8_is_control(code) || utf8_is_bidi(code) || code == 0x2028 || code == 0x2029;
}

/* Two names that differ in one of these look the same. */
static bool is_invisible(uint32_t code)
{
	return code == 0xad || code == 0x180e || (code >= 0x200b && code <= 0x200d) ||
	       (code >= 0x2060 && code <= 0x206f) || code == 0xfeff ||
	       (code >= 0xfff9 && code <= 0xfffb) || (code >= 0xe0000 && code <= 0xe007f);
}

bool utf8_is_harmful(uint32_t code)
{
	return utf8_is_unprintable(code) || is_invisible(code);
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
