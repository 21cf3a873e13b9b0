/* Redisson's names for its keys, and ours beside them, all in the slot of NAME in a cluster. */
#include "lock/lock_keys.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/utf8.h"

static const char queue_prefix[] = "redisson_lock_queue:";
static const char timeouts_prefix[] = "redisson_lock_timeout:";
static const char state_prefix[] = "fairlock:";
static const char log_prefix[] = "fairlock_log:";
static const char ours_prefix[] = "fairlock_queue:";
static const char holders_prefix[] = "fairlock_holders:";
static const char done_prefix[] = "fairlock_done:";
static const char channel_prefix[] = "redisson_lock__channel:";

static const char *const prefixes[] = {
	queue_prefix, timeouts_prefix, state_prefix, log_prefix,
	ours_prefix,  holders_prefix,  done_prefix,  channel_prefix,
};

static bool is_foreign_dash(uint32_t code)
{
	return (code >= 0x2010 && code <= 0x2015) || code == 0x2212;
}

static bool is_no_break(uint32_t code)
{
	return code == 0xa0 || code == 0x2007 || code == 0x202f;
}

static bool is_blank(uint32_t code)
{
	return code == ' ' || code == 0x1680 || (code >= 0x2000 && code <= 0x200a) ||
	       code == 0x205f || code == 0x3000;
}

/* A NAME that looks like an option, or like another NAME, is a mistake: that lock excludes nobody.
 */
static int check_text(const char *name, struct error *err)
{
	uint32_t code = 0;
	size_t length;

	for (const char *at = name; *at != '\0'; at += length) {
		const ptrdiff_t byte = at - name + 1;

		length = utf8_decode(at, &code);
		if (length == 0)
			return fail(err, STATUS_USAGE,
				    "cannot use NAME: byte %td is not valid UTF-8", byte);
		if (utf8_is_control(code))
			return fail(err, STATUS_USAGE,
				    "cannot use NAME: byte %td is a control character", byte);
		if (is_no_break(code))
			return fail(err, STATUS_USAGE,
				    "cannot use NAME: byte %td is U+%04X, a no-break blank", byte,
				    code);
		if (utf8_is_harmful(code))
			return fail(err, STATUS_USAGE,
				    "cannot use NAME: byte %td is U+%04X, which cannot be seen",
				    byte, code);
		if (at == name && is_foreign_dash(code))
			return fail(
				err, STATUS_USAGE,
				"cannot use NAME: it begins with U+%04X, a dash that is not '-'",
				code);
		if (at == name && is_blank(code))
			return fail(err, STATUS_USAGE, "cannot use NAME: it begins with a blank");
	}
	return is_blank(code) ? fail(err, STATUS_USAGE, "cannot use NAME: it ends with a blank")
			      : 0;
}

static int check_prefix(const char *name, struct error *err)
{
	for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++)
		if (strncmp(name, prefixes[i], strlen(prefixes[i])) == 0)
			return fail(err, STATUS_USAGE,
				    "cannot use NAME: names that begin with '%s' are reserved",
				    prefixes[i]);
	return 0;
}

/* The part of a key that a cluster hashes: the text between the first { and the next }, or the
 * whole key if that is empty. Returns its length. */
static size_t hash_tag(const char *key, const char **tag)
{
	const char *open = strchr(key, '{');
	const char *close = open ? strchr(open, '}') : NULL;

	if (close == NULL || close == open + 1) {
		*tag = key;
		return strlen(key);
	}
	*tag = open + 1;
	return (size_t)(close - open - 1);
}

static bool share_slot(const char *key, const char *other)
{
	const char *tag, *other_tag;
	size_t length = hash_tag(key, &tag);

	return hash_tag(other, &other_tag) == length && memcmp(tag, other_tag, length) == 0;
}

static void derive(char *key, const char *prefix, const char *name)
{
	const bool braces = strchr(name, '{') == NULL;

	key = stpcpy(key, prefix);
	if (braces)
		*key++ = '{';
	key = stpcpy(key, name);
	strcpy(key, braces ? "}" : "");
}

int lock_keys_make(struct lock_keys *keys, const char *name, struct error *err)
{
	size_t length = strlen(name);

	if (length == 0)
		return fail(err, STATUS_USAGE, "cannot use NAME: it is empty");
	if (length > NAME_MAX_BYTES)
		return fail(err, STATUS_USAGE, "cannot use NAME: it is longer than %d bytes",
			    NAME_MAX_BYTES);
	if (check_text(name, err) < 0 || check_prefix(name, err) < 0)
		return -1;
	memcpy(keys->name, name, length + 1);
	shorten(keys->shown, name);
	derive(keys->queue, queue_prefix, name);
	derive(keys->timeouts, timeouts_prefix, name);
	derive(keys->state, state_prefix, name);
	derive(keys->log, log_prefix, name);
	derive(keys->ours, ours_prefix, name);
	derive(keys->holders, holders_prefix, name);
	derive(keys->done, done_prefix, name);
	derive(keys->channel, channel_prefix, name);
	/* The other keys differ only before the first brace. */
	if (!share_slot(keys->name, keys->queue))
		return fail(
			err, STATUS_USAGE,
			"cannot use NAME: its braces would put its keys on different nodes of a cluster");
	return 0;
}
