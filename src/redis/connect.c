/* A resolver has no deadline, and a lease has one. So each look-up is a thread of its own, which
 * writes the answer of getaddrinfo into a pipe. It is left to itself when its answer
 * is not wanted any more. */
#include "redis/connect.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>
#include <unistd.h>

/* The peer is gone after three probes without an answer, or TCP_USER_TIMEOUT if that is set. */
#define KEEPALIVE_IDLE_S 10
#define KEEPALIVE_INTERVAL_S 5
#define KEEPALIVE_PROBES 3

static void found_addresses(struct addresses *addresses, const struct addrinfo *found)
{
	*addresses = (struct addresses){0};
	for (; found && addresses->count < CONNECT_ADDRESSES; found = found->ai_next) {
		if (found->ai_addrlen > sizeof(addresses->list[0].address))
			continue; /* of no IP */
		memcpy(&addresses->list[addresses->count].address, found->ai_addr,
		       found->ai_addrlen);
		addresses->list[addresses->count++].length = found->ai_addrlen;
	}
}

/* An IP address, as people write it. Returns false if it is none, or there is no room. */
static bool add(struct addresses *addresses, const char *host, uint16_t port)
{
	const struct addrinfo hints = {.ai_socktype = SOCK_STREAM,
				       .ai_flags = AI_NUMERICHOST | AI_NUMERICSERV};
	struct addrinfo *found;
	struct addresses one;
	char service[8];

	snprintf(service, sizeof(service), "%u", port);
	if (addresses->count == CONNECT_ADDRESSES || getaddrinfo(host, service, &hints, &found))
		return false;
	found_addresses(&one, found);
	freeaddrinfo(found);
	addresses->list[addresses->count++] = one.list[0];
	return true;
}

/* localhost is this host, whatever a resolver thinks (RFC 6761). */
bool connect_known(struct addresses *addresses, const struct endpoint *endpoint)
{
	*addresses = (struct addresses){0};
	if (strcmp(endpoint->host, "localhost") != 0)
		return add(addresses, endpoint->host, endpoint->port);
	add(addresses, "127.0.0.1", endpoint->port);
	add(addresses, "::1", endpoint->port);
	return true;
}

/* ---- Looking a name up ---- */

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
		found_addresses(&answer.addresses, found);
		freeaddrinfo(found);
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

	if (!question || pipe2(ends, O_CLOEXEC | O_NONBLOCK) < 0) {
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

	if (length < 0 && errno == EAGAIN)
		return 1;
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

/* ---- Sockets ---- */

static void set_option(int fd, int level, int option, int value)
{
	setsockopt(fd, level, option, &value, sizeof(value));
}

/* A peer may vanish without a word. The client itself notices that when it waits for a reply; but a
 * holder with a long lease may have nothing to ask for hours. */
static void set_options(int fd, int64_t timeout_ms)
{
	set_option(fd, IPPROTO_TCP, TCP_NODELAY, 1);
	set_option(fd, IPPROTO_TCP, TCP_USER_TIMEOUT,
		   timeout_ms < INT_MAX ? (int)timeout_ms : INT_MAX);
	set_option(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
	set_option(fd, IPPROTO_TCP, TCP_KEEPIDLE, KEEPALIVE_IDLE_S);
	set_option(fd, IPPROTO_TCP, TCP_KEEPINTVL, KEEPALIVE_INTERVAL_S);
	set_option(fd, IPPROTO_TCP, TCP_KEEPCNT, KEEPALIVE_PROBES);
}

int connect_next(struct addresses *addresses, int64_t timeout_ms)
{
	const struct sockaddr *address = &addresses->list[addresses->next].address.any;
	socklen_t length = addresses->list[addresses->next++].length;
	int fd = socket(address->sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return -1;
	set_options(fd, timeout_ms);
	if (connect(fd, address, length) == 0 || errno == EINPROGRESS)
		return fd;
	close(fd); /* and leaves errno as it is */
	return -1;
}

int connect_unix(const char *path)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd;

	if (strlen(path) >= sizeof(address.sun_path)) {
		errno = ENAMETOOLONG;
		return -1;
	}
	strcpy(address.sun_path, path);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof(address)) == 0)
		return fd;
	close(fd);
	return -1;
}
