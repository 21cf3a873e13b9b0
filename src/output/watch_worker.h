#ifndef FAIRLOCK_WATCH_WORKER_H
#define FAIRLOCK_WATCH_WORKER_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/error.h"

/* A process that looks, so that the one that draws never waits: a server may be silent for as long
 * as it likes, and so may whoever knows its address. It ends with the process that started it. */
struct looker {
	pid_t pid;
	int fd;     /* readable when there is something to take */
	bool asked; /* an answer is due */
	char *bytes;
	size_t length;
};

/* look returns a text for a screen so wide, which is freed, or NULL with *err. */
int looker_start(struct looker *looker, char *(*look)(void *data, int columns, struct error *err),
		 void *data, struct error *err);

/* Asks for a look, unless one is under way. */
void looker_ask(struct looker *looker, int columns);

enum looker_result {
	LOOKER_NOT_YET,
	LOOKER_SAW, /* *text is the caller's */
	LOOKER_FAILED,
	LOOKER_GONE,
};

/* Takes what has come, without waiting. */
enum looker_result looker_take(struct looker *looker, char **text, struct error *err);

void looker_end(struct looker *looker);

#endif
