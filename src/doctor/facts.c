/* Asks for nothing that the server is known to refuse: refusals stand in its ACL log. */
#include "doctor/facts.h"

#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#include "base/clock.h"
#include "base/descriptors.h"
#include "redis/client.h"
#include "redis/reply.h"
#include "redis/server.h"
#include "redis/tls.h"

/* Of fairlock-server. */
#define ADMIN_URL "unix:/run/fairlock/socket?user=admin"
#define ADMIN_PASSWORD "/var/lib/fairlock-server/admin.password"

#define SAMPLES 20
/* Round trips end after this, however slow they are. */
#define SAMPLING_MS 2000
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

/* Fills *facts with what every user is told. */
static int say_hello(struct facts *facts, struct client *client, struct error *err)
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

/* The server is gone, or hangs. Any other answer is a refusal, and no failure. */
static bool is_gone(const struct error *err)
{
	return err->status == STATUS_UNAVAILABLE && !strstr(err->text, "unknown command");
}

/* Returns 1 if the server refuses, or -1. */
static int add_info(const struct facts *facts, FILE *fields, const char *section, struct error *err)
{
	const struct request request = {.argv = {"INFO", section}, .argc = section ? 2 : 1};

	if (facts_call(facts->client, &request, err) < 0)
		return is_gone(err) ? -1 : 1;
	if (!reply_string(facts->client->reply))
		return reply_nonsense(err);
	fprintf(fields, "\n%s", reply_string(facts->client->reply));
	return 0;
}

/* Reads no more settings after a refusal. */
static int add_settings(struct facts *facts, FILE *fields, struct error *err)
{
	/* all versions know the older name lua-time-limit */
	static const char *const names[] = {
		"save",
		"appendfsync",
		"stop-writes-on-bgsave-error",
		"min-replicas-to-write",
		"timeout",
		"tcp-keepalive",
		"client-output-buffer-limit",
		"maxclients",
		"lua-time-limit",
	};

	for (size_t i = 0; facts->can_read_settings && i < sizeof(names) / sizeof(names[0]); i++) {
		const struct request request = {.argv = {"CONFIG", "GET", names[i]}, .argc = 3};
		const char *value;

		facts->can_read_settings = facts_call(facts->client, &request, err) == 0;
		if (!facts->can_read_settings)
			return is_gone(err) ? -1 : 0;
		value = reply_field(facts->client->reply, names[i]);
		/* an empty "save" says that the server never saves, not that we do not know */
		if (value && (*value || i == 0))
			fprintf(fields, "\n%s:%s", names[i], *value ? value : "never");
	}
	return 0;
}

enum question { INFO_ALL, INFO_SERVER, CONFIG_GET, SCAN, QUESTIONS };

/* Asks what this user may do, without trying. Takes all for allowed if the server cannot say it: it
 * is too old, or the user may not run scripts. */
static int ask_permissions(struct facts *facts, enum permission may[QUESTIONS], struct error *err)
{
	static const char script_text[] =
		"local check = redis.acl_check_cmd\n"
		"if not check then return {} end\n"
		"local permissions = {}\n"
		"for i, text in ipairs(ARGV) do\n"
		"  local words = {}\n"
		"  for word in string.gmatch(text, '%S+') do words[#words + 1] = word end\n"
		"  local asked, allowed = pcall(check, unpack(words))\n"
		"  permissions[i] = not asked and 2 or allowed and 1 or 0\n"
		"end\n"
		"return permissions\n";
	const struct request request = {.argv = {"EVAL", script_text, "0", "INFO", "INFO server",
						 "CONFIG GET save", "SCAN 0"},
					.argc = 3 + QUESTIONS};
	const int result = facts_call(facts->client, &request, err);
	const struct redisReply *reply = facts->client->reply;

	facts->can_ask_permissions = result == 0 && reply_fits(reply, "iiii");
	for (size_t i = 0; i < QUESTIONS; i++)
		may[i] = facts->can_ask_permissions ? (enum permission)reply_number(reply, i)
						    : IS_ALLOWED;
	return result < 0 && is_gone(err) ? -1 : 0;
}

