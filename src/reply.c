#include "reply.h"

#include <hiredis/hiredis.h>

static bool is(const redisReply *reply, char type)
{
	switch (type) {
	case 's':
		return reply->type == REDIS_REPLY_STRING;
	case 'i':
		return reply->type == REDIS_REPLY_INTEGER;
	default:
		return reply->type == REDIS_REPLY_ARRAY;
	}
}

bool reply_fits(const redisReply *reply, const char *types)
{
	if (!is(reply, 'l'))
		return false;
	for (size_t i = 0; types[i]; i++)
		if (i >= reply->elements || !is(reply->element[i], types[i]))
			return false;
	return true;
}

size_t reply_count(const redisReply *reply)
{
	return is(reply, 'l') ? reply->elements : 0;
}

const redisReply *reply_at(const redisReply *list, size_t index)
{
	return index < reply_count(list) ? list->element[index] : NULL;
}

const char *reply_text(const redisReply *list, size_t index)
{
	const redisReply *element = reply_at(list, index);

	return element && is(element, 's') ? element->str : "";
}

long long reply_number(const redisReply *list, size_t index)
{
	const redisReply *element = reply_at(list, index);

	return element && is(element, 'i') ? element->integer : 0;
}

const char *reply_string(const redisReply *reply)
{
	return is(reply, 's') ? reply->str : NULL;
}

int reply_nonsense(struct error *err)
{
	return fail(err, STATUS_BUG, "cannot understand the server: a reply that makes no sense");
}
