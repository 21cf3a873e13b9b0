/* Asks for nothing that the server is known to refuse: refusals stand in its ACL log. */
#include "doctor/facts.h"

#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#include "base/clock.h"
#include "redis/client.h"
#include "redis/reply.h"
#include "redis/server.h"
#include "redis/tls.h"

#define SAMPLES 3
/* Some thousand years from now. */
#define LATEST_S 100000000000

int facts_call(struct client *client, const struct request *request, struct error *err)
{
	return client_call(client, request, clock_ms() + client->timeout_ms, false, err);
}

/* ---- Who it is ---- */

static void find_address(struct facts *facts)
{
	const struct client *client = facts->client;
	struct sockaddr_storage address = {0};
	socklen_t length = sizeof(address);
	char host[64], port[8];

	if (facts->server->kind == SERVER_UNIX)
		snprintf(facts->address, sizeof(facts->address), "%s", facts->server->path);
	if (getpeername(client->connection.fd, (struct sockaddr *)&address, &length) < 0 ||
	    address.ss_family == AF_UNIX ||
	    getnameinfo((struct sockaddr *)&address, length, host, sizeof(host), port, sizeof(port),
			NI_NUMERICHOST | NI_NUMERICSERV) != 0)
		return;
	snprintf(facts->address, sizeof(facts->address), strchr(host, ':') ? "[%s]:%s" : "%s:%s",
		 host, port);
}

static void copy_field(char *to, size_t size, const struct client *client, const char *key)
{
	const char *text = reply_field(client->reply, key);

	snprintf(to, size, "%s", text ? text : "");
}

int facts_begin(struct facts *facts, struct client *client, struct error *err)
{
	const struct request request = {.argv = {"HELLO"}, .argc = 1};
	const struct server *server = client->connection.server;
	char role[16];

	*facts = (struct facts){.client = client, .server = server};
	if (facts_call(client, &request, err) < 0)
		return -1;
	copy_field(facts->software, sizeof(facts->software), client, "server");
	copy_field(facts->version, sizeof(facts->version), client, "version");
	copy_field(facts->mode, sizeof(facts->mode), client, "mode");
	copy_field(role, sizeof(role), client, "role");
	facts->is_replica = strcmp(role, "replica") == 0;
	facts->user = server->user ? server->user : "default";
	facts->vendor = strcmp(facts->software, "valkey") == 0 ? "Valkey" : "Redis";
	facts->tls = tls_protocol(client->connection.redis);
	find_address(facts);
	return 0;
}

/* ---- INFO and settings ---- */

bool facts_is_gone(const struct error *err)
{
	return err->status == STATUS_UNAVAILABLE && !strstr(err->text, "unknown command");
}

static int add_info(const struct facts *facts, FILE *fields, struct error *err)
{
	const struct request request = {.argv = {"INFO"}, .argc = 1};

	if (strstr(facts->denied, "+info"))
		return 0;
	if (facts_call(facts->client, &request, err) < 0)
		return facts_is_gone(err) ? -1 : 0;
	if (!reply_string(facts->client->reply))
		return reply_nonsense(err);
	fprintf(fields, "\n%s", reply_string(facts->client->reply));
	return 0;
}

/* Reads no more settings after a refusal. */
static int add_settings(struct facts *facts, FILE *fields, struct error *err)
{
	static const char *const names[] = {"save", "appendfsync", "stop-writes-on-bgsave-error",
					    "min-replicas-to-write", "maxclients"};

	facts->can_read_settings = !strstr(facts->denied, "+config");
	for (size_t i = 0; facts->can_read_settings && i < sizeof(names) / sizeof(names[0]); i++) {
		const struct request request = {.argv = {"CONFIG", "GET", names[i]}, .argc = 3};
		const char *value;

		facts->can_read_settings = facts_call(facts->client, &request, err) == 0;
		if (!facts->can_read_settings)
			return facts_is_gone(err) ? -1 : 0;
		value = reply_field(facts->client->reply, names[i]);
		/* an empty "save" says that the server never saves, not that we do not know */
		if (value && (*value || i == 0))
			fprintf(fields, "\n%s:%s", names[i], *value ? value : "never");
	}
	return 0;
}

static int read_fields(struct facts *facts, struct error *err)
{
	size_t size;
	FILE *fields = open_memstream(&facts->fields, &size);
	int result = fields ? add_info(facts, fields, err) : 0;

	if (fields && result == 0)
		result = add_settings(facts, fields, err);
	if (!fields || fclose(fields) != 0)
		return fail(err, STATUS_OS,
			    "cannot store the answers of the server: out of memory");
	return result;
}

const char *facts_text(const struct facts *facts, const char *name, char value[FACT_MAX_BYTES])
{
	char line[64];
	const char *found;

	snprintf(line, sizeof(line), "\n%s:", name);
	found = facts->fields ? strstr(facts->fields, line) : NULL;
	if (!found)
		return NULL;
	found += strlen(line);
	snprintf(value, FACT_MAX_BYTES, "%.*s", (int)strcspn(found, "\r\n"), found);
	return value;
}

long long facts_number(const struct facts *facts, const char *name)
{
	char value[FACT_MAX_BYTES], *end;
	long long number;

	if (!facts_text(facts, name, value))
		return -1;
	number = strtoll(value, &end, 10);
	return end == value || *end != '\0' || number < 0 ? -1 : number;
}

/* ---- Its clock ---- */

static int64_t now_us(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

/* "1795261602", "123456" as microseconds; -1 for what is no time. */
static int64_t read_time_us(const struct redisReply *reply)
{
	const long long seconds = strtoll(reply_text(reply, 0), NULL, 10);
	const long long more_us = strtoll(reply_text(reply, 1), NULL, 10);

	if (!reply_fits(reply, "ss") || seconds < 0 || seconds > LATEST_S || more_us < 0 ||
	    more_us >= 1000000)
		return -1;
	return (int64_t)seconds * 1000000 + more_us;
}

/* The quickest of a few answers tells the most. */
static int read_clock(struct facts *facts, struct error *err)
{
	const struct request request = {.argv = {"TIME"}, .argc = 1};

	for (int i = 0; i < SAMPLES; i++) {
		const int64_t begun_us = now_us(CLOCK_REALTIME), from = now_us(CLOCK_MONOTONIC);
		int64_t took_us, server_us;

		if (facts_call(facts->client, &request, err) < 0)
			return -1;
		took_us = now_us(CLOCK_MONOTONIC) - from;
		server_us = read_time_us(facts->client->reply);
		if (server_us < 0)
			return reply_nonsense(err);
		if (!facts->has_clock || took_us < facts->trip_us) {
			facts->trip_us = took_us;
			facts->ahead_us = server_us - (begun_us + took_us / 2);
		}
		facts->has_clock = true;
	}
	return 0;
}

int facts_measure(struct facts *facts, struct client *client, struct error *err)
{
	return facts_begin(facts, client, err) < 0 ? -1 : read_clock(facts, err);
}

int facts_collect(struct facts *facts, struct error *err)
{
	if (read_fields(facts, err) < 0)
		return -1;
	facts->grants = grants_ask(facts->client, &facts->refusal);
	return read_clock(facts, err) < 0 && facts_is_gone(err) ? -1 : 0;
}

void facts_free(struct facts *facts)
{
	free(facts->fields);
	facts->fields = NULL;
}
