/* Cuts names, commands and reasons that other people wrote, so that a message stays short. */
#pragma once

#define SHORT_CHARACTERS 40
#define SHORT_MAX_BYTES (4 * SHORT_CHARACTERS + 1)

/* Copies text into shown. Text of more than 40 characters ends in "..." there, which counts among
 * the 40. Never cuts a character of UTF-8 in two. Returns shown. */
const char *shorten(char shown[SHORT_MAX_BYTES], const char *text);
