/* A grant by message saves the waiter a request. Any client that may publish can send such a
 * message, so a real one repeats the secret of the waiter's last request. */
#include "lock/handover.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "lock/want.h"
#include "lock/wire.h"

/* granted TOKEN MS NOW SECRET, and SLOT behind it if there is one */
#define HANDED "granted"

/* At most this part of the time to live may have passed when the waiter hears the message. */
#define HANDED_PART 10

/* While two clocks count the same time they differ by at most this much, and this part of it. */
#define CLOCKS_SLACK_MS 20
#define CLOCKS_SLACK_PART 1000

/* The parts of a message that hands the lock over. */
struct handing {
	char token[TOKEN_MAX_BYTES];
	char ttl_ms[TOKEN_MAX_BYTES];
	char at_ms[TOKEN_MAX_BYTES]; /* when, by the server's clock */
	char secret[SECRET_BYTES];
	char mode[MODE_MAX_BYTES];
};

/* Reads a blank and 1 to size - 1 of these characters. Returns the rest of the text, or NULL. */
static const char *read_word(const char *text, const char *characters, char *word, size_t size)
{
	const size_t length = *text == ' ' ? strspn(text + 1, characters) : 0;

	if (length == 0 || length >= size)
		return NULL;
	memcpy(word, text + 1, length);
	word[length] = '\0';
	return text + 1 + length;
}

/* Reads a blank and a slot, if the lock has slots. Returns false if the text has another form. */
static bool read_mode(struct handing *out, const struct lock *lock, const char *text)
{
	const bool has_slot = *text == ' ' && text[1] && !strchr(text + 1, ' ') &&
			      strlen(text + 1) < SLOT_MAX_BYTES;

	if (!want_is_slot(lock->want)) {
		snprintf(out->mode, sizeof(out->mode), "%s", lock->want);
		return *text == '\0';
	}
	if (has_slot)
		snprintf(out->mode, sizeof(out->mode), "%c%s", MODE_SLOT, text + 1);
	return has_slot;
}

/* False if any part of the text has another form. */
static bool read_handing(struct handing *out, const struct lock *lock, const char *text)
{
	if (strncmp(text, HANDED, strlen(HANDED)) != 0)
		return false;
	text += strlen(HANDED);
	return (text = read_word(text, DIGITS, out->token, sizeof(out->token))) &&
	       (text = read_word(text, DIGITS, out->ttl_ms, sizeof(out->ttl_ms))) &&
	       (text = read_word(text, DIGITS, out->at_ms, sizeof(out->at_ms))) &&
	       (text = read_word(text, SECRET_DIGITS, out->secret, sizeof(out->secret))) &&
	       read_mode(out, lock, text);
}

/* The time that this takes tells nothing about the secret. */
static bool is_secret(const struct lock *lock, const char *word)
{
	unsigned difference = strlen(word) != SECRET_BYTES - 1 || !*lock->secret;

	for (size_t i = 0; i < SECRET_BYTES - 1 && word[i]; i++)
		difference |= (unsigned char)(word[i] ^ lock->secret[i]);
	return difference == 0;
}

static bool is_own_channel(const struct lock *lock, const struct client *client)
{
	char channel[CHANNEL_MAX_BYTES];

	wire_channel(&lock->keys, lock->request, channel);
	return client->heard_on >= 0 && strcmp(client->channels[client->heard_on], channel) == 0;
}

/* Converts a time of the server's clock to ours, but to no time before the server's last answer.
 * Returns -1 for a time in our future. Then our clock stood still for a while, as that of a virtual
 * machine does, or the server's was set: we cannot tell how old the message is. */
static int64_t ours_of(const struct lock *lock, int64_t at_ms)
{
	const int64_t since = at_ms - lock->server_ms;
	const int64_t waited = clock_ms() - lock->heard_ms;

	if (since > waited + CLOCKS_SLACK_MS + waited / CLOCKS_SLACK_PART)
		return -1;
	return lock->heard_ms + (since < 0 ? 0 : earliest(since, waited));
}

bool handover_accept(struct lock *lock, const struct client *client)
{
	struct handing handing;
	int64_t ttl_ms, since_ms;

	if (!lock->handable || !is_own_channel(lock, client) ||
	    !read_handing(&handing, lock, client->message) || !is_secret(lock, handing.secret))
		return false;
	ttl_ms = strtoll(handing.ttl_ms, NULL, 10);
	since_ms = ours_of(lock, strtoll(handing.at_ms, NULL, 10));
	/* a message that was long under way may be out of date: another owner may hold the lock */
	if (since_ms < 0 || ttl_ms == 0 || ttl_ms > lock->lease_ms ||
	    clock_ms() - since_ms > ttl_ms / HANDED_PART)
		return false;
	lock->since_ms = since_ms;
	lock->ttl_ms = ttl_ms;
	lock->deadline_ms = since_ms + ttl_ms;
	lock->handed = true;
	memcpy(lock->token, handing.token, sizeof(lock->token));
	memcpy(lock->mode, handing.mode, sizeof(lock->mode));
	memcpy(lock->owner, lock->id, sizeof(lock->owner));
	return true;
}
