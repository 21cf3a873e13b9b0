/* Asks for nothing that the server is known to refuse: refusals stand in its ACL log. */
#include "doctor/facts.h"

#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#include "base/clock.h"
#include "base/read_file.h"
#include "redis/client_call.h"
#include "redis/reply.h"
#include "redis/server_url.h"
#include "redis/tls.h"

/* Of fairlock-server. */
#define ADMIN_URL "unix:/run/fairlock/socket?user=admin"
#define ADMIN_PASSWORD "/var/lib/fairlock-server/admin.password"

#define SAMPLES 20
/* Round trips end after this, however slow they are. */
#define SAMPLING_MS 2000
/* Some thousand years from now. */
#define LATEST_S 100000000000

/* Returns an enum permission for each command in ARGV. */
static const char permissions_script[] = "local check = redis.acl_check_cmd\n"
					 "if not check then return {} end\n"
					 "local permissions = {}\n"
					 "for i, text in ipairs(ARGV) do\n"
					 "local words = {}\n"
					 "for word in string.gmatch(text, '[^\\n]+') do\n"
					 "words[#words + 1] = word\n"
					 "end\n"
					 "local asked, allowed = pcall(check, unpack(words))\n"
					 "permissions[i] = not asked and 2 or allowed and 1 or 0\n"
					 "end\n"
					 "return permissions\n";

int facts_call(struct client *client, const struct request *request, struct error *err)
{
	return client_call(client, request, clock_ms() + client->timeout_ms, false, err);
}

int facts_ask_permissions(struct client *client, size_t count, const char *const *commands,
			  enum permission *permissions, struct error *err)
{
	struct request request = {.argv = {"EVAL", permissions_script, "0"}, .argc = 3};

	for (size_t i = 0; i < count; i++)
		request.argv[request.argc++] = commands[i];
	if (facts_call(client, &request, err) < 0)
		return -1;
	if (reply_count(client->reply) != count)
		return reply_fits(client->reply, "") ? 1 : reply_nonsense(err);
	for (size_t i = 0; i < count; i++)
		permissions[i] = (enum permission)reply_number(client->reply, i);
	return 0;
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

static int read_version(const char *version)
{
	int major = 0, minor = 0, patch = 0;

	if (sscanf(version, "%d.%d.%d", &major, &minor, &patch) < 1 || major < 0 || major > 1000 ||
	    minor < 0 || minor > 99 || patch < 0 || patch > 99)
		return 0;
	return major * 10000 + minor * 100 + patch;
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
	facts->version_number = read_version(facts->version);
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

static int add_what_is_allowed(struct facts *facts, FILE *fields, struct error *err)
{
	enum { ALL, SERVER, CONFIG, QUESTIONS };
	const char *const questions[] = {"INFO", "INFO\nserver", "CONFIG\nGET\nsave"};
	enum permission permissions[] = {IS_ALLOWED, IS_ALLOWED, IS_ALLOWED};
	int result = facts_ask_permissions(facts->client, QUESTIONS, questions, permissions, err);

	facts->can_ask_permissions = result == 0;
	if (result < 0 && is_gone(err))
		return -1;
	result = permissions[ALL] == IS_ALLOWED ? add_info(facts, fields, NULL, err) : 1;
	if (result == 1 && permissions[SERVER] == IS_ALLOWED)
		result = add_info(facts, fields, "server", err);
	if (result < 0)
		return -1;
	facts->can_read_settings = permissions[CONFIG] == IS_ALLOWED;
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

static int compare(const void *a, const void *b)
{
	const int64_t first = *(const int64_t *)a, second = *(const int64_t *)b;

	return (first > second) - (first < second);
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

static int take_times(struct timing *timing, struct client *client, int samples, struct error *err)
{
	const struct request request = {.argv = {"TIME"}, .argc = 1};
	const int64_t until_ms = clock_ms() + SAMPLING_MS;
	int64_t took[SAMPLES], server_us;
	int count = 0;

	do {
		const int64_t begun_us = now_us(CLOCK_REALTIME), from = now_us(CLOCK_MONOTONIC);

		if (facts_call(client, &request, err) < 0)
			return -1;
		took[count] = now_us(CLOCK_MONOTONIC) - from;
		server_us = read_time_us(client->reply);
		if (server_us < 0)
			return reply_nonsense(err);
		if (count == 0 || took[count] < timing->quickest_us) {
			timing->quickest_us = took[count];
			/* half of the round trip lies before the server looked at its clock */
			timing->ahead_us = server_us - (begun_us + took[count] / 2);
		}
	} while (++count < samples && clock_ms() < until_ms);
	qsort(took, (size_t)count, sizeof(*took), compare);
	timing->samples = count;
	timing->median_us = took[count / 2];
	timing->longest_us = took[count - 1];
	return 0;
}

int facts_measure(struct facts *facts, struct client *client, int samples, struct error *err)
{
	if (say_hello(facts, client, err) < 0)
		return -1;
	return take_times(&facts->timing, client, samples, err);
}

int facts_collect(struct facts *facts, struct client *client, struct error *err)
{
	if (say_hello(facts, client, err) < 0 || read_what_is_allowed(facts, err) < 0)
		return -1;
	if (!facts->can_read_settings)
		ask_as_administrator(facts);
	facts->grants = grants_ask(client, &facts->refusal);
	return take_times(&facts->timing, client, SAMPLES, err) < 0 && is_gone(err) ? -1 : 0;
}

void facts_free(struct facts *facts)
{
	free(facts->fields);
	facts->fields = NULL;
}
