/* The first exchange on a connection: HELLO and AUTH at a server; at a sentinel, the question where
 * the master is. */
#pragma once

#include <stdbool.h>

#include "base/error.h"
#include "redis/connect.h"

struct redisContext;
struct redisReply;
struct server;

/* The exchange, and what it has told us about the other end. */
struct handshake {
	const struct server *server;
	bool to_sentinel;       /* the other end is a sentinel */
	bool with_password;     /* sentinels want the password */
	unsigned due;           /* replies still to come */
	bool is_cluster;        /* as its HELLO said */
	bool shards;            /* the cluster knows sharded channels */
	struct endpoint master; /* as a sentinel said */
};

enum handshake_outcome {
	HANDSHAKE_GOES_ON,
	HANDSHAKE_NAMES,   /* handshake->master is where to connect to */
	HANDSHAKE_AGAIN,   /* connect to the same sentinel, now with the password */
	HANDSHAKE_FAILS,   /* *err; another server may do, or another time */
	HANDSHAKE_REFUSED, /* *err: the server refuses who we are, or the database */
};

void handshake_init(struct handshake *handshake, const struct server *server);

/* Appends the first commands to what goes out next. */
void handshake_send(struct handshake *handshake, struct redisContext *redis);

/* Takes the next reply, from the server at `here`. */
enum handshake_outcome handshake_take(struct handshake *handshake, const struct redisReply *reply,
				      const struct endpoint *here, struct error *err);
