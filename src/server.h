#ifndef FAIRLOCK_SERVER_H
#define FAIRLOCK_SERVER_H

#include <stddef.h>
#include <stdint.h>

#include "error.h"

enum server_kind {
	SERVER_LOCAL, /* the private server of this user on this host */
	SERVER_UNIX,
	SERVER_TCP,
};

struct seed {
	char *host;
	uint16_t port;
};

/* Where a server is and who we are there. server_parse fills it,
 * server_free gives its strings back. */
struct server {
	enum server_kind kind;
	char *path;         /* SERVER_UNIX: the socket */
	struct seed *seeds; /* SERVER_TCP: tried in order */
	size_t seed_count;
	char *user;     /* NULL: the default user */
	char *password; /* NULL: none */
	int db;
	char *label; /* the URL without its password, to show and to hand on */
};

/* Parses a URL of the forms that the manual lists. Returns 0, or -1 with
 * STATUS_CONFIG; *server is then empty. Never quotes a password in err. */
int server_parse(struct server *server, const char *url, struct error *err);

/* Overwrites the password in a URL, well-formed or not, with asterisks. */
void server_hide_password(char *url);

void server_free(struct server *server);

#endif
