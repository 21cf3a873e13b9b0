/* The facts that one server tells about itself, as far as this user may ask: INFO, settings,
 * permissions and its clock. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "lock/grants.h"
#include "redis/client.h"

#define SERVER_SETTINGS 9

/* Round trips, and what the server's clock said in the quickest. */
struct timing {
	bool is_known;
	int samples;
	int64_t median_us;
	int64_t longest_us;
	int64_t ahead_us; /* the server's clock before ours, give or take half of quickest_us */
	int64_t quickest_us;
};

struct server_info {
	struct client *client;
	const char *user;
	char address[512];  /* HOST:PORT, or the path of a socket */
	char software[24];  /* "redis", "valkey" */
	const char *vendor; /* the same with a capital letter */
	char version[32];
	int version_number; /* 70015 for 7.0.15 */
	char mode[16];
	bool is_replica;
	const char *tls;          /* NULL: none */
	bool can_ask_permissions; /* without trying */
	bool can_read_settings;
	enum grants grants;   /* whether it lets locks be taken now */
	struct error refusal; /* why not */
	char *fields;         /* the replies to INFO */
	char settings[SERVER_SETTINGS][160];
	struct timing timing;
};

/* Asks for everything, with `samples` round trips. Returns 0, or -1 when the server cannot be asked
 * anything. Call server_info_free in both cases. */
int server_info_collect(struct server_info *info, struct client *client, int samples,
			struct error *err);

/* The same without INFO, settings and permissions. */
int server_info_measure(struct server_info *info, struct client *client, int samples,
			struct error *err);

/* A field of INFO; NULL when it is not known. value has room for its text. */
const char *server_info_text(const struct server_info *info, const char *field, char value[256]);

/* The same as a number; -1 when it is not known. */
long long server_info_number(const struct server_info *info, const char *field);

/* A setting of the server (CONFIG GET); NULL when it is not known. */
const char *server_info_setting(const struct server_info *info, const char *name);

/* Sends one request with the client's timeout; the reply is the client's. */
int server_info_call(struct client *client, const struct request *request, struct error *err);

enum permission {
	IS_DENIED,
	IS_ALLOWED,
	IS_UNKNOWN, /* the server has no such command */
};

/* Asks whether this user may run commands, without running them. The words of a command are
 * separated by line ends; REQUEST_ARGS - 3 commands at most. Returns 0; 1 when the server is too
 * old to be asked; or -1. */
int server_info_ask_permissions(struct client *client, size_t count, const char *const *commands,
				enum permission *permissions, struct error *err);

void server_info_free(struct server_info *info);
