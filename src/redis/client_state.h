/* A client, a request, and what can happen to them. Others than the files client*.c use client.h.
 */
#pragma once

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
	CLIENT_NOTHING, /* wait for the socket or for client_wait() */
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

/* One connection that comes back by itself, with at most one request under way. The
 * greeting, the subscriptions and the request leave in one write. */
struct client {
	struct connection connection;
	int64_t timeout_ms;
	int64_t due_ms; /* when the reply is overdue */
	struct request request;
	bool more;  /* the last step brought something, there may be another: do not wait */
	bool eager; /* to be connected, also when there is nothing to ask */
	enum request_phase phase;
	bool retried; /* the request was sent before, perhaps over an earlier connection */
	int strays;   /* requests that were under way on connections that are no more */
	char strays_text[12];
	bool returning; /* this connection is not the first, and has answered nothing yet */
	bool ever_answered;
	int64_t again_ms; /* not to be sent before: the server could not serve it */
	int64_t sent_ms;  /* when a request last left (0: never); its reply's times count from then
			   */
	char channels[CLIENT_CHANNELS][CHANNEL_MAX_BYTES];
	int channel_count;
	int subscribed;
	bool by_shard;      /* how they are subscribed */
	int confirmations;  /* of subscriptions, still to come */
	int before_reply;   /* those of them that left before the request */
	int unasked;        /* replies to ASKING, still to come */
	long long replicas; /* so many have what the last request did */
	struct redisReply *reply;
	char message[MESSAGE_MAX_BYTES]; /* "" if it is longer, or has a zero byte in it */
	int heard_on;                    /* -1: a channel that we never subscribed to */
	struct error error;
};
