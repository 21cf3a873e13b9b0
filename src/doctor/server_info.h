/* Facts about one server for the checks: INFO, settings, clock, permissions. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "redis/client.h"

/* Facts that one server tells about itself, as far as this user may ask. */

enum setting {
	SETTING_SAVE,
	SETTING_APPENDFSYNC,
	SETTING_STOP_WRITES,
	SETTING_MIN_REPLICAS,
	SETTING_TIMEOUT,
	SETTING_KEEPALIVE,
	SETTING_BUFFERS,
	SETTING_MAXCLIENTS,
	SETTING_SCRIPT_LIMIT,
	SETTING_COUNT,
};

/* Round trips, and what the server's clock said in the quickest. */
struct timing {
	bool is_known;
	int samples;
	int64_t median_us;
	int64_t longest_us;
	int64_t ahead_us; /* the server's clock, of ours; by half of quickest_us more or less */
	int64_t quickest_us;
};

struct server_info {
	struct client *client;
	char address[512]; /* at the other end: HOST:PORT, or the path of a socket */
	char software[24]; /* "redis", "valkey" */
	char version[32];
	int number; /* 70015 for 7.0.15 */
	char mode[16];
	bool is_replica;
	const char *tls; /* NULL: none */
	bool can_ask;    /* what this user may do, without trying it */
	bool has_config; /* the server lets this user read its configuration */
	char *info;
	char settings[SETTING_COUNT][160]; /* "": not known */
	struct timing timing;
};

/* Asks, with samples round trips. Returns 0, or -1 when the server cannot be asked anything. Call
 * server_info_free in both cases. */
int server_info_ask(struct server_info *info, struct client *client, int samples,
		    struct error *err);

/* Only reaches the server and takes round trips. */
int server_info_measure(struct server_info *info, struct client *client, int samples,
			struct error *err);

/* A field of INFO; NULL when it is not known. value has room for its text. */
const char *server_info_text(const struct server_info *info, const char *field, char value[256]);

/* The same as a number; -1 when it is not known. */
int64_t server_info_number(const struct server_info *info, const char *field);

/* A setting of the server; NULL when it is not known. */
const char *server_info_setting(const struct server_info *info, enum setting setting);

/* One request within the client's timeout; the reply is the client's. */
int server_info_call(struct client *client, const struct request *request, struct error *err);

enum leave {
	MAY_NOT,
	MAY,
	IS_UNKNOWN, /* such a command is not there, or nobody can be asked */
};

/* Asks whether this user may run commands, each with its arguments, separated by blanks, without
 * running them. At most REQUEST_ARGS - 3. Returns 0; 1 when the server is too old to be asked; or
 * -1. */
int server_info_may(struct client *client, int count, const char *const *commands,
		    enum leave *leaves, struct error *err);

void server_info_free(struct server_info *info);
