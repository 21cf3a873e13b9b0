/* Endpoints and sockets: connects to the addresses of an endpoint, or to a unix socket. */
#pragma once

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

struct addrinfo;

#define HOST_MAX_BYTES 256 /* no DNS name is longer */
#define CONNECT_ADDRESSES 16

/* A host, by name or address, and a TCP port; port 0: none. */
struct endpoint {
	char host[HOST_MAX_BYTES];
	uint16_t port;
};

/* Sets the port from a text of digits. Returns false, and changes nothing, if that is no port. */
bool endpoint_set_port(struct endpoint *endpoint, const char *text);

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

/* Adds an IP address, as people write it. Returns false if it is none, or there is no room. */
bool connect_add(struct addresses *addresses, const char *host, uint16_t port);

/* Fills in what a resolver has found. */
void connect_found(struct addresses *addresses, const struct addrinfo *found);

/* Begins to connect to the next address. The connection will end if the peer acknowledges nothing
 * for timeout_ms after something was sent, or is silent for some 25 s. Returns a close-on-exec,
 * non-blocking socket, for connect_result, or -1 with errno. */
int connect_next(struct addresses *addresses, int64_t timeout_ms);

/* Whether there is an address left. */
bool connect_has_more(const struct addresses *addresses);

/* Returns 0: the socket is connected; 1: not yet; -1: it failed, with errno. */
int connect_result(int fd);

/* Connects to a unix socket, at once. Returns a socket as connect_next does. */
int connect_unix(const char *path);
