/* A client, a request, and their events. For the files client*.c; others include client.h. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "redis/connection.h"

struct connection_trace;
struct redisReply;
struct script;
struct server;

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
	bool tells; /* the server is to tell others what the script tells before it answers us */
};

enum client_event {
	CLIENT_NOTHING, /* wait as client_wait says */
	CLIENT_REPLY,   /* client->reply answers the request; it lives until the next step */
	CLIENT_MESSAGE, /* client->message was published, on client->channels[client->heard_on] */
	CLIENT_CHANGED, /* client->reply lists keys that have changed, or is no list if all may
			 * have; only if client->tracks */
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

/* One connection that comes back by itself, with at most one request under way. The greeting, the
 * subscriptions and the request leave in one write. */
struct client {
	struct connection connection;
	int64_t timeout_ms;
	int64_t due_ms; /* when the reply is overdue */
	struct request request;
	bool more;   /* the last step brought something, and there may be another: do not wait */
	bool eager;  /* connects also when there is nothing to ask */
	bool keen;   /* a server that is not there yet, or loads its data, has the whole timeout */
	bool tracks; /* the server was asked to tell which keys change; see tracking.h */
	enum request_phase phase;
	bool retried; /* the request was sent before, perhaps over an earlier connection */
	int strays;   /* requests that were under way on connections that are no more */
	char strays_text[12];
	char age_text[24];
	bool returning;     /* this connection is not the first, and has answered nothing yet */
	bool ever_answered; /* the server has answered a request */
	int64_t again_ms;   /* the request is not sent before: the server could not serve it */
	int64_t sent_ms;    /* when a request last left, or 0: its reply's times count from then */
	char channels[CLIENT_CHANNELS][CHANNEL_MAX_BYTES];
	int channel_count;
	int subscribed;     /* so many of them over this connection */
	bool by_shard;      /* they are subscribed to with SSUBSCRIBE */
	int confirmations;  /* of subscriptions, still to come */
	int before_reply;   /* those of them that left before the request */
	int unasked;        /* replies to ASKING, still to come */
	long long replicas; /* so many have what the last request wrote */
	struct redisReply *reply;
	char message[MESSAGE_MAX_BYTES]; /* "" if it is longer, or has a zero byte in it */
	int heard_on;                    /* -1: a channel that we never subscribed to */
	struct error error;
	struct connection_trace *steps; /* client_call tells them; NULL: it tells none */
};
