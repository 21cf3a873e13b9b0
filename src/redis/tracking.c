/* The connection carries nothing else: who waits for the reply to another request would miss a
 * change. */
#include "redis/tracking.h"

#include "base/clock.h"
#include "redis/client.h"
#include "redis/reply.h"

/* How often it asks a silent server whether it is still there. */
#define ASK_MS 5000

int tracking_start(struct tracking *tracking, const struct server *server, const char *prefix,
		   int64_t timeout_ms, int64_t until_ms, struct error *err)
{
	const struct request request = {
		.argv = {"CLIENT", "TRACKING", "ON", "BCAST", "PREFIX", prefix}, .argc = 6};
	struct client *client = &tracking->client;

	client_init(client, server, timeout_ms);
	if (client_call(client, &request, until_ms, false, err) < 0)
		return -1;
	client->tracks = true;
	tracking->ask_ms = clock_ms() + ASK_MS;
	return 0;
}

void tracking_close(struct tracking *tracking)
{
	if (tracking->client.connection.server)
		client_close(&tracking->client);
	*tracking = (struct tracking){0};
}

static void ask(struct tracking *tracking)
{
	static const struct request request = {.argv = {"TIME"}, .argc = 1};

	client_request(&tracking->client, &request);
	tracking->ask_ms = NEVER_MS;
}

enum tracking_event tracking_step(struct tracking *tracking)
{
	struct client *client = &tracking->client;

	if (clock_ms() >= tracking->ask_ms)
		ask(tracking);
	for (;;) {
		switch (client_step(client)) {
		case CLIENT_NOTHING:
			return client_has_greeted(client) ? TRACKING_NOTHING : TRACKING_LOST;
		case CLIENT_CHANGED:
			return TRACKING_CHANGED;
		case CLIENT_REPLY:
			tracking->ask_ms = clock_ms() + ASK_MS;
			break;
		case CLIENT_MESSAGE:
			break;
		case CLIENT_FAILED:
		case CLIENT_REFUSED:
			return TRACKING_LOST;
		}
	}
}

const char *tracking_key(const struct tracking *tracking, size_t index)
{
	const struct redisReply *keys = tracking->client.reply;

	return index < reply_count(keys) ? reply_text(keys, index) : NULL;
}

int64_t tracking_wait(const struct tracking *tracking, struct pollfd *slot)
{
	return earliest(client_wait(&tracking->client, slot), tracking->ask_ms);
}
