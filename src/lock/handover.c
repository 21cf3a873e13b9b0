/* A waiter is told of its grant by a message, so that it need not ask. Anybody who may publish can
 * send such a message: it must repeat the secret of the waiter's last question. */
#include "lock/handover.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "lock/wire.h"

#define DIGITS "0123456789"

/* granted TOKEN MS NOW SECRET */
#define HANDED "granted"

/* This part of a time to live may pass until who was handed the lock hears it. */
#define HANDED_PART 10

/* Two clocks count so much more or less than each other, at most, and this part of what they count.
 */
#define CLOCKS_SLACK_MS 20
#define CLOCKS_SLACK_PART 1000

/* The parts of a message that hands the lock over. */
struct handing {
	char token[TOKEN_MAX_BYTES];
	char ttl_ms[TOKEN_MAX_BYTES];
	char at_ms[TOKEN_MAX_BYTES]; /* when, by the server's clock */
	char secret[SECRET_BYTES];
};

/* Takes a blank and one to size - 1 of these characters. Returns what follows, or NULL. */
static const char *take_word(const char *text, const char *characters, char *word, size_t size)
{
	const size_t length = *text == ' ' ? strspn(text + 1, characters) : 0;

	if (length == 0 || length >= size)
		return NULL;
	memcpy(word, text + 1, length);
	word[length] = '\0';
	return text + 1 + length;
}

/* The whole message has this form, or it is something else. */
static bool read_handing(struct handing *out, const char *text)
{
	if (strncmp(text, HANDED, strlen(HANDED)) != 0)
		return false;
	text += strlen(HANDED);
	return (text = take_word(text, DIGITS, out->token, sizeof(out->token))) &&
	       (text = take_word(text, DIGITS, out->ttl_ms, sizeof(out->ttl_ms))) &&
	       (text = take_word(text, DIGITS, out->at_ms, sizeof(out->at_ms))) &&
	       (text = take_word(text, SECRET_DIGITS, out->secret, sizeof(out->secret))) &&
	       *text == '\0';
}

/* How long this takes tells nothing of the secret. */
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

	wire_channel(&lock->keys, lock->id, channel);
	return client->heard_on >= 0 && strcmp(client->channels[client->heard_on], channel) == 0;
}

/* When the server did something at_ms by its clock, by ours: not before what it had done for us
 * before. Returns -1 for what is still to come: then our clock stood still for a while, as that of
 * a virtual machine does, or the server's was set, and our clock cannot tell how old a message is.
 */
static int64_t ours_of(const struct lock *lock, int64_t at_ms)
{
	const int64_t since = at_ms - lock->server_ms;
	const int64_t waited = clock_ms() - lock->heard_ms;

	if (since > waited + CLOCKS_SLACK_MS + waited / CLOCKS_SLACK_PART)
		return -1;
	return lock->heard_ms + (since < 0 ? 0 : earliest(since, waited));
}

bool handover_take(struct lock *lock, const struct client *client)
{
	struct handing handing;
	int64_t ttl_ms, since_ms;

	if (!lock->handable || !is_own_channel(lock, client) ||
	    !read_handing(&handing, client->message) || !is_secret(lock, handing.secret))
		return false;
	ttl_ms = strtoll(handing.ttl_ms, NULL, 10);
	since_ms = ours_of(lock, strtoll(handing.at_ms, NULL, 10));
	/* one that was long under way may have been overtaken: the lock may be somebody else's */
	if (since_ms < 0 || ttl_ms == 0 || ttl_ms > lock->lease_ms ||
	    clock_ms() - since_ms > ttl_ms / HANDED_PART)
		return false;
	lock->since_ms = since_ms;
	lock->ttl_ms = ttl_ms;
	lock->deadline_ms = since_ms + ttl_ms;
	lock->handed = true;
	memcpy(lock->token, handing.token, sizeof(lock->token));
	memcpy(lock->owner, lock->id, sizeof(lock->owner));
	return true;
}
