/* HELLO and AUTH at a server, and asking a sentinel for the master. */
#pragma once

#include <stdbool.h>

#include "base/error.h"
#include "redis/connect.h"

struct redisContext;
struct redisReply;
struct server;

/* The first exchange on a connection, and what the other end says about itself: a server in its
 * answer to HELLO, a sentinel when it is asked for the master. */
struct handshake {
	const struct server *server;
	bool to_sentinel;       /* this connection's other end is one */
	bool with_password;     /* sentinels want it */
	unsigned due;           /* replies still to come */
	bool is_cluster;        /* as its HELLO said */
	bool shards;            /* it is one that knows sharded channels */
	struct endpoint master; /* as a sentinel said */
};

enum handshake_outcome {
	HANDSHAKE_GOES_ON,
	HANDSHAKE_NAMES,   /* the master: that is whom to connect to */
	HANDSHAKE_AGAIN,   /* the same sentinel, now with the password */
	HANDSHAKE_FAILS,   /* another server may do, or another time: *err */
	HANDSHAKE_REFUSED, /* who we are, or the database: *err */
};

void handshake_init(struct handshake *handshake, const struct server *server);

/* Prepares what is to be sent. */
void handshake_send(struct handshake *handshake, struct redisContext *redis);

/* Takes the next reply, from the server at `here`. */
enum handshake_outcome handshake_take(struct handshake *handshake, const struct redisReply *reply,
				      const struct endpoint *here, struct error *err);
