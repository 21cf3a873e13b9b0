#ifndef FAIRLOCK_DIAL_H
#define FAIRLOCK_DIAL_H

#include <stdbool.h>
#include <sys/socket.h>

struct server;

#define DIAL_ADDRESSES 16

/* The addresses of a server, which are tried in turn. Names are looked up once: a resolver may
 * take longer than a lease has left. */
struct dial {
	struct {
		struct sockaddr_storage address;
		socklen_t length;
	} list[DIAL_ADDRESSES];
	int count;
	int next;
};

/* Looks up the addresses of all seeds of a server. This may wait for a resolver. Returns 0, or -1
 * with *cause when there is none. */
int dial_resolve(struct dial *dial, const struct server *server, const char **cause);

/* Begins to connect to the next address; after the last comes the first. Returns a close-on-exec,
 * non-blocking socket, on which dial_result tells more, or -1 with errno. */
int dial_next(struct dial *dial);

/* Whether there is an address left in this round. */
bool dial_has_more(const struct dial *dial);

/* 0: the socket is connected; 1: not yet; -1: it failed, with errno. */
int dial_result(int fd);

/* Connects to a unix socket, at once. Returns a socket as dial_next does. */
int dial_unix(const char *path);

#endif
