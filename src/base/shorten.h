/* Cuts names, commands, reasons and paths that other people wrote, so that a message stays short.
 */
#pragma once

#define SHORT_CHARACTERS 40
#define SHORT_MAX_BYTES (4 * SHORT_CHARACTERS + 1)

/* Copies text into shown. Text of more than 40 characters ends in "..." there, which counts among
 * the 40. Never cuts a character of UTF-8 in two. Returns shown. */
const char *shorten(char shown[SHORT_MAX_BYTES], const char *text);

#define SHORT_PATH_BYTES 61

/* Copies a path into shown. Of one that is longer than 60 bytes the end is kept, behind "...".
 * Returns shown. */
const char *shorten_path(char shown[SHORT_PATH_BYTES], const char *path);
