/* Asks getent(1) for what this program's C library does not know: one for static programs knows no
 * users but those of /etc/passwd. */
#pragma once

#include <sys/types.h>

/* A user's home folder, from the password database or from getent, which may take seconds. NULL if
 * neither knows the user. The answer for the same user as last time is kept. */
const char *getent_home(uid_t uid);
