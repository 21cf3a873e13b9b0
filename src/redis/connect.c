/* Options of sockets, and no name service: getaddrinfo sees numbers only. */
#include "redis/connect.h"

#include <errno.h>
#include <limits.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>
#include <unistd.h>

/* The peer is gone after three probes without an answer, or TCP_USER_TIMEOUT if that is set. */
#define KEEPALIVE_IDLE_S 10
#define KEEPALIVE_INTERVAL_S 5
#define KEEPALIVE_PROBES 3

bool endpoint_set_port(struct endpoint *endpoint, const char *text)
{
	const size_t digits = strspn(text, "0123456789");
	const long port = strtol(text, NULL, 10);

	if (digits == 0 || text[digits] || port < 1 || port > UINT16_MAX)
		return false;
	endpoint->port = (uint16_t)port;
	return true;
}

static int close_failed(int fd)
{
	int saved = errno;

	close(fd);
	errno = saved;
	return -1;
}

void connect_found(struct addresses *addresses, const struct addrinfo *found)
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

bool connect_add(struct addresses *addresses, const char *host, uint16_t port)
{
	const struct addrinfo hints = {.ai_socktype = SOCK_STREAM,
				       .ai_flags = AI_NUMERICHOST | AI_NUMERICSERV};
	struct addrinfo *found;
	struct addresses one;
	char service[8];

	snprintf(service, sizeof(service), "%u", port);
	if (addresses->count == CONNECT_ADDRESSES || getaddrinfo(host, service, &hints, &found))
		return false;
	connect_found(&one, found);
	freeaddrinfo(found);
	addresses->list[addresses->count++] = one.list[0];
	return true;
}

/* localhost is this host, whatever a resolver thinks (RFC 6761). */
bool connect_known(struct addresses *addresses, const struct endpoint *endpoint)
{
	*addresses = (struct addresses){0};
	if (strcmp(endpoint->host, "localhost") != 0)
		return connect_add(addresses, endpoint->host, endpoint->port);
	connect_add(addresses, "127.0.0.1", endpoint->port);
	connect_add(addresses, "::1", endpoint->port);
	return true;
}

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
	if (connect(fd, address, length) < 0 && errno != EINPROGRESS)
		return close_failed(fd);
	return fd;
}

bool connect_has_more(const struct addresses *addresses)
{
	return addresses->next < addresses->count;
}

int connect_result(int fd)
{
	struct pollfd slot = {.fd = fd, .events = POLLOUT};
	socklen_t length = sizeof(int);
	int cause = 0;

	if (poll(&slot, 1, 0) == 0)
		return 1;
	if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &cause, &length) < 0)
		return -1;
	errno = cause;
	return cause ? -1 : 0;
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
	if (fd >= 0 && connect(fd, (struct sockaddr *)&address, sizeof(address)) < 0)
		return close_failed(fd);
	return fd;
}
