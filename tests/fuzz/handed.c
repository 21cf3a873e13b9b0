/* Fuzzes messages that may hand the lock to a waiter. The first line of an input is the channel:
 * "own", "plain" or "none", or "slots": own, of a waiter for a slot; the rest is the message, in
 * which @ stands for the secret of the waiter's last request, and ~ for the server's time.
 *
 * For: lock/lock.c */
#include "lock/lock.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "cli/options.h"
#include "parts/fuzz.h"

#define LEASE_MS 30000
#define SERVER_MS INT64_C(1795261602123)

static struct options options;

static void make_waiter(struct lock *lock, const char *slots)
{
	char *words[] = {NULL};
	struct request request;
	struct error err;

	options = (struct options){.lease_ms = LEASE_MS, .max_queue = -1, .slots = slots};
	HOLDS(lock_init(lock, "job", LOCK_WRAP, &options, words, &err) == 0);
	wire_ask(lock, &request, false);
	HOLDS(strlen(lock->place.secret) == SECRET_BYTES - 1);
	lock->place.heard_ms = clock_ms();
	lock->place.server_ms = SERVER_MS;
}

/* Puts the message into the client. Returns whether it fits. */
static bool put_message(struct client *client, const struct lock *lock, const char *text)
{
	size_t length = 0;

	for (; *text && length < sizeof(client->message); text++) {
		char *at = client->message + length;
		const size_t room = sizeof(client->message) - length;

		if (*text == '@')
			length += (size_t)snprintf(at, room, "%s", lock->place.secret);
		else if (*text == '~')
			length += (size_t)snprintf(at, room, "%" PRId64, SERVER_MS);
		else
			length += (size_t)snprintf(at, room, "%c", *text);
	}
	return length < sizeof(client->message);
}

/* Whether the message is a grant and nothing more, parsed in another way than lock.c does. */
static bool has_its_form(const char *message, const struct lock *lock)
{
	char again[MESSAGE_MAX_BYTES], token[MESSAGE_MAX_BYTES], ttl[MESSAGE_MAX_BYTES];
	char at[MESSAGE_MAX_BYTES];

	if (sscanf(message, "granted %127[0-9] %127[0-9] %127[0-9]", token, ttl, at) != 3 ||
	    strlen(token) > 16 || strlen(ttl) > 16 || strlen(at) > 16)
		return false;
	snprintf(again, sizeof(again), "granted %s %s %s %s%s%s", token, ttl, at,
		 lock->place.secret, lock_slot(lock) ? " " : "",
		 lock_slot(lock) ? lock_slot(lock) : "");
	return strcmp(message, again) == 0;
}

static void check_grant(const struct lock *lock, const struct client *client)
{
	int64_t ttl_ms = 0, at_ms = 0;

	HOLDS(client->heard_on == 0 && has_its_form(client->message, lock));
	HOLDS(sscanf(client->message, "granted %*s %" SCNd64 " %" SCNd64, &ttl_ms, &at_ms) == 2);
	HOLDS(ttl_ms > 0 && ttl_ms <= LEASE_MS && lock->handed);
	HOLDS(lock->deadline_ms - lock->since_ms == ttl_ms && lock->since_ms <= clock_ms());
	HOLDS(at_ms - SERVER_MS <= clock_ms() - lock->place.heard_ms + 100);
	HOLDS(strcmp(lock->owner, lock->id) == 0 && strlen(lock->token) <= 16);
	HOLDS((lock_slot(lock) != NULL) == (*lock->wish.mode == '='));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = fuzz_text(data, size), *message = strchr(text, '\n');
	struct client client = {.channel_count = 2, .heard_on = -1};
	struct lock lock;

	const bool has_slots = strncmp(text, "slots\n", 6) == 0;

	make_waiter(&lock, has_slots ? "db1,db2" : NULL);
	wire_channel(&lock.keys, lock.id, client.channels[0]);
	snprintf(client.channels[1], sizeof(client.channels[1]), "%s", lock.keys.channel);
	if (has_slots || strncmp(text, "own\n", 4) == 0)
		client.heard_on = 0;
	else if (strncmp(text, "plain\n", 6) == 0)
		client.heard_on = 1;
	if (message && put_message(&client, &lock, message + 1)) {
		if (handover_accept(&lock, &client))
			check_grant(&lock, &client);
		else
			HOLDS(!lock.handed && !*lock.owner && !*lock.token &&
			      lock.deadline_ms == 0);
	}
	free(text);
	return 0;
}
