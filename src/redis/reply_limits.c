/* Stands between hiredis's reader and its allocation of lists and texts. */
#include "redis/reply_limits.h"

#include <hiredis/hiredis.h>
#include <stdlib.h>

/* The longest reply of use is a queue: six elements, and less than a kilobyte, for each waiter. */
#define REPLY_MAX_BYTES (64u << 20)
#define REPLY_MAX_DEPTH 8

struct reply_limits {
	const redisReplyObjectFunctions *plain; /* hiredis's own */
	redisReplyObjectFunctions limited;
	size_t bytes; /* about so many for the present reply */
	bool exceeded;
};

/* Every element belongs to a list, which announced it: so lists and texts are enough to look at. */
static bool fits(const redisReadTask *task, size_t bytes)
{
	struct reply_limits *bounds = task->privdata;
	int depth = 0;

	if (!task->parent)
		bounds->bytes = 0;
	for (const redisReadTask *at = task->parent; at; at = at->parent)
		depth++;
	if (depth > REPLY_MAX_DEPTH || bytes > REPLY_MAX_BYTES - bounds->bytes) {
		bounds->exceeded = true;
		return false;
	}
	bounds->bytes += bytes;
	return true;
}

static void *create_array(const redisReadTask *task, size_t elements)
{
	const size_t each = sizeof(redisReply) + sizeof(redisReply *);
	const size_t most = REPLY_MAX_BYTES / each + 1;
	const struct reply_limits *bounds = task->privdata;

	if (!fits(task, (elements < most ? elements : most) * each))
		return NULL;
	return bounds->plain->createArray(task, elements);
}

static void *create_string(const redisReadTask *task, char *text, size_t length)
{
	const struct reply_limits *bounds = task->privdata;

	return fits(task, length) ? bounds->plain->createString(task, text, length) : NULL;
}

struct reply_limits *reply_limits_set(redisReader *reader)
{
	struct reply_limits *bounds = calloc(1, sizeof(*bounds));

	if (!bounds)
		return NULL;
	bounds->plain = reader->fn;
	bounds->limited = *reader->fn;
	bounds->limited.createArray = create_array;
	bounds->limited.createString = create_string;
	reader->fn = &bounds->limited;
	reader->privdata = bounds;
	return bounds;
}

bool reply_limits_exceeded(const struct reply_limits *bounds)
{
	return bounds->exceeded;
}

void reply_limits_free(struct reply_limits *bounds)
{
	free(bounds);
}
