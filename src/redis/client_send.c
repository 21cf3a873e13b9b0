/* Writes SUBSCRIBE, the request, ASKING and WAIT, and counts the replies that they bring. */
#include "redis/client_send.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/clock.h"
#include "redis/connection.h"
#include "redis/script.h"

/* Each command needs this before it at a node to which the slot is on its way. */
static void send_asking(struct client *client)
{
	if (!client->connection.asking)
		return;
	connection_send(&client->connection, 1, (const char *[]){"ASKING"});
	client->unasked++;
}

/* Each channel has a command of its own: a server confirms each channel of a command, but refuses
 * the command with one error. */
static void subscribe(struct client *client, const char *channel)
{
	const char *argv[] = {client->by_shard ? "SSUBSCRIBE" : "SUBSCRIBE", channel};

	send_asking(client);
	connection_send(&client->connection, 2, argv);
	client->confirmations++;
}

void client_send_subscriptions(struct client *client)
{
	if (client->subscribed == 0)
		client->by_shard = client->connection.handshake.shards;
	while (client->subscribed < client->channel_count)
		subscribe(client, client->channels[client->subscribed++]);
}

/* When a server has read all that came at once, it writes to its clients, beginning with the one
 * for which it had something last. That is the one that made the request, unless the server had
 * something for it before. So we ask for something first that changes nothing. */
static void be_answered_last(struct client *client)
{
	if (client->subscribed > 0 && !client->connection.asking)
		subscribe(client, client->channels[0]);
}

void client_send_request(struct client *client, bool whole_script)
{
	const struct request *request = &client->request;
	const char *argv[REQUEST_ARGS + 3];
	const int64_t now = clock_ms();
	int argc = 0;

	if (request->script) {
		argv[argc++] = whole_script ? "EVAL" : "EVALSHA";
		argv[argc++] = whole_script ? request->script->text : request->script->sha1;
		argv[argc++] = request->keys == 6 ? "6" : "7";
	}
	for (int i = 0; i < request->argc; i++)
		argv[argc++] = request->argv[i];
	if (request->again && (client->retried || client->returning))
		argv[argc - request->argc + request->again] = "1";
	if (request->strays) {
		snprintf(client->strays_text, sizeof(client->strays_text), "%d", client->strays);
		argv[argc - request->argc + request->strays] = client->strays_text;
	}
	if (request->age) {
		snprintf(client->age_text, sizeof(client->age_text), "-%" PRId64,
			 now - request->since_ms);
		argv[argc - request->argc + request->age] = client->age_text;
	}
	client_send_subscriptions(client); /* one may have been put off */
	if (request->tells)
		be_answered_last(client);
	send_asking(client);
	connection_send(&client->connection, argc, argv);
	client->phase = whole_script ? REQUEST_SENT_WHOLE : REQUEST_SENT;
	client->replicas = 0;
	client->before_reply = client->confirmations;
	client->sent_ms = now;
	client->due_ms = now + client->timeout_ms;
}

void client_send_wait(struct client *client)
{
	const struct request *request = &client->request;
	char replicas[24], ms[24];

	snprintf(replicas, sizeof(replicas), "%" PRId64, request->replicas);
	snprintf(ms, sizeof(ms), "%" PRId64, request->replicas_ms);
	connection_send(&client->connection, 3, (const char *[]){"WAIT", replicas, ms});
	client->due_ms = clock_ms() + request->replicas_ms + client->timeout_ms;
}
