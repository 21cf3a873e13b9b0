/* UTF-8, one character at a time. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Decodes one character of strict UTF-8 (no overlong forms, no surrogates, nothing above U+10FFFF).
 * Returns its length, or 0 when there is none. Never reads behind a terminating NUL. */
size_t utf8_decode(const char *text, uint32_t *code);

/* Whether it is one of the control characters of ASCII or of Latin-1. */
bool utf8_is_control(uint32_t code);

/* Whether it turns the direction of writing: in other people's text it is a trap. */
bool utf8_is_bidi(uint32_t code);

/* Whether it is a control character, turns the direction of writing, or ends a line. */
bool utf8_is_unprintable(uint32_t code);

/* Whether a text that is shown must not have it: it is one of these, or it cannot be seen. */
bool utf8_is_harmful(uint32_t code);

/* Removes the beginning of a character that a buffer had no room for from the end of a text. */
void utf8_cut_end(char *text);

/* U+FFFD, in the place of a byte that cannot be decoded. */
#define UTF8_REPLACEMENT "\xef\xbf\xbd"
