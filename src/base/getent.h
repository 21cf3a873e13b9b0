/* Asks getent(1) for what this program's C library does not know: one for static programs knows no
 * users but those of /etc/passwd, and no hosts but those of /etc/hosts and DNS. */
#pragma once

#include <stdint.h>
#include <sys/types.h>

/* Runs "getent DATABASE KEY" until it ends, or until_ms, or until the other end of the pipe
 * `dropped` (-1: none) is closed; then it is killed. Fills text with what it has printed, as far as
 * that fits: nothing if there is no getent. */
void getent(const char *database, const char *key, int64_t until_ms, int dropped, char *text,
	    size_t size);

/* A user's home folder, from the password database or from getent, which may take seconds. NULL if
 * neither knows the user. The answer for the same user as last time is kept. */
const char *getent_home(uid_t uid);
