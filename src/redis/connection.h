/* A connection that comes back by itself: it finds the server, greets it, sends commands and takes
 * replies, and follows redirections. */
#pragma once

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "redis/connect.h"

struct messenger;
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
	CONNECTION_REFUSED, /* the same: the server refuses who we are, or the database */
};

/* What became of the connections since the last answer. */
enum connection_trouble {
	TROUBLE_NONE,
	TROUBLE_AWAY,  /* nobody answers, as the error says: a server may be starting */
	TROUBLE_BROKE, /* a connection that was made has broken */
};

/* The first exchange, and what it has told us about the other end. */
struct handshake {
	unsigned due;     /* replies still to come; 0: the server has greeted us, if it is open */
	bool to_sentinel; /* the other end is a sentinel */
	bool is_cluster;  /* as its HELLO said */
	bool shards;      /* the cluster knows sharded channels */
};

/* The choice of the other end. */
struct route {
	struct endpoint named; /* by a sentinel or a redirection: goes before the seeds; port 0:
				* none */
	size_t seed;           /* to begin a round of attempts with */
	size_t tried;          /* seeds in this round */
	bool on_named;         /* the other end is the one that was named */
	bool asks_next;        /* the next one is named by an ASK */
	bool asking;           /* reached by an ASK: each command needs ASKING before it */
	bool is_well;          /* this connection has answered a request */
	unsigned redirections; /* since an answer */
};

/* What people are told: each step with --verbose. */
struct connection_story {
	const struct messenger *messenger; /* NULL: nothing is told */
	int64_t begun_ms;  /* when the first attempt for the next connection began, or 0 */
	bool has_greeted;  /* a server has greeted us, on this connection or before */
	bool told_absence; /* that a server is awaited which is not there yet */
	char trouble[sizeof(((struct error *)0)->text)]; /* the last since it was there, or "" */
};

/* The way to a server: which of several, the private server's start, names, sockets, TLS,
 * sentinels, redirections, the greeting, and the pauses between attempts. One socket at a time. */
struct connection {
	const struct server *server;
	int64_t timeout_ms;
	int64_t back_off_max_ms;
	enum connection_stage stage;
	struct redisContext *redis; /* from CONNECTION_SECURING on */
	int fd;
	int local_folder;           /* of a private server, or -1 */
	struct endpoint endpoint;   /* at the other end */
	struct addresses addresses; /* its addresses */
	struct route route;
	struct handshake handshake;

	int64_t retry_ms;  /* CONNECTION_DOWN: when to try again */
	int64_t due_ms;    /* when this attempt has taken too long */
	int64_t until_ms;  /* when all attempts together have; 0: the next one begins to count */
	bool awaited;      /* rounds that fail count together until then (connection_await) */
	unsigned attempts; /* rounds that failed, one after another */
	unsigned opened;   /* so many connections were there */
	enum connection_trouble trouble;
	struct connection_story story;
	struct error error;
};

/* Nothing is connected before connection_step. timeout_ms bounds all attempts together, until one
 * server has answered a request or all have failed. */
void connection_init(struct connection *connection, const struct server *server,
		     int64_t timeout_ms);

/* Its first attempt goes to the node of a cluster that `last`, a connection for the same key, had
 * reached. The seeds follow: any of them may hang. Changes nothing without a cluster. */
void connection_begin_at(struct connection *connection, const struct connection *last);

/* A new purpose: attempts have the whole timeout. */
void connection_allow(struct connection *connection);

/* Sets the timeout, also of the attempt that is under way if it is to end sooner then. */
void connection_set_timeout(struct connection *connection, int64_t timeout_ms);

/* Follows MOVED or ASK: the next connection goes there. Returns false, and changes nothing, when
 * `text` does not say where, or when there have been too many. */
bool connection_redirect(struct connection *connection, const char *text);

/* The server has answered a request. */
void connection_is_well(struct connection *connection);

/* Tells the server's own words; `needed` (or "") is what it may have refused. */
void connection_tell_words(const struct connection *connection, const char *text,
			   const char *needed);

/* Tells a failure, unless it was the last that was told: it may come back many times a second. */
void connection_tell_trouble(struct connection *connection, const struct error *error);

/* Appends a command to what goes out next; CONNECTION_OPEN only. */
void connection_send(struct connection *connection, int argc, const char **argv);

/* Whether some of what connection_send appended has not left yet. */
bool connection_is_sending(const struct connection *connection);

/* Whether it is open, nothing is left to be sent, and no reply has come in part. */
bool connection_is_silent(const struct connection *connection);

/* Whether a process that was forked with this connection can go on with it after this process has
 * used it. With TLS it cannot. */
bool connection_can_be_shared(const struct connection *connection);

/* In a copy of another process's connection: forgets it without closing it. */
void connection_forget(struct connection *connection);

/* Goes on as far as it can without waiting, up to one event. The caller frees *reply. */
enum connection_event connection_step(struct connection *connection, struct redisReply **reply);

/* Fills *slot for poll. Returns the deadline of the connection's own timers. */
int64_t connection_wait(const struct connection *connection, struct pollfd *slot);

/* Closes this process's end without telling the server anything. */
void connection_close(struct connection *connection);

/* Closes this process's descriptors of a connection with which another process goes on. */
void connection_leave(const struct connection *connection);

/* Closes the connection; the next is tried at once. */
void connection_drop(struct connection *connection);

/* Ends the connection, or the round of attempts, as one that has failed, "cannot VERB the server:
 * CAUSE": fills connection->error; the next is tried after a while. Returns CONNECTION_FAILED. */
enum connection_event connection_fail(struct connection *connection, enum status status,
				      const char *verb, const char *cause);

/* The server is not ready yet, or the last round has failed: ends the connection, and tries again
 * in a moment. Returns false, and leaves the connection as it is, when the rounds together have
 * taken longer than timeout_ms. */
bool connection_await(struct connection *connection);

/* The last round has failed, and that is told: the next one has the whole timeout. */
void connection_give_up(struct connection *connection);

/* Counts a failed attempt. Returns for how many ms to leave the server alone: longer each time. */
int64_t connection_back_off(struct connection *connection);

/* Says what the connection still waits for, in words for an error: "no reply in time". */
const char *connection_lateness(const struct connection *connection);
