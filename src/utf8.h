#ifndef FAIRLOCK_UTF8_H
#define FAIRLOCK_UTF8_H

#include <stddef.h>
#include <stdint.h>

/* Decodes one character of strict UTF-8 (no overlong forms, no surrogates,
 * nothing above U+10FFFF). Returns its length, or 0 when there is none. Never
 * reads behind a terminating NUL. */
size_t utf8_decode(const char *text, uint32_t *code);

#endif
