/* Checks each element's type before it is used: the server may be anything. */
#include "redis/reply.h"

#include <hiredis/hiredis.h>
#include <string.h>

static bool is(const redisReply *reply, char type)
{
	if (!reply)
		return false;
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

	return is(element, 's') && strlen(element->str) == element->len ? element->str : "";
}

long long reply_integer(const redisReply *reply)
{
	return is(reply, 'i') ? reply->integer : 0;
}

long long reply_number(const redisReply *list, size_t index)
{
	return reply_integer(reply_at(list, index));
}

const char *reply_string(const redisReply *reply)
{
	return is(reply, 's') || reply->type == REDIS_REPLY_VERB ? reply->str : NULL;
}

const char *reply_field(const redisReply *map, const char *key)
{
	const bool is_map = map->type == REDIS_REPLY_MAP;

	for (size_t i = 0; is_map && i + 1 < map->elements; i += 2)
		if (is(map->element[i], 's') && is(map->element[i + 1], 's') &&
		    strcmp(map->element[i]->str, key) == 0)
			return map->element[i + 1]->str;
	return NULL;
}

int reply_nonsense(struct error *err)
{
	return fail(err, STATUS_BUG, "cannot understand the server: its reply makes no sense");
}
