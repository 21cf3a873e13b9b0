/* The texts of a reply live until the next request, so each event is copied. */
#include "history/merged_log.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int no_memory(struct error *err)
{
	return fail(err, STATUS_OS, "cannot read the logs: %s", strerror(ENOMEM));
}

/* The texts of an event that are kept. */
#define TEXTS 8

static int copy(struct merged_event *to, const char *name, const struct log_event *event)
{
	const char *const from[TEXTS] = {name,      event->name,   event->owner, event->token,
					 event->by, event->status, event->slot,  event->actor};
	const char **const places[TEXTS] = {&to->name,        &to->event.name, &to->event.owner,
					    &to->event.token, &to->event.by,   &to->event.status,
					    &to->event.slot,  &to->event.actor};
	size_t size = strlen(event->cause) + 1;
	char *at;

	for (size_t i = 0; i < TEXTS; i++)
		size += strlen(from[i]) + 1;
	to->event = *event;
	to->event.id = "";
	to->text = at = malloc(size);
	if (!at)
		return -1;
	for (size_t i = 0; i < TEXTS; i++) {
		*places[i] = at;
		at = stpcpy(at, from[i]) + 1;
	}
	to->event.cause = at;
	strcpy(at, event->cause);
	return 0;
}

static int make_room(struct merged_log *log, size_t more)
{
	const size_t room = 2 * log->room > log->count + more ? 2 * log->room : log->count + more;
	struct merged_event *list;

	if (log->count + more <= log->room)
		return 0;
	list = reallocarray(log->list, room, sizeof(*list));
	if (!list)
		return -1;
	log->list = list;
	log->room = room;
	return 0;
}

int merged_log_add(struct merged_log *log, const char *name, const struct log_reply *history,
		   struct error *err)
{
	if (make_room(log, history->count) < 0)
		return no_memory(err);
	for (size_t i = 0; i < history->count; i++) {
		struct merged_event *event = &log->list[log->count];

		if (copy(event, name, &history->events[i]) < 0)
			return no_memory(err);
		event->place = log->count++;
	}
	return 0;
}

static int compare(const void *a, const void *b)
{
	const struct merged_event *x = a, *y = b;

	if (x->event.time_ms != y->event.time_ms)
		return x->event.time_ms < y->event.time_ms ? -1 : 1;
	return x->place < y->place ? -1 : x->place > y->place;
}

void merged_log_sort(struct merged_log *log)
{
	if (log->count > 0)
		qsort(log->list, log->count, sizeof(*log->list), compare);
}

void merged_log_free(struct merged_log *log)
{
	for (size_t i = 0; i < log->count; i++)
		free(log->list[i].text);
	free(log->list);
	*log = (struct merged_log){0};
}
