/* A client: requests, one at a time, and messages, over a connection that comes back by itself. */
#pragma once

#include <netinet/in.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#include "base/error.h"
#include "redis/server.h"

struct messenger;
struct redisContext;
struct redisReply;
struct script;

/* The longest pause between two rounds of attempts. After a restart waiters have 2 s to come back
 * to their places; and a thousand of them must not be a burden. */
#define BACK_OFF_MAX_MS 1280

enum connection_stage {
	CONNECTION_DOWN,       /* wake_ms says when to try again */
	CONNECTION_LOOKING_UP, /* fd is the look-up's */
	CONNECTION_CONNECTING, /* fd is the socket */
	CONNECTION_SECURING,   /* redis exists, TLS is being agreed on */
	CONNECTION_OPEN,       /* HELLO is on its way, more may be sent behind it */
};

/* How the connections have failed since the last answer. */
enum connection_trouble {
	TROUBLE_NONE,
	TROUBLE_AWAY,  /* nobody answers, as the error says: a server may be starting */
	TROUBLE_BROKE, /* a connection that was made has broken */
};

#define ADDRESSES_MAX 16

/* The addresses of one endpoint, which are tried in turn. */
struct addresses {
	struct address {
		struct sockaddr_storage name;
		socklen_t length;
	} list[ADDRESSES_MAX];
	size_t count;
	size_t next;
};

/* The first exchange, and what it has told us about the other end. */
struct handshake {
	unsigned due;     /* replies still to come; 0: the server has greeted us, if it is open */
	short tls_awaits; /* CONNECTION_SECURING: these events of poll(2) */
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

/* The client tells people of a server that is away, and with --verbose of each step. */
struct connection_story {
	struct messenger *messenger; /* NULL: nothing is told */
	int64_t begun_ms;  /* when the first attempt for the next connection began, or 0 */
	bool has_greeted;  /* a server has greeted us, on this connection or before */
	bool told_absence; /* that a server is awaited which is not there yet */
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
	bool starts_none;           /* a private server that does not run is unreachable */
	struct endpoint endpoint;   /* at the other end */
	struct addresses addresses; /* its addresses */
	struct route route;
	struct handshake handshake;

