/* Texts as people and other programs write them: UTF-8, numbers, their order, words for a shell,
 * and cut so that a message stays short. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- UTF-8, one character at a time ---- */

/* Decodes one character of strict UTF-8 (no overlong forms, no surrogates, nothing above U+10FFFF).
 * Returns its length, or 0 when there is none. Never reads behind a terminating NUL. */
size_t utf8_decode(const char *text, uint32_t *code);

/* Whether it is one of the control characters of ASCII or of Latin-1. */
bool utf8_is_control(uint32_t code);

/* Whether it is a control character, ends a line, or turns the direction of writing: in other
 * people's text that is a trap. */
bool utf8_is_unprintable(uint32_t code);

/* Whether a text that is shown must not have it: it is one of these, or it cannot be seen. */
bool utf8_is_harmful(uint32_t code);

/* Removes the beginning of a character that a buffer had no room for from the end of a text. */
void utf8_cut_end(char *text);

/* U+FFFD, in the place of a byte that cannot be decoded. */
#define UTF8_REPLACEMENT "\xef\xbf\xbd"

/* Makes foreign text (a name, a server's reply) safe to print: each harmful character, and each
 * byte that is not UTF-8, becomes '?', so that it cannot break or turn the line or drive the
 * terminal. */
void tame(char *text);

/* How many characters a text has. A byte that is not UTF-8 counts as one. */
size_t count_characters(const char *text);

/* ---- Names, commands and reasons of other people, cut ---- */

#define SHORT_CHARACTERS 40
#define SHORT_MAX_BYTES (4 * SHORT_CHARACTERS + 1)

/* The room of a message behind "fairlock: ": the line stays under 160 characters. */
#define MESSAGE_CHARACTERS 149

/* Copies text into shown. Text of more than 40 characters ends in "..." there, which counts among
 * the 40. Never cuts a character of UTF-8 in two. Returns shown. */
const char *shorten(char shown[SHORT_MAX_BYTES], const char *text);

/* The same for another number of characters, each of which may take four bytes, and a zero byte.
 * shown may be the text. */
const char *shorten_to(char *shown, size_t characters, const char *text);

/* The same with the dots in the middle. For paths and addresses, where both ends help. */
const char *shorten_middle(char *shown, size_t characters, const char *text);

/* How many characters of a message are left beside words that are given as to printf(3). */
__attribute__((format(printf, 1, 2))) size_t message_room(const char *words, ...);

/* Copies the letters, digits and - with which text begins, at most 40; "..." stands for the rest,
 * which may have a password: "--url:redis://..." becomes "--url...". Returns shown. */
const char *shorten_word(char shown[SHORT_MAX_BYTES], const char *text);

/* ---- Numbers, order, quotes ---- */

#define DIGITS "0123456789"

/* Parses a whole decimal number of so many digits; without any it is 0. Returns 0, or -1 when there
 * is something else in it or the number does not fit. */
int number_parse(const char *text, size_t length, int64_t *number);

/* Compares bytes, but numbers by their value, except those that begin with 0: job2 before job10.
 * Returns less than 0, 0 or more, like strcmp(3). */
int natural_order(const char *a, const char *b);

/* Writes a NAME so that a user can paste it into a shell behind the options: with quotes if it
 * needs some, and behind "-- " if it begins with a dash. If there is no room, quoted is "NAME". */
const char *shell_name(char *quoted, size_t size, const char *name);
