/* Cuts names, commands and reasons that other people wrote, so that a message stays short. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define SHORT_CHARACTERS 40
#define SHORT_MAX_BYTES (4 * SHORT_CHARACTERS + 1)

/* The room of a message behind "fairlock: ": the line stays under 160 characters. */
#define MESSAGE_CHARACTERS 149

/* Copies text into shown. Text of more than 40 characters ends in "..." there, which counts among
 * the 40. Never cuts a character of UTF-8 in two. Returns shown. */
const char *shorten(char shown[SHORT_MAX_BYTES], const char *text);

/* The same for another number of characters, each of which may take four bytes, and a zero byte. */
const char *shorten_to(char *shown, size_t characters, const char *text);

/* Copies the letters, digits and - with which text begins, at most 40; "..." stands for the rest,
 * which may have a password: "--url:redis://..." becomes "--url...". Returns shown. */
const char *shorten_word(char shown[SHORT_MAX_BYTES], const char *text);

/* How many characters a text has. A byte that is not UTF-8 counts as one. */
size_t count_characters(const char *text);

/* The same as shorten_to for at most `characters`, with the dots in the middle: shown has 4 *
 * characters + 1 bytes. For paths and addresses, where both ends help. */
const char *shorten_middle(char *shown, size_t characters, const char *text);

/* Cuts text where it is, to at most `characters`, the three dots included. Returns whether it was
 * longer. */
bool shorten_end(char *text, size_t characters);
