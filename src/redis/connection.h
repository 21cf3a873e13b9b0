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

struct bounds;
struct redisContext;
struct redisReply;
struct server;

/* Between two rounds of attempts: short of the 2 s that waiters have to come back to their places
 * after a restart, and long enough for a thousand of them not to be a burden. */
#define BACK_OFF_MAX_MS 1280

enum link_stage {
	LINK_DOWN,       /* retry_ms says when to try again */
	LINK_LOOKING_UP, /* fd is the look-up's */
	LINK_CONNECTING, /* fd is the socket */
	LINK_SECURING,   /* redis exists, TLS is being agreed on */
	LINK_OPEN,       /* HELLO is on its way, more may be sent behind it */
};

enum link_event {
	LINK_NOTHING, /* wait as link_wait says */
	LINK_OPENED,  /* HELLO has been prepared: what follows it belongs into the same write */
	LINK_REPLY,   /* the next reply or push */
	LINK_FAILED,  /* link->error; it is tried again, unless the server has refused who we are
		       * (link->refused) */
};

/* The way to a server: which of several, the private server's start, names, sockets, TLS,
 * sentinels, redirections, the greeting, and the patience between attempts. One socket at a time.
 */
struct link {
	const struct server *server;
	int64_t timeout_ms;
	int64_t back_off_max_ms;
	enum link_stage stage;
	struct redisContext *redis; /* LINK_SECURING, LINK_OPEN */
	struct bounds *bounds;      /* of its replies */
	int fd;
	int local_folder; /* of a private server, or -1 */
	short events;     /* LINK_SECURING: what to wait for */

	struct endpoint endpoint; /* at the other end */
	struct dial dial;         /* its addresses */
	struct endpoint named;    /* by a sentinel or a redirection: goes before the seeds */
	size_t seed;              /* to begin a round of attempts with */
	size_t tried;             /* seeds in this round */
	bool on_named;            /* the other end is the one that was named */
	bool asks_next;           /* named by an ASK */
	bool asking;              /* reached by an ASK: each command needs ASKING before it */
	unsigned redirections;    /* since an answer */
	bool is_well;             /* this connection has answered a request */

	struct greeting greeting; /* and what the server said of itself in it */
	unsigned attempts;        /* rounds that failed, one after another */
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

/* Nothing is connected before link_step. timeout_ms bounds each attempt. */
void link_init(struct link *link, const struct server *server, int64_t timeout_ms);

/* Closes this process's end without telling the server anything. */
void link_close(struct link *link);

/* Closes the descriptors of a process that has nothing more to do with it: another one, which has
 * them, too, goes on. */
void link_leave(const struct link *link);

/* Closes the connection; the next is tried at once. */
void link_drop(struct link *link);

/* Ends the connection as one that has failed, "cannot VERB the server: CAUSE": fills link->error;
 * the next is tried after a while. */
void link_fail(struct link *link, enum status status, const char *verb, const char *cause);

/* Ends the connection to a server that is not ready yet: it is asked again in a moment. False when
 * that has taken longer than timeout_ms: then the connection is left as it is. */
bool link_await(struct link *link);

/* Follows MOVED or ASK: the next connection goes there. False when `text` is none, or there have
 * been too many: then nothing changes. */
bool link_redirect(struct link *link, const char *text);

/* For a server that answers, but cannot serve now: how long to leave it alone, longer each time. */
int64_t link_back_off(struct link *link);

/* The server has answered a request: it is well. */
void link_is_well(struct link *link);

/* Appends a command to what goes out next; LINK_OPEN only. */
void link_send(struct link *link, int argc, const char **argv);

/* Whether some of that has not left yet. */
bool link_is_sending(const struct link *link);

/* Whether nothing is under way in this process in either direction. */
bool link_is_silent(const struct link *link);

/* Whether a process that was forked with it can go on with the connection when this one has used it
 * since (link_is_silent). With TLS it cannot. */
bool link_can_be_shared(const struct link *link);

/* In a copy that another process has made: there is no connection yet. */
void link_forget_connection(struct link *link);

/* Goes on as far as it can without waiting, up to one event. The caller frees *reply. */
enum link_event link_step(struct link *link, struct redisReply **reply);

/* What to wait for: fills *slot, returns the deadline of the link's own timers. */
int64_t link_wait(const struct link *link, struct pollfd *slot);

#endif
