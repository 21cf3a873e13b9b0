#include "doctor/server_info.h"

#include <arpa/inet.h>
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
#include "redis/client_call.h"
#include "redis/reply.h"
#include "redis/server_url.h"
#include "redis/tls.h"

#define SAMPLES_MAX 100
/* However slow the way is, round trips are not taken for longer than that. */
#define SAMPLING_MS 2000
/* Some thousand years from now. */
#define LATEST_S 100000000000

/* A command's name and its arguments are ARGV, as text: the server says whether this user may run
 * it, and does nothing. */
static const char may_text[] = "local check = redis.acl_check_cmd\n"
			       "if not check then return {} end\n"
			       "local leaves = {}\n"
			       "for i, text in ipairs(ARGV) do\n"
			       "local words = {}\n"
			       "for word in string.gmatch(text, '[^\\n]+') do\n"
			       "words[#words + 1] = word\n"
			       "end\n"
			       "local asked, allowed = pcall(check, unpack(words))\n"
			       "leaves[i] = not asked and 2 or allowed and 1 or 0\n"
			       "end\n"
			       "return leaves\n";

static const char *const sections[] = {"server",      "clients", "memory",
				       "persistence", "stats",   "replication"};

static const char *const setting_names[SETTING_COUNT] = {
	[SETTING_SAVE] = "save",
	[SETTING_APPENDFSYNC] = "appendfsync",
	[SETTING_STOP_WRITES] = "stop-writes-on-bgsave-error",
	[SETTING_MIN_REPLICAS] = "min-replicas-to-write",
	[SETTING_TIMEOUT] = "timeout",
	[SETTING_KEEPALIVE] = "tcp-keepalive",
	[SETTING_BUFFERS] = "client-output-buffer-limit",
	[SETTING_MAXCLIENTS] = "maxclients",
	[SETTING_SCRIPT_LIMIT] = "lua-time-limit", /* its older name is known to all */
};

int server_info_call(struct client *client, const struct request *request, struct error *err)
{
	return client_call(client, request, clock_ms() + client->timeout_ms, false, err);
}

int server_info_may(struct client *client, int count, const char *const *commands,
		    enum leave *leaves, struct error *err)
{
	struct request request = {.argv = {"EVAL", may_text, "0"}, .argc = 3};

