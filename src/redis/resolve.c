/* The thread writes the answer of getaddrinfo, or of getent, into a pipe. */
#include "redis/resolve.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/getent.h"

/* The thread owns it: the thread may outlive the connection that wanted the name. */
struct query {
	struct endpoint endpoint;
	int answer_fd;
};

struct answer {
	int code; /* of getaddrinfo */
	int saved_errno;
	struct addresses addresses;
};

/* Prints a line for each address and type of socket: "10.0.0.7 STREAM db.example". */
static void ask_getent(const struct query *question, struct addresses *addresses)
{
	const struct endpoint *endpoint = &question->endpoint;
	char text[4096], address[64], type[16];

	getent("ahosts", endpoint->host, NEVER_MS, question->answer_fd, text, sizeof(text));
	for (char *line = text, *end; (end = strchr(line, '\n')); line = end + 1) {
		*end = '\0';
		if (sscanf(line, "%63s %15s", address, type) == 2 && strcmp(type, "STREAM") == 0)
			connect_add(addresses, address, endpoint->port);
	}
}

static void *look_up(void *argument)
{
	const struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_ADDRCONFIG};
	struct query *question = argument;
	struct answer answer = {0};
	struct addrinfo *found;
	char port[8];

	snprintf(port, sizeof(port), "%u", question->endpoint.port);
	answer.code = getaddrinfo(question->endpoint.host, port, &hints, &found);
	answer.saved_errno = errno;
	if (answer.code == 0) {
		connect_found(&answer.addresses, found);
		freeaddrinfo(found);
	} else {
		ask_getent(question, &answer.addresses);
	}
	/* fails if the look-up was dropped */
	(void)!write(question->answer_fd, &answer, sizeof(answer));
	close(question->answer_fd);
	free(question);
	return NULL;
}

/* No signal is for the thread: the process takes its signals elsewhere. */
static int start_thread(struct query *question)
{
	pthread_attr_t attributes;
	pthread_t thread;
	sigset_t all, before;
	int code;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	pthread_attr_init(&attributes);
	pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
	code = pthread_create(&thread, &attributes, look_up, question);
	pthread_attr_destroy(&attributes);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return code;
}

int resolve_start(const struct endpoint *endpoint)
{
	struct query *question = malloc(sizeof(*question));
	int ends[2];

	if (!question || pipe2(ends, O_CLOEXEC) < 0) {
		free(question);
		return -1;
	}
	*question = (struct query){*endpoint, ends[1]};
	errno = start_thread(question);
	if (errno == 0)
		return ends[0];
	close(ends[0]);
	close(ends[1]);
	free(question);
	return -1;
}

int resolve_finish(int fd, struct addresses *addresses, const char **cause)
{
	struct answer answer;
	const ssize_t length = read(fd, &answer, sizeof(answer));

	close(fd);
	if (length != sizeof(answer)) {
		*cause = "the look-up of its name failed";
		return -1;
	}
	*addresses = answer.addresses;
	*cause = answer.code == 0            ? "its name has no address"
		 : answer.code == EAI_SYSTEM ? strerror(answer.saved_errno)
		 : answer.code == EAI_AGAIN
			 ? "temporary failure in name resolution" /* musl: "Try again" */
			 : gai_strerror(answer.code);
	return addresses->count > 0 ? 0 : -1;
}
