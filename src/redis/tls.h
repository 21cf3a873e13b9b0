/* TLS for a connection of hiredis, with OpenSSL. */
#pragma once

#include "base/error.h"

struct redisContext;
struct server;

/* The value of redis->err when the other end refused our certificate, or wants one. Under TLS 1.3
 * it may say so after the handshake. */
#define TLS_REFUSED REDIS_ERR_OTHER

/* Begins a session as the client of `host`, whose certificate must be good for that name or
 * address. Returns 0; or -1 with STATUS_CONFIG (a file of server->tls cannot be used) or STATUS_OS.
 * The session ends with the context. After a failure free that before another session goes on. */
int tls_start(struct redisContext *redis, const struct server *server, const char *host,
	      struct error *err);

/* Goes on with the handshake without waiting. Returns 0 when it is done, the events of poll(2)
 * that it waits for, or -1 with STATUS_UNAVAILABLE, or with STATUS_REFUSED if the
 * other end wants another certificate of ours, or any. If the connection broke without a word,
 * redis->err is REDIS_ERR_EOF. */
int tls_shake_hands(struct redisContext *redis, struct error *err);

/* hiredis could not read or write, or the other end closed. If redis has a session, puts the cause
 * into redis->err (TLS_REFUSED) and redis->errstr. */
void tls_explain(struct redisContext *redis);

/* The protocol of the session, as "TLSv1.3"; NULL: there is none. */
const char *tls_protocol(const struct redisContext *redis);
