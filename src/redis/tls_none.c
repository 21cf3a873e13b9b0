/* For programs without TLS, which execute fairlock-tls before they need it. */
#include "redis/tls.h"

#include <stddef.h>

const bool tls_is_here = false;

int tls_start(struct redisContext *redis, const struct server *server, const char *host,
	      struct error *err)
{
	(void)redis;
	(void)server;
	(void)host;
	return fail(err, STATUS_OS, "cannot use TLS: this program was built without TLS");
}

int tls_shake_hands(struct redisContext *redis, short *events, struct error *err)
{
	(void)redis;
	*events = 0;
	return fail(err, STATUS_OS, "cannot use TLS: this program was built without TLS");
}

const char *tls_protocol(const struct redisContext *redis)
{
	(void)redis;
	return NULL;
}
