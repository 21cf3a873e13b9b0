/* The process that asks the server for `--watch`, so that keys never wait for it. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/error.h"

/* A process that looks, so that the one that draws never waits: a server may be silent for as long
 * as it likes, and so may whoever knows its address. It ends with the process that started it. */
struct watch_worker {
	pid_t pid;
	int fd;     /* readable when there is something to take */
	bool asked; /* an answer is due */
	char *bytes;
	size_t length;
};

/* look returns a text for a screen so wide, which is freed, or NULL with *err. */
int watch_worker_start(struct watch_worker *worker,
		       char *(*look)(void *data, int columns, struct error *err), void *data,
		       struct error *err);

/* Asks for a look, unless one is under way. */
void watch_worker_ask(struct watch_worker *worker, int columns);

enum watch_worker_result {
	WATCH_WORKER_NOT_YET,
	WATCH_WORKER_SAW, /* *text is the caller's */
	WATCH_WORKER_FAILED,
	WATCH_WORKER_GONE,
};

/* Takes what has come, without waiting. */
enum watch_worker_result watch_worker_take(struct watch_worker *worker, char **text,
					   struct error *err);

void watch_worker_end(struct watch_worker *worker);
