#ifndef FAIRLOCK_TLS_H
#define FAIRLOCK_TLS_H

#include <stdbool.h>

#include "error.h"

struct redisContext;
struct server;

/* TLS under a connection of hiredis. There are two of this: tls.c, of fairlock-tls, has it through
 * OpenSSL; notls.c, of the programs that must not pay for loading that, has none. */
extern const bool tls_is_here;

/* Begins a session as the client of `host`, whose certificate must be good for that name or
 * address. Returns 0; or -1 with STATUS_CONFIG (a file of server->tls cannot be used) or
 * STATUS_OS. The session ends with the context. */
int tls_start(struct redisContext *redis, const struct server *server, const char *host,
	      struct error *err);

/* Goes on with the handshake without waiting. Returns 0 when it is done, 1 when the socket must
 * first get ready for *events, or -1 with STATUS_UNAVAILABLE, or STATUS_REFUSED when the other end
 * wants another certificate of ours, or any. */
int tls_shake_hands(struct redisContext *redis, short *events, struct error *err);

#endif
