#ifndef FAIRLOCK_ABOUT_H
#define FAIRLOCK_ABOUT_H

#include "lock/owner.h"

/* The parts of what owner_describe wrote about a process; "" for what is not
 * known. They point into text. */
struct about {
	char text[BY_MAX_BYTES];
	const char *host;
	const char *pid;
	const char *user;
	const char *command;
};

void about_read(struct about *about, const char *by);

#endif
