/* Asks for nothing that the server is known to refuse: refusals stand in its ACL log. */
#include "doctor/server_info.h"

#include <arpa/inet.h>
#include <assert.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/read_file.h"
#include "redis/client.h"
#include "redis/reply.h"
#include "redis/server.h"
#include "redis/tls.h"

/* Of fairlock-server. */
#define ADMIN_URL "unix:/run/fairlock/socket?user=admin"
#define ADMIN_PASSWORD "/var/lib/fairlock-server/admin.password"

#define SAMPLES_MAX 100
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

static const char *const sections[] = {"server",      "clients", "memory",
				       "persistence", "stats",   "replication"};

/* All versions know the older name lua-time-limit. */
static const char *const setting_names[SERVER_SETTINGS] = {
	"save",           "appendfsync",   "stop-writes-on-bgsave-error", "min-replicas-to-write",
	"timeout",        "tcp-keepalive", "client-output-buffer-limit",  "maxclients",
	"lua-time-limit",
};

int server_info_call(struct client *client, const struct request *request, struct error *err)
{
	return client_call(client, request, clock_ms() + client->timeout_ms, false, err);
}

int server_info_ask_permissions(struct client *client, size_t count, const char *const *commands,
				enum permission *permissions, struct error *err)
{
	struct request request = {.argv = {"EVAL", permissions_script, "0"}, .argc = 3};

	for (size_t i = 0; i < count; i++) {
		request.argv[request.argc++] = commands[i];
		permissions[i] = IS_UNKNOWN;
	}
	if (server_info_call(client, &request, err) < 0)
		return -1;
	if (reply_count(client->reply) != count)
		return reply_fits(client->reply, "") ? 1 : reply_nonsense(err);
	for (size_t i = 0; i < count; i++)
		permissions[i] = (enum permission)reply_number(client->reply, i);
	return 0;
}

/* ---- Who it is ---- */

