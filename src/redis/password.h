/* Passwords of files, and what is wrong with a secret that somebody pasted. */
#pragma once

#include <stddef.h>

#define PASSWORD_MAX_BYTES 4096

/* Reads the first line of a file, without a byte order mark or a carriage return. fd: as
 * read_file_open gives it. Returns NULL, or why there is no password. */
const char *password_read(int fd, char text[PASSWORD_MAX_BYTES + 2]);

/* The first password of a URL in a command line. Without a user it may be that what stands before
 * the @ is the password, so that counts as one. Returns where it begins, with its length; or NULL.
 */
const char *password_find(const char *text, size_t *length);

/* Says what somebody has pasted by mistake with a URL or a password, such as "ends with a line
 * break"; NULL if nothing looks like that. */
const char *password_fault(const char *text);
