/* The server of world.h: it says a script over real sockets. */
#pragma once

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>

/* The server's end of a connection. */
struct peer;

void peers_begin(const char *script, size_t length);
void peers_end(void);

/* Returns the client's end of a new connection, or -1 with errno. */
int peers_accept(void);

/* Reads and drops what the client said. */
void peers_hear(void);

/* Returns the peer of the first slot on which the client waits for its words, or NULL. */
struct peer *peers_awaited(const struct pollfd *slots, nfds_t count);

/* Lets the peer say or do the next thing, if it is time for that (is_urgent: it is); returns
 * whether it did. */
bool peers_act(struct peer *peer, bool is_urgent);
