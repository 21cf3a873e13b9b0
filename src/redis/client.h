#ifndef FAIRLOCK_CLIENT_H
#define FAIRLOCK_CLIENT_H

#include <poll.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "redis/connection.h"

struct redisReply;
struct script;
struct server;

#define REQUEST_ARGS 224
#define CLIENT_CHANNELS 3

/* The count of a process that goes on for a dead one, under that one's request id: more than the
 * dead one has left under way. */
#define STRAYS_OF_HEIR 1000000

#define CHANNEL_MAX_BYTES 700
#define MESSAGE_MAX_BYTES 128 /* a grant has 76 */

/* One request: a script with its five keys and its arguments, or (script is
 * NULL) a plain command. The strings belong to the caller and stay until the
 * reply. again is the index of the argument that becomes "1" when the request
 * may have arrived before, or is the first after a connection was lost; 0: none. strays is the
 * index of the one that becomes client->strays.
 *
 * With `replicas`, a reply that begins with the word `durable` comes when so many replicas have
 * what the script wrote, or after replicas_ms; client->replicas says how many have. */
struct request {
	const struct script *script;
	const char *argv[REQUEST_ARGS];
	int argc;
	int again;
	int strays;
	int64_t replicas;
	int64_t replicas_ms;
	const char *durable;
	bool tells; /* somebody else waits for what the script tells: the server is to do that first
		     */
};

enum client_event {
	CLIENT_NOTHING, /* wait for the socket or for client_wake_ms() */
	CLIENT_REPLY,   /* client->reply answers the request; it lives until the next step */
	CLIENT_MESSAGE, /* client->message was published, on client->channels[client->heard_on] */
	CLIENT_FAILED,  /* client->error; if client->final, the server has refused the request;
			 * else the connection, and the request, are tried again */
};

/* One connection that comes back by itself, with at most one request under way. The
 * greeting, the subscriptions and the request leave in one write. */
struct client {
	struct connection connection;
	int64_t timeout_ms;
	int64_t due_ms; /* when the reply is overdue */
	struct request request;
	bool more;    /* the last step brought something, there may be another: do not wait */
	bool eager;   /* to be connected, also when there is nothing to ask */
	bool pending; /* a request waits for its reply */
	bool sent;    /* over this connection */
	bool retried; /* over an earlier connection */
	int strays;   /* requests that were under way on connections that are no more */
	char strays_text[12];
	bool returning; /* this connection is not the first, and has answered nothing yet */
	bool ever_answered;
	bool ever_sent;
	bool final;
	int64_t again_ms; /* not to be sent before: the server could not serve it */
	int64_t sent_ms;  /* when the request last left: what its reply's times count from */
	char channels[CLIENT_CHANNELS][CHANNEL_MAX_BYTES];
	int channel_count;
	int subscribed;
	bool by_shard;      /* how they are subscribed */
	int confirmations;  /* of subscriptions, still to come */
	int before_reply;   /* those of them that left before the request */
	int unasked;        /* replies to ASKING, still to come */
	bool whole_script;  /* this server did not know the script */
	bool confirming;    /* reply is there, and waits for the replicas' word */
	long long replicas; /* so many have what the last request did */
	struct redisReply *reply;
	char message[MESSAGE_MAX_BYTES]; /* "" if it is longer, or has a zero byte in it */
	int heard_on;                    /* -1: a channel that we never subscribed to */
	struct error error;
};

/* Nothing is connected until a request is made. timeout_ms bounds an attempt to connect and a
 * reply that is due. */
void client_init(struct client *client, const struct server *server, int64_t timeout_ms);

/* Closes this process's end without telling the server anything. */
void client_close(struct client *client);

/* Listens on a channel from now on, over every connection. */
void client_subscribe(struct client *client, const char *channel);

/* Makes a request; the one before must have been answered. */
void client_request(struct client *client, const struct request *request);

/* Drops the request under way: its reply, if it comes, is ignored with its connection. */
void client_cancel(struct client *client);

/* What to wait for: fills *slot, returns the deadline of the client's own timers. */
int64_t client_wait(const struct client *client, struct pollfd *slot);

/* Goes on as far as it can without waiting, up to one event. Call until CLIENT_NOTHING. */
enum client_event client_step(struct client *client);

/* Whether all is answered and confirmed: then another process can go on with a copy of *client, if
 * it was forked when this connection was there and client_is_silent. (With a connection of its own
 * if that cannot be shared, see connection_can_be_shared.) */
bool client_is_still(const struct client *client);

/* Whether it is connected, nothing is left to be sent, and no reply has come in part. */
bool client_is_silent(const struct client *client);

/* Connects also when there is nothing to ask. */
void client_open(struct client *client);

/* Whether it is connected, and the server has said who it is. */
bool client_has_greeted(const struct client *client);

#endif
