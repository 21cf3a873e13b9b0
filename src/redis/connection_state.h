/* The state of a connection. For the files connection*.c; others include connection.h. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "redis/connect.h"
#include "redis/handshake.h"

struct reply_limits;
struct redisContext;
struct redisReply;
struct server;

/* The longest pause between two rounds of attempts. After a restart waiters have 2 s to come back
 * to their places; and a thousand of them must not be a burden. */
#define BACK_OFF_MAX_MS 1280

enum connection_stage {
	CONNECTION_DOWN,       /* retry_ms says when to try again */
	CONNECTION_LOOKING_UP, /* fd is the look-up's */
	CONNECTION_CONNECTING, /* fd is the socket */
	CONNECTION_SECURING,   /* redis exists, TLS is being agreed on */
	CONNECTION_OPEN,       /* HELLO is on its way, more may be sent behind it */
};

enum connection_event {
	CONNECTION_NOTHING, /* wait as connection_wait says */
	CONNECTION_OPENED,  /* HELLO is about to leave: send what belongs into the same write */
	CONNECTION_REPLY,   /* the next reply or push */
	CONNECTION_FAILED,  /* connection->error; the connection is tried again */
};

/* The way to a server: which of several, the private server's start, names, sockets, TLS,
 * sentinels, redirections, the greeting, and the pauses between attempts. One socket at a time. */
struct connection {
	const struct server *server;
	int64_t timeout_ms;
	int64_t back_off_max_ms;
	enum connection_stage stage;
	struct redisContext *redis;  /* CONNECTION_SECURING, CONNECTION_OPEN */
	struct reply_limits *bounds; /* of its replies */
	int fd;
	int local_folder; /* of a private server, or -1 */
	short events;     /* CONNECTION_SECURING: what to wait for */

	struct endpoint endpoint;   /* at the other end */
	struct addresses addresses; /* its addresses */
	struct endpoint named;      /* by a sentinel or a redirection: goes before the seeds */
	size_t seed;                /* to begin a round of attempts with */
	size_t tried;               /* seeds in this round */
	bool on_named;              /* the other end is the one that was named */
	bool asks_next;             /* the next one is named by an ASK */
	bool asking;                /* reached by an ASK: each command needs ASKING before it */
	unsigned redirections;      /* since an answer */
	bool is_well;               /* this connection has answered a request */

	struct handshake handshake; /* and what the server said of itself in it */
	unsigned attempts;          /* rounds that failed, one after another */
	int64_t retry_ms;
	int64_t due_ms;   /* when this attempt has taken too long */
	int64_t until_ms; /* when all attempts together have, until a server has answered; 0: it has
			   */
	int64_t lost_ms;  /* until_ms of attempts that have just failed; 0: others have begun */
	int64_t begun_ms; /* when the first attempt for this connection began */
	int64_t connected_ms;
	unsigned opened;      /* so many connections were there */
	unsigned connections; /* so many of them have been greeted */
	unsigned launches;    /* so often a private server was found not to run */
	int64_t give_up_ms;   /* until when a server may take to get ready; 0: not counted */

	char said[512];    /* the server's own words when it refused last */
	unsigned refusals; /* so often it did */
	bool broke;        /* a connection that was made has broken since the last answer */
	bool away;         /* nobody answers, as the error says: a server may be starting */
	bool refused;      /* the server has refused who we are, or the database */
	struct error error;
};
