#include "history/followed.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* So many entries of a lock are remembered: about twice as many as the server keeps. */
#define SEEN_MAX 2048

static int no_memory(struct error *err)
{
	return fail(err, STATUS_OS, "cannot follow the logs: %s", strerror(ENOMEM));
}

/* The place of the first key that is not smaller. */
static size_t place_of(const struct followed_list *locks, const char *key)
{
	size_t from = 0, to = locks->count;

	while (from < to) {
		const size_t middle = from + (to - from) / 2;

		if (strcmp(locks->list[middle].key, key) < 0)
			from = middle + 1;
		else
			to = middle;
	}
	return from;
}

static bool is_at(const struct followed_list *locks, size_t place, const char *key)
{
	return place < locks->count && strcmp(locks->list[place].key, key) == 0;
}

struct followed *followed_find(const struct followed_list *locks, const char *key)
{
	const size_t place = place_of(locks, key);

	return is_at(locks, place, key) ? &locks->list[place] : NULL;
}

static void forget(struct followed *lock)
{
	free(lock->name);
	free(lock->key);
	free(lock->ids);
}

static int make_room(struct followed_list *locks)
{
	const size_t room = locks->room ? 2 * locks->room : 16;
	struct followed *list;

	if (locks->count < locks->room)
		return 0;
	list = reallocarray(locks->list, room, sizeof(*list));
	if (!list)
		return -1;
	locks->list = list;
	locks->room = room;
	return 0;
}

struct followed *followed_add(struct followed_list *locks, const char *name, const char *key,
			      struct error *err)
{
	const size_t place = place_of(locks, key);
	struct followed lock = {0}, *at;

	if (is_at(locks, place, key))
		return &locks->list[place];
	lock.name = strdup(name);
	lock.key = strdup(key);
	if (!lock.name || !lock.key || make_room(locks) < 0) {
		forget(&lock);
		no_memory(err);
		return NULL;
	}
	at = &locks->list[place];
	memmove(at + 1, at, (locks->count++ - place) * sizeof(*at));
	*at = lock;
	return at;
}

void followed_remove(struct followed_list *locks, struct followed *lock)
{
	const size_t place = (size_t)(lock - locks->list);

	forget(lock);
	memmove(lock, lock + 1, (--locks->count - place) * sizeof(*lock));
}

void followed_free(struct followed_list *locks)
{
	for (size_t i = 0; i < locks->count; i++)
		forget(&locks->list[i]);
	free(locks->list);
	*locks = (struct followed_list){0};
}

/* ---- Entries ---- */

static struct entry_id read_id(const char *text)
{
	struct entry_id id = {0};
	char *end;

	id.ms = strtoull(text, &end, 10);
	if (*end == '-')
		id.sequence = strtoull(end + 1, NULL, 10);
	return id;
}

static bool is_later(struct entry_id a, struct entry_id b)
{
	return a.ms > b.ms || (a.ms == b.ms && a.sequence > b.sequence);
}

static bool is_known(const struct followed *lock, struct entry_id id)
{
	if (is_later(id, lock->newest))
		return false;
	for (size_t i = 0; i < lock->count && i < SEEN_MAX; i++)
		if (lock->ids[i].ms == id.ms && lock->ids[i].sequence == id.sequence)
			return true;
	return false;
}

static int remember(struct followed *lock, struct entry_id id)
{
	const size_t room = lock->room ? 2 * lock->room : 8;
	struct entry_id *ids = lock->ids;

	if (lock->count == lock->room && lock->room < SEEN_MAX) {
		ids = reallocarray(ids, room, sizeof(*ids));
		if (!ids)
			return -1;
		lock->ids = ids;
		lock->room = room;
	}
	ids[lock->count++ % SEEN_MAX] = id;
	if (is_later(id, lock->newest))
		lock->newest = id;
	return 0;
}

int followed_take_new(struct followed *lock, struct log_reply *history, struct error *err)
{
	size_t kept = 0;

	for (size_t i = 0; i < history->count; i++) {
		const struct entry_id id = read_id(history->events[i].id);

		if (is_known(lock, id))
			continue;
		if (remember(lock, id) < 0)
			return no_memory(err);
		history->events[kept++] = history->events[i];
	}
	history->count = kept;
	if (*history->last_id)
		strcpy(lock->after, history->last_id);
	return 0;
}