	int64_t wake_ms;   /* CONNECTION_DOWN: when to try again; else: when this attempt has
			    * taken too long */
	int64_t until_ms;  /* when all attempts together have; 0: the next one begins to count */
	bool awaited;      /* rounds that fail count together until then */
	unsigned attempts; /* rounds that failed, one after another */
	unsigned opened;   /* so many connections were there */
	enum connection_trouble trouble;
	struct connection_story story;
	struct error error; /* what failed last */
};

#define REQUEST_ARGS 224
#define CLIENT_CHANNELS 4

/* client->strays of a process that goes on for a dead one, under its request id: more than the dead
 * process can have left under way. */
#define STRAYS_OF_HEIR 1000000

#define CHANNEL_MAX_BYTES 700
#define MESSAGE_MAX_BYTES 192 /* a grant has 141, with a long slot */

/* The strings of a request belong to the caller, and stay until the reply. */
struct request {
	const struct script *script;    /* NULL: argv is a plain command */
	const char *argv[REQUEST_ARGS]; /* of a script: its keys and its arguments */
	int argc;
	int keys;   /* so many of them are keys */
	int again;  /* the argument that becomes "1" if the request may have arrived before, or is
		     * the first after a connection was lost; 0: none */
	int strays; /* the argument that becomes client->strays; 0: none */
	int age;    /* the argument that becomes -MS: since_ms is so long ago; 0: none */
	int64_t since_ms;
	/* With replicas: a reply that begins with `durable` comes when so many of them have what
	 * the script wrote, or after replicas_ms. client->replicas says how many have. */
	int64_t replicas;
	int64_t replicas_ms;
	const char *durable;
	const char *question; /* client_call tells it (--verbose), and what it is about; NULL */
	const char *about;
	bool tells; /* the server is to tell others what the script tells before it answers us */
};

enum client_event {
	CLIENT_NOTHING, /* wait as client_wait says */
	CLIENT_REPLY,   /* client->reply answers the request; it lives until the next step */
	CLIENT_MESSAGE, /* client->message was published, on client->channels[client->heard_on] */
	CLIENT_FAILED,  /* client->error; the connection, and the request, are tried again */
	CLIENT_REFUSED, /* client->error: what the server says of the request, or of us, is final */
};

/* Where the request is. A server may have it from REQUEST_SENT on. */
enum request_phase {
	REQUEST_NONE,       /* none was made, or it has been answered, refused or cancelled */
	REQUEST_WAITING,    /* to be sent */
	REQUEST_SENT,       /* over this connection, with the hash of its script if it has one */
	REQUEST_SENT_WHOLE, /* the same with the script: this server did not know the hash */
	REQUEST_CONFIRMING, /* client->reply is there, and waits for the replicas' word */
};

/* Requests that were sent, and replies that are owed. */
struct traffic {
	int askings_due;    /* confirmations of ASKING to come */
	int channels_due;   /* confirmations of subscriptions to come, ... */
	int channels_first; /* ... and so many of them before the answer */
	int subscribed;     /* so many of the client's channels were asked for */
	bool by_shard;      /* with SSUBSCRIBE */
	bool more;      /* the last step brought something, and there may be another: do not wait */
	int64_t due_ms; /* when the answer is overdue */
	int64_t again_ms; /* the request is not sent before: the server could not serve it */
};

/* One connection that comes back by itself, with at most one request under way. The greeting, the
 * subscriptions and the request leave in one write. */
struct client {
	struct connection connection;
	struct traffic traffic;
	bool keen; /* a server that is not there yet, or loads its data, has the whole timeout */
	struct request request;
	enum request_phase phase;
	bool retried;       /* the request was sent before, perhaps over an earlier connection */
	int strays;         /* requests that were under way on connections that are no more */
	bool ever_answered; /* the server has answered a request */
	int64_t sent_ms;    /* when a request last left, or 0: its reply's times count from then */
	char channels[CLIENT_CHANNELS][CHANNEL_MAX_BYTES];
	int channel_count;
	long long replicas; /* so many have what the last request wrote */
	struct redisReply *reply;
	char message[MESSAGE_MAX_BYTES]; /* "" if it is longer, or has a zero byte in it */
	int heard_on;                    /* -1: a channel that we never subscribed to */
	struct error error;
};

/* Nothing is connected until a request is made. The messenger, which may be NULL, is told what
 * happens. timeout_ms bounds an attempt to connect and a reply that is due. */
void client_init(struct client *client, const struct server *server, struct messenger *messenger,
		 int64_t timeout_ms);

/* Closes this process's end without telling the server anything. */
void client_close(struct client *client);

/* Listens on a channel from now on, over every connection; beyond CLIENT_CHANNELS in place of the
 * second one, which is the oldest but our own. Returns false if it did so before. */
bool client_subscribe(struct client *client, const char *channel);

/* Makes a request. The one before must have been answered, or not have left. */
void client_request(struct client *client, const struct request *request);

/* Drops the request under way, unless its reply comes until until_ms (0: at once): a later one is
 * ignored with its connection. Then there is no request. */
void client_cancel(struct client *client, int64_t until_ms);

/* Whether a request was made that has not been answered yet. */
bool client_has_request(const struct client *client);

/* Fills *slot for poll. Returns the deadline of the client's own timers. */
int64_t client_wait(const struct client *client, struct pollfd *slot);

/* Goes on as far as it can without waiting, up to one event. Call it until CLIENT_NOTHING. */
enum client_event client_step(struct client *client);

/* Whether all is answered and confirmed. Then another process can go on with a copy of *client if
 * it was forked while this connection was open and silent (connection_is_silent). With TLS
 * it needs a connection of its own all the same. */
bool client_is_still(const struct client *client);

/* Tells in *err why the server has not answered in time: how the last attempt to reach it failed,
 * or else what the connection still waits for. */
void client_tell_late(const struct client *client, struct error *err);

/* ---- The connection alone ---- */

/* Sets the timeout, also of the attempt that is under way if it is to end sooner then. */
void connection_set_timeout(struct connection *connection, int64_t timeout_ms);

/* Whether it is open, nothing is left to be sent, and no reply has come in part. */
bool connection_is_silent(const struct connection *connection);

/* In a copy of another process's connection: forgets it without closing it. */
void connection_forget(struct connection *connection);

/* ---- For commands that do one thing: these wait ---- */

/* Makes the request and waits until until_ms for its reply. Tries again while the server is getting
 * ready (a private server that starts, a master or a slot on its way to another place), and after a
 * connection that broke; patient: whatever the server is away for. Returns 0 with client->reply, or
 * -1. */
int client_call(struct client *client, const struct request *request, int64_t until_ms,
		bool patient, struct error *err);

/* The same without patience, and within the client's timeout at the latest. */
int client_ask(struct client *client, const struct request *request, int64_t until_ms,
	       struct error *err);

/* Waits until until_ms for a message, or for the connection to be lost. There is no request.
 * Returns -1 if the server refuses the subscription. */
int client_listen(struct client *client, int64_t until_ms, struct error *err);