static int add_what_is_allowed(struct facts *facts, FILE *fields, struct error *err)
{
	enum permission may[QUESTIONS];
	int result = 1;

	if (ask_permissions(facts, may, err) < 0)
		return -1;
	if (may[INFO_ALL] == IS_ALLOWED)
		result = add_info(facts, fields, NULL, err);
	if (result == 1 && may[INFO_SERVER] == IS_ALLOWED)
		result = add_info(facts, fields, "server", err);
	if (result < 0)
		return -1;
	facts->may_scan = may[SCAN];
	facts->can_read_settings = may[CONFIG_GET] == IS_ALLOWED;
	return add_settings(facts, fields, err);
}

static int read_what_is_allowed(struct facts *facts, struct error *err)
{
	size_t size;
	FILE *fields = open_memstream(&facts->fields, &size);
	const int result = fields ? add_what_is_allowed(facts, fields, err) : 0;

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

/* The clients of fairlock-server see little of it. Its administrator sees all, and root on its host
 * may ask as that user: only root can read the password. */
static void ask_as_administrator(struct facts *facts)
{
	char password[80], id[FACT_MAX_BYTES], same[FACT_MAX_BYTES];
	const ssize_t length =
		read_file(read_file_open(ADMIN_PASSWORD), password, sizeof(password) - 1);
	struct server server = {0};
	struct facts seen = {0};
	struct client client;
	struct error ignored;

	if (length <= 0 || !facts_text(facts, "run_id", id))
		return;
	password[length] = '\0';
	if (server_parse(&server, ADMIN_URL, &ignored) == 0)
		server.password = strndup(password, strcspn(password, "\n"));
	client_init(&client, &server, facts->client->timeout_ms);
	if (server.password && say_hello(&seen, &client, &ignored) == 0 &&
	    read_what_is_allowed(&seen, &ignored) == 0 && facts_text(&seen, "run_id", same) &&
	    strcmp(id, same) == 0) {
		facts->can_read_settings = seen.can_read_settings;
		free(facts->fields);
		facts->fields = seen.fields;
		seen.fields = NULL;
	}
	facts_free(&seen);
	client_close(&client);
	server_free(&server);
}

/* ---- Times ---- */

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

static int take_times(struct timing *timing, struct client *client, struct error *err)
{
	const struct request request = {.argv = {"TIME"}, .argc = 1};
	const int64_t until_ms = clock_ms() + SAMPLING_MS;
	int64_t took[SAMPLES]; /* in ascending order */
	int count = 0;

	do {
		const int64_t begun_us = now_us(CLOCK_REALTIME), from = now_us(CLOCK_MONOTONIC);
		int64_t took_us, server_us;
		int place = count;

		if (facts_call(client, &request, err) < 0)
			return -1;
		took_us = now_us(CLOCK_MONOTONIC) - from;
		server_us = read_time_us(client->reply);
		if (server_us < 0)
			return reply_nonsense(err);
		for (; place > 0 && took[place - 1] > took_us; place--)
			took[place] = took[place - 1];
		took[place] = took_us;
		if (place ==
		    0) /* half of the round trip lies before the server's look at its clock */
			timing->ahead_us = server_us - (begun_us + took_us / 2);
	} while (++count < SAMPLES && clock_ms() < until_ms);
	timing->samples = count;
	timing->quickest_us = took[0];
	timing->median_us = took[count / 2];
	timing->longest_us = took[count - 1];
	return 0;
}

int facts_measure(struct facts *facts, struct client *client, struct error *err)
{
	if (say_hello(facts, client, err) < 0)
		return -1;
	return take_times(&facts->timing, client, err);
}

int facts_collect(struct facts *facts, struct client *client, struct error *err)
{
	if (say_hello(facts, client, err) < 0 || read_what_is_allowed(facts, err) < 0)
		return -1;
	if (!facts->can_read_settings)
		ask_as_administrator(facts);
	facts->grants = grants_ask(client, &facts->refusal);
	return take_times(&facts->timing, client, err) < 0 && is_gone(err) ? -1 : 0;
}

void facts_free(struct facts *facts)
{
	free(facts->fields);
	facts->fields = NULL;
}