static void find_address(struct server_info *info)
{
	const struct client *client = info->client;
	struct sockaddr_storage address = {0};
	socklen_t length = sizeof(address);
	char host[INET6_ADDRSTRLEN] = "";
	const struct sockaddr_in *four = (const struct sockaddr_in *)&address;
	const struct sockaddr_in6 *six = (const struct sockaddr_in6 *)&address;

	if (client->connection.server->kind == SERVER_UNIX)
		snprintf(info->address, sizeof(info->address), "%s",
			 client->connection.server->path);
	if (getpeername(client->connection.fd, (struct sockaddr *)&address, &length) < 0)
		return;
	if (address.ss_family == AF_INET && inet_ntop(AF_INET, &four->sin_addr, host, sizeof(host)))
		snprintf(info->address, sizeof(info->address), "%s:%u", host,
			 ntohs(four->sin_port));
	if (address.ss_family == AF_INET6 &&
	    inet_ntop(AF_INET6, &six->sin6_addr, host, sizeof(host)))
		snprintf(info->address, sizeof(info->address), "[%s]:%u", host,
			 ntohs(six->sin6_port));
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

/* Fills *info with what every user is told. */
static int say_hello(struct server_info *info, struct client *client, struct error *err)
{
	const struct request request = {.argv = {"HELLO"}, .argc = 1};
	char role[16];

	*info = (struct server_info){.client = client};
	if (server_info_call(client, &request, err) < 0)
		return -1;
	copy_field(info->software, sizeof(info->software), client, "server");
	copy_field(info->version, sizeof(info->version), client, "version");
	copy_field(info->mode, sizeof(info->mode), client, "mode");
	copy_field(role, sizeof(role), client, "role");
	info->is_replica = strcmp(role, "replica") == 0;
	info->user = client->connection.server->user ? client->connection.server->user : "default";
	info->vendor = strcmp(info->software, "valkey") == 0 ? "Valkey" : "Redis";
	info->version_number = read_version(info->version);
	info->tls = tls_protocol(client->connection.redis);
	find_address(info);
	return 0;
}

/* ---- INFO and settings ---- */

static int append_fields(struct server_info *info, const char *text, struct error *err)
{
	const size_t before = info->fields ? strlen(info->fields) : 0;
	char *longer = realloc(info->fields, before + strlen(text) + 2);

	if (!longer)
		return fail(err, STATUS_OS,
			    "cannot store the answers of the server: out of memory");
	info->fields = longer;
	longer[before] = '\n';
	strcpy(longer + before + 1, text);
	return 0;
}

/* The server is gone, or hangs. Any other answer is a refusal, and no failure. */
static bool is_gone(const struct error *err)
{
	return err->status == STATUS_UNAVAILABLE && !strstr(err->text, "unknown command");
}

static int read_section(struct server_info *info, const char *section, struct error *err)
{
	const struct request request = {.argv = {"INFO", section}, .argc = 2};

	if (server_info_call(info->client, &request, err) < 0)
		return is_gone(err) ? -1 : 0;
	if (!reply_string(info->client->reply))
		return reply_nonsense(err);
	return append_fields(info, reply_string(info->client->reply), err);
}

/* After a refusal the caller reads no more settings. */
static int read_setting(struct server_info *info, size_t index, struct error *err)
{
	const char *name = setting_names[index], *value;
	const struct request request = {.argv = {"CONFIG", "GET", name}, .argc = 3};

	info->can_read_settings = server_info_call(info->client, &request, err) == 0;
	if (!info->can_read_settings)
		return is_gone(err) ? -1 : 0;
	value = reply_field(info->client->reply, name);
	/* An empty "save" says that the server never saves, not that we do not know. */
	if (value && !*value && strcmp(name, "save") == 0)
		value = "never";
	snprintf(info->settings[index], sizeof(info->settings[index]), "%s", value ? value : "");
	return 0;
}

static int read_what_is_allowed(struct server_info *info, struct error *err)
{
	enum { CONFIG, SECTIONS, COUNT = SECTIONS + sizeof(sections) / sizeof(sections[0]) };
	const char *commands[COUNT] = {"CONFIG\nGET\nsave"};
	char texts[COUNT][32];
	enum permission permissions[COUNT];
	int result;

	for (int i = SECTIONS; i < COUNT; i++) {
		snprintf(texts[i], sizeof(texts[i]), "INFO\n%s", sections[i - SECTIONS]);
		commands[i] = texts[i];
	}
	result = server_info_ask_permissions(info->client, COUNT, commands, permissions, err);
	info->can_ask_permissions = result == 0;
	result = result < 0 && is_gone(err) ? -1 : 0;
	for (int i = SECTIONS; result == 0 && i < COUNT; i++)
		if (!info->can_ask_permissions || permissions[i] == IS_ALLOWED)
			result = read_section(info, sections[i - SECTIONS], err);
	info->can_read_settings = !info->can_ask_permissions || permissions[CONFIG] == IS_ALLOWED;
	for (size_t i = 0; result == 0 && info->can_read_settings && i < SERVER_SETTINGS; i++)
		result = read_setting(info, i, err);
	return result;
}

const char *server_info_text(const struct server_info *info, const char *field, char value[256])
{
	const size_t length = strlen(field);

	for (const char *line = info->fields; line; line = strchr(line, '\n')) {
		line++;
		if (strncmp(line, field, length) == 0 && line[length] == ':') {
			line += length + 1;
			snprintf(value, 256, "%.*s", (int)strcspn(line, "\r\n"), line);
			return value;
		}
	}
	return NULL;
}

long long server_info_number(const struct server_info *info, const char *field)
{
	char value[256], *end;
	long long number;

	if (!server_info_text(info, field, value))
		return -1;
	number = strtoll(value, &end, 10);
	return end == value || *end != '\0' || number < 0 ? -1 : number;
}

const char *server_info_setting(const struct server_info *info, const char *name)
{
	size_t i = 0;

	while (i < SERVER_SETTINGS && strcmp(setting_names[i], name) != 0)
		i++;
	assert(i < SERVER_SETTINGS); /* name is in setting_names */
	return info->settings[i][0] ? info->settings[i] : NULL;
}

/* The clients of fairlock-server see little of it. Its administrator sees all, and root on its host
 * may ask as that user: only root can read the password. */
static void ask_as_administrator(struct server_info *info)
{
	char password[80], id[256], same[256];
	const ssize_t length =
		read_file(read_file_open(ADMIN_PASSWORD), password, sizeof(password) - 1);
	struct server server = {0};
	struct server_info seen = {0};
	struct client client;
	struct error ignored;

	if (length <= 0 || !server_info_text(info, "run_id", id))
		return;
	if (server_parse(&server, ADMIN_URL, &ignored) == 0)
		server.password = strndup(password, strcspn(password, "\n"));
	if (!server.password) {
		server_free(&server);
		return;
	}
	client_init(&client, &server, info->client->timeout_ms);
	if (say_hello(&seen, &client, &ignored) == 0 &&
	    read_what_is_allowed(&seen, &ignored) == 0 && server_info_text(&seen, "run_id", same) &&
	    strcmp(id, same) == 0) {
		info->can_read_settings = seen.can_read_settings;
		memcpy(info->settings, seen.settings, sizeof(info->settings));
		free(info->fields);
		info->fields = seen.fields;
		seen.fields = NULL;
	}
	server_info_free(&seen);
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

/* Half of the round trip lies before the moment at which the server looked at its clock. */
static int take_sample(struct timing *timing, const struct redisReply *reply, int64_t begun_us,
		       int64_t took_us, struct error *err)
{
	const int64_t server_us = read_time_us(reply);

	if (server_us < 0)
		return reply_nonsense(err);
	if (timing->samples > 0 && took_us >= timing->quickest_us)
		return 0;
	timing->quickest_us = took_us;
	timing->ahead_us = server_us - (begun_us + took_us / 2);
	return 0;
}

static int take_times(struct timing *timing, struct client *client, int samples, struct error *err)
{
	const struct request request = {.argv = {"TIME"}, .argc = 1};
	const int64_t until_ms = clock_ms() + SAMPLING_MS;
	int64_t took[SAMPLES_MAX];
	int count = 0;

	do {
		const int64_t begun_us = now_us(CLOCK_REALTIME), from = now_us(CLOCK_MONOTONIC);

		if (server_info_call(client, &request, err) < 0)
			return -1;
		took[count] = now_us(CLOCK_MONOTONIC) - from;
		timing->samples = count;
		if (take_sample(timing, client->reply, begun_us, took[count++], err) < 0)
			return -1;
	} while (count < samples && count < SAMPLES_MAX && clock_ms() < until_ms);
	qsort(took, (size_t)count, sizeof(*took), compare);
	timing->samples = count;
	timing->median_us = took[count / 2];
	timing->longest_us = took[count - 1];
	timing->is_known = true;
	return 0;
}

int server_info_measure(struct server_info *info, struct client *client, int samples,
			struct error *err)
{
	if (say_hello(info, client, err) < 0)
		return -1;
	return take_times(&info->timing, client, samples, err);
}

int server_info_collect(struct server_info *info, struct client *client, int samples,
			struct error *err)
{
	if (say_hello(info, client, err) < 0 || read_what_is_allowed(info, err) < 0)
		return -1;
	if (!info->can_read_settings)
		ask_as_administrator(info);
	info->grants = grants_ask(client, &info->refusal);
	return take_times(&info->timing, client, samples, err) < 0 && is_gone(err) ? -1 : 0;
}

void server_info_free(struct server_info *info)
{
	free(info->fields);
	info->fields = NULL;
}
