#ifndef FAIRLOCK_CONNECTION_H
#define FAIRLOCK_CONNECTION_H

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "redis/connect.h"
#include "redis/endpoint.h"
#include "redis/handshake.h"

struct reply_limits;
struct redisContext;
struct redisReply;
struct server;

/* Between two rounds of attempts: short of the 2 s that waiters have to come back to their places
 * after a restart, and long enough for a thousand of them not to be a burden. */
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
	CONNECTION_OPENED,  /* HELLO has been prepared: what follows it belongs into the same write
			     */
	CONNECTION_REPLY,   /* the next reply or push */
	CONNECTION_FAILED,  /* link->error; it is tried again, unless the server has refused who we
			     * are  (link->refused) */
};

/* The way to a server: which of several, the private server's start, names, sockets, TLS,
 * sentinels, redirections, the greeting, and the patience between attempts. One socket at a time.
 */
struct connection {
	const struct server *server;
	int64_t timeout_ms;
	int64_t back_off_max_ms;
	enum connection_stage stage;
	struct redisContext *redis;  /* LINK_SECURING, LINK_OPEN */
	struct reply_limits *bounds; /* of its replies */
	int fd;
	int local_folder; /* of a private server, or -1 */
	short events;     /* LINK_SECURING: what to wait for */

	struct endpoint endpoint; /* at the other end */
	struct connect dial;      /* its addresses */
	struct endpoint named;    /* by a sentinel or a redirection: goes before the seeds */
	size_t seed;              /* to begin a round of attempts with */
	size_t tried;             /* seeds in this round */
	bool on_named;            /* the other end is the one that was named */
	bool asks_next;           /* named by an ASK */
	bool asking;              /* reached by an ASK: each command needs ASKING before it */
	unsigned redirections;    /* since an answer */
	bool is_well;             /* this connection has answered a request */

	struct handshake handshake; /* and what the server said of itself in it */
	unsigned attempts;          /* rounds that failed, one after another */
	int64_t retry_ms;
	int64_t due_ms;   /* when this attempt has taken too long */
	int64_t begun_ms; /* when the first attempt for this connection began */
	int64_t connected_ms;
	unsigned opened;      /* so many connections were there */
	unsigned connections; /* so many of them have been greeted */
	unsigned launches;    /* so often a private server was found not to run */
	int64_t give_up_ms;   /* until when a server may take to get ready; 0: not counted */

	bool broke; /* a connection that was made has broken since the last answer */
	bool refused;
	struct error error;
};

/* Nothing is connected before connection_step. timeout_ms bounds each attempt. */
void connection_init(struct connection *connection, const struct server *server,
		     int64_t timeout_ms);

/* Closes this process's end without telling the server anything. */
void connection_close(struct connection *connection);

/* Closes the descriptors of a process that has nothing more to do with it: another one, which has
 * them, too, goes on. */
void connection_leave(const struct connection *connection);

/* Closes the connection; the next is tried at once. */
void connection_drop(struct connection *connection);

/* Ends the connection as one that has failed, "cannot VERB the server: CAUSE": fills link->error;
 * the next is tried after a while. */
void connection_fail(struct connection *connection, enum status status, const char *verb,
		     const char *cause);

/* Ends the connection to a server that is not ready yet: it is asked again in a moment. False when
 * that has taken longer than timeout_ms: then the connection is left as it is. */
bool connection_await(struct connection *connection);

/* Follows MOVED or ASK: the next connection goes there. False when `text` is none, or there have
 * been too many: then nothing changes. */
bool connection_redirect(struct connection *connection, const char *text);

/* For a server that answers, but cannot serve now: how long to leave it alone, longer each time. */
int64_t connection_back_off(struct connection *connection);

/* The server has answered a request: it is well. */
void connection_is_well(struct connection *connection);

/* Appends a command to what goes out next; LINK_OPEN only. */
void connection_send(struct connection *connection, int argc, const char **argv);

/* Whether some of that has not left yet. */
bool connection_is_sending(const struct connection *connection);

/* Whether nothing is under way in this process in either direction. */
bool connection_is_silent(const struct connection *connection);

/* Whether a process that was forked with it can go on with the connection when this one has used it
 * since (connection_is_silent). With TLS it cannot. */
bool connection_can_be_shared(const struct connection *connection);

/* In a copy that another process has made: there is no connection yet. */
void connection_forget(struct connection *connection);

/* Goes on as far as it can without waiting, up to one event. The caller frees *reply. */
enum connection_event connection_step(struct connection *connection, struct redisReply **reply);

/* What to wait for: fills *slot, returns the deadline of the link's own timers. */
int64_t connection_wait(const struct connection *connection, struct pollfd *slot);

#endif