	for (int i = 0; i < count; i++) {
		request.argv[request.argc++] = commands[i];
		leaves[i] = IS_UNKNOWN;
	}
	if (server_info_call(client, &request, err) < 0)
		return -1;
	if (reply_count(client->reply) != (size_t)count)
		return reply_fits(client->reply, "") ? 1 : reply_nonsense(err);
	for (int i = 0; i < count; i++)
		leaves[i] = (enum leave)reply_number(client->reply, (size_t)i);
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

static int number_of(const char *version)
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

static int greet(struct server_info *info, struct error *err)
{
	const struct request request = {.argv = {"HELLO"}, .argc = 1};
	struct client *client = info->client;
	char role[16];

	if (server_info_call(client, &request, err) < 0)
		return -1;
	copy_field(info->software, sizeof(info->software), client, "server");
	copy_field(info->version, sizeof(info->version), client, "version");
	copy_field(info->mode, sizeof(info->mode), client, "mode");
	copy_field(role, sizeof(role), client, "role");
	info->is_replica = strcmp(role, "replica") == 0;
	info->number = number_of(info->version);
	info->tls = tls_protocol(client->connection.redis);
	find_address(info);
	return 0;
}

/* ---- What it tells ---- */

static int append_info(struct server_info *info, const char *text, struct error *err)
{
	const size_t before = info->info ? strlen(info->info) : 0;
	char *longer = realloc(info->info, before + strlen(text) + 2);

	if (!longer)
		return fail(err, STATUS_OS, "cannot keep what the server says: out of memory");
	info->info = longer;
	longer[before] = '\n';
	strcpy(longer + before + 1, text);
	return 0;
}

/* The server is gone, or hangs. Anything else that it answers is a refusal, and no failure. */
static bool is_gone(const struct error *err)
{
	return err->status == STATUS_UNAVAILABLE && !strstr(err->text, "unknown command");
}

static int ask_info(struct server_info *info, const char *section, struct error *err)
{
	const struct request request = {.argv = {"INFO", section}, .argc = 2};

	if (server_info_call(info->client, &request, err) < 0)
		return is_gone(err) ? -1 : 0;
	if (!reply_string(info->client->reply))
		return reply_nonsense(err);
	return append_info(info, reply_string(info->client->reply), err);
}

/* Where one is refused, the others are not asked for. */
static int ask_setting(struct server_info *info, enum setting setting, struct error *err)
{
	const struct request request = {.argv = {"CONFIG", "GET", setting_names[setting]},
					.argc = 3};
	const char *value;

	info->has_config = server_info_call(info->client, &request, err) == 0;
	if (!info->has_config)
		return is_gone(err) ? -1 : 0;
	value = reply_field(info->client->reply, setting_names[setting]);
	/* never to save is something else than not to say */
	snprintf(info->settings[setting], sizeof(info->settings[setting]), "%s",
		 !value                               ? ""
		 : setting == SETTING_SAVE && !*value ? "never"
						      : value);
	return 0;
}

/* Whatever is refused stands in the server's ACL log: what it is known to refuse is not tried. */
static int ask_what_it_may(struct server_info *info, struct error *err)
{
	enum { CONFIG, SECTIONS, COUNT = SECTIONS + sizeof(sections) / sizeof(sections[0]) };
	const char *commands[COUNT] = {"CONFIG\nGET\nsave"};
	char texts[COUNT][32];
	enum leave leaves[COUNT];
	int result;

	for (int i = SECTIONS; i < COUNT; i++) {
		snprintf(texts[i], sizeof(texts[i]), "INFO\n%s", sections[i - SECTIONS]);
		commands[i] = texts[i];
	}
	result = server_info_may(info->client, COUNT, commands, leaves, err);
	info->can_ask = result == 0;
	result = result < 0 && is_gone(err) ? -1 : 0;
	for (int i = SECTIONS; result == 0 && i < COUNT; i++)
		if (!info->can_ask || leaves[i] == MAY)
			result = ask_info(info, sections[i - SECTIONS], err);
	info->has_config = !info->can_ask || leaves[CONFIG] == MAY;
	for (int i = 0; result == 0 && info->has_config && i < SETTING_COUNT; i++)
		result = ask_setting(info, (enum setting)i, err);
	return result;
}

const char *server_info_text(const struct server_info *info, const char *field, char value[256])
{
	const size_t length = strlen(field);

	for (const char *line = info->info; line; line = strchr(line, '\n')) {
		line++;
		if (strncmp(line, field, length) == 0 && line[length] == ':') {
			line += length + 1;
			snprintf(value, 256, "%.*s", (int)strcspn(line, "\r\n"), line);
			return value;
		}
	}
	return NULL;
}

int64_t server_info_number(const struct server_info *info, const char *field)
{
	char value[256], *end;
	int64_t number;

	if (!server_info_text(info, field, value))
		return -1;
	number = strtoll(value, &end, 10);
	return end == value || *end != '\0' || number < 0 ? -1 : number;
}

const char *server_info_setting(const struct server_info *info, enum setting setting)
{
	return info->settings[setting][0] ? info->settings[setting] : NULL;
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
	*info = (struct server_info){.client = client};
	if (greet(info, err) < 0)
		return -1;
	return take_times(&info->timing, client, samples, err);
}

int server_info_ask(struct server_info *info, struct client *client, int samples, struct error *err)
{
	*info = (struct server_info){.client = client};
	if (greet(info, err) < 0 || ask_what_it_may(info, err) < 0)
		return -1;
	return take_times(&info->timing, client, samples, err) < 0 && is_gone(err) ? -1 : 0;
}

void server_info_free(struct server_info *info)
{
	free(info->info);
	info->info = NULL;
}
