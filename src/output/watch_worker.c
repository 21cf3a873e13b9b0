/* A socket pair carries the number of columns one way, and the text or the error the other. */
#include "output/watch_worker.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define PIECE_BYTES 65536

/* Stands before the text. Both ends are the same program. */
struct answer {
	struct error err;
	bool has_text;
	size_t length;
};

/* ---- The worker ---- */

static void send_all(int fd, const void *from, size_t length)
{
	const char *bytes = from;

	while (length > 0) {
		const ssize_t sent = send(fd, bytes, length, MSG_NOSIGNAL);

		if (sent < 0 && errno != EINTR)
			_exit(0);
		if (sent > 0) {
			bytes += sent;
			length -= (size_t)sent;
		}
	}
}

static _Noreturn void serve(int fd, watch_source *source, void *data)
{
	int columns;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	while (read(fd, &columns, sizeof(columns)) == sizeof(columns)) {
		struct answer answer = {.length = 0};
		char *text = source(data, columns, &answer.err);

		answer.has_text = text != NULL;
		answer.length = text ? strlen(text) : 0;
		send_all(fd, &answer, sizeof(answer));
		send_all(fd, text, answer.length);
		free(text);
	}
	_exit(0); /* the process that started us has gone */
}

/* ---- The process that draws ---- */

int watch_worker_start(struct watch_worker *worker, watch_source *source, void *data,
		       struct error *err)
{
	int ends[2];

	*worker = (struct watch_worker){.fd = -1};
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0)
		return fail(err, STATUS_OS, "cannot make a socket pair: %s", strerror(errno));
	worker->pid = fork();
	if (worker->pid == 0) {
		close(ends[0]);
		serve(ends[1], source, data);
	}
	close(ends[1]);
	worker->fd = ends[0];
	return worker->pid < 0 ? fail(err, STATUS_OS, "cannot make a process: %s", strerror(errno))
			       : 0;
}

void watch_worker_ask(struct watch_worker *worker, int columns)
{
	if (!worker->asked &&
	    send(worker->fd, &columns, sizeof(columns), MSG_NOSIGNAL) == sizeof(columns))
		worker->asked = true;
}

/* Returns WATCH_WORKER_TEXT when the whole answer is here. */
static enum watch_worker_result receive(struct watch_worker *worker, struct answer *answer)
{
	for (;;) {
		char *room = realloc(worker->bytes, worker->length + PIECE_BYTES);
		ssize_t length;

		if (!room)
			return WATCH_WORKER_GONE;
		worker->bytes = room;
		length = recv(worker->fd, room + worker->length, PIECE_BYTES, MSG_DONTWAIT);
		if (length == 0 || (length < 0 && errno != EAGAIN && errno != EINTR))
			return WATCH_WORKER_GONE;
		if (length < 0)
			return WATCH_WORKER_NOT_YET;
		worker->length += (size_t)length;
		if (worker->length < sizeof(*answer))
			continue;
		memcpy(answer, worker->bytes, sizeof(*answer));
		if (worker->length == sizeof(*answer) + answer->length)
			return WATCH_WORKER_TEXT;
	}
}

enum watch_worker_result watch_worker_take(struct watch_worker *worker, char **text,
					   struct error *err)
{
	struct answer answer;
	const enum watch_worker_result result = receive(worker, &answer);

	if (result != WATCH_WORKER_TEXT)
		return result;
	worker->asked = false;
	worker->length = 0;
	*err = answer.err;
	if (!answer.has_text)
		return WATCH_WORKER_FAILED;
	*text = strndup(worker->bytes + sizeof(answer), answer.length);
	return *text ? WATCH_WORKER_TEXT : WATCH_WORKER_GONE;
}

void watch_worker_end(struct watch_worker *worker)
{
	if (worker->pid > 0) {
		kill(worker->pid, SIGKILL);
		while (waitpid(worker->pid, NULL, 0) < 0 && errno == EINTR)
			;
	}
	if (worker->fd >= 0)
		close(worker->fd);
	free(worker->bytes);
	*worker = (struct watch_worker){.fd = -1};
}
