/* Endpoints, their names and sockets: looks a name up, connects to its addresses, or to a unix
 * socket, without waiting. */
#pragma once

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#define HOST_MAX_BYTES 256 /* no DNS name is longer */
#define CONNECT_ADDRESSES 16

/* A host, by name or address, and a TCP port; port 0: none. */
struct endpoint {
	char host[HOST_MAX_BYTES];
	uint16_t port;
};

/* The addresses of one endpoint, which are tried in turn. */
struct addresses {
	struct {
		union {
			struct sockaddr any;
			struct sockaddr_in v4;
			struct sockaddr_in6 v6;
		} address;
		socklen_t length;
	} list[CONNECT_ADDRESSES];
	int count;
	int next;
};

/* Fills in the addresses of an endpoint without a resolver: it is an IP address, or localhost.
 * Returns false when its name must be looked up. */
bool connect_known(struct addresses *addresses, const struct endpoint *endpoint);

/* Begins to look up an endpoint. Returns a close-on-exec descriptor that becomes readable when
 * there is an answer, or -1 with errno. Closing it drops the look-up. */
int resolve_start(const struct endpoint *endpoint);

/* Takes the answer, and closes the descriptor. Returns 0 with *addresses, or -1 with *cause; or 1
 * if it has not come. */
int resolve_finish(int fd, struct addresses *addresses, const char **cause);

/* Begins to connect to the next address. The connection will end if the peer acknowledges nothing
 * for timeout_ms after something was sent, or is silent for some 25 s. Returns a close-on-exec,
 * non-blocking socket, or -1 with errno. */
int connect_next(struct addresses *addresses, int64_t timeout_ms);

/* Connects to a unix socket, at once. Returns a socket as connect_next does. */
int connect_unix(const char *path);
