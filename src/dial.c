#include "dial.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/un.h>
#include <unistd.h>

#include "server.h"

static int close_failed(int fd)
{
	int saved = errno;

	close(fd);
	errno = saved;
	return -1;
}

static void add(struct dial *dial, const struct addrinfo *found)
{
	for (; found && dial->count < DIAL_ADDRESSES; found = found->ai_next) {
		memcpy(&dial->list[dial->count].address, found->ai_addr, found->ai_addrlen);
		dial->list[dial->count++].length = found->ai_addrlen;
	}
}

int dial_resolve(struct dial *dial, const struct server *server, const char **cause)
{
	const struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_ADDRCONFIG};
	char port[8];

	*cause = "it has no address";
	for (size_t i = 0; i < server->seed_count; i++) {
		struct addrinfo *found;

		snprintf(port, sizeof(port), "%u", server->seeds[i].port);
		int code = getaddrinfo(server->seeds[i].host, port, &hints, &found);

		if (code) {
			*cause = gai_strerror(code);
			continue;
		}
		add(dial, found);
		freeaddrinfo(found);
	}
	return dial->count > 0 ? 0 : -1;
}

int dial_next(struct dial *dial)
{
	const int on = 1;

	if (dial->next == dial->count)
		dial->next = 0;
	const struct sockaddr *address = (const struct sockaddr *)&dial->list[dial->next].address;
	socklen_t length = dial->list[dial->next++].length;
	int fd = socket(address->sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return -1;
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
	if (connect(fd, address, length) < 0 && errno != EINPROGRESS)
		return close_failed(fd);
	return fd;
}

bool dial_has_more(const struct dial *dial)
{
	return dial->next < dial->count;
}

int dial_result(int fd)
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

int dial_unix(const char *path)
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
