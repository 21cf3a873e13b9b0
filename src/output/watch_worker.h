/* The process that asks the server for `--watch`, so that the one that draws never waits: a server
 * may be silent for as long as it likes, and so may a name server. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/error.h"

/* Returns a text for a screen of so many columns, which the caller frees, with what is missing in
 * it in *err (STATUS_OK: nothing); or NULL with *err. */
typedef char *watch_source(void *data, int columns, struct error *err);

struct watch_worker {
	pid_t pid;
	int fd;     /* readable when there is something to take */
	bool asked; /* a text is due */
	char *bytes;
	size_t length;
};

/* The process ends with the one that started it. Returns 0, or -1 with STATUS_OS. */
int watch_worker_start(struct watch_worker *worker, watch_source *source, void *data,
		       struct error *err);

/* Asks for a text, unless one is due. */
void watch_worker_ask(struct watch_worker *worker, int columns);

enum watch_worker_result {
	WATCH_WORKER_NOT_YET,
	WATCH_WORKER_TEXT,   /* *text is the caller's; *err is the source's */
	WATCH_WORKER_FAILED, /* *err is the source's */
	WATCH_WORKER_GONE,
};

/* Takes the answer if it has come. Never waits. */
enum watch_worker_result watch_worker_take(struct watch_worker *worker, char **text,
					   struct error *err);

/* Ends the process, and frees its answer. */
void watch_worker_end(struct watch_worker *worker);
