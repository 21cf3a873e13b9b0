/* A report needs a view of the lock, which no other request may be under way for. Without a view,
 * because the server is away or refuses it, a report tells less. */
#include "lock/wait_report.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/duration.h"
#include "base/message.h"
#include "cli/options.h"
#include "lock/wait_show.h"

#define TEXT_BYTES (4 * MESSAGE_CHARACTERS + 1)

/* On a terminal the waiting line tells all of this. A job in the background has no line there; it
 * tells only if it was asked to. */
static bool has_line(const struct waiting *w)
{
	return w->report_ms == NEVER_MS ? w->progress.fd >= 0 : progress_is_in_front(&w->progress);
}

static const char *waited(const struct waiting *w, char shown[DURATION_MAX_BYTES])
{
	const int64_t ms = clock_ms() - w->lock->wanted_ms;

	return ms < 1000 ? "0s" : duration_show(shown, ms);
}

static void tell_view(const struct waiting *w)
{
	const struct waiter_view *view = &w->view;
	const struct holder holder = waiter_view_holder(view, w->lock);
	char text[TEXT_BYTES], time[DURATION_MAX_BYTES];
	size_t length;

	if (view->is_known && view->place > 0)
		snprintf(text, sizeof(text),
			 "waiting for lock %s: place %" PRId64 " of %" PRId64 ", waited %s",
			 w->lock->keys.shown, view->place, view->waiters, waited(w, time));
	else
		snprintf(text, sizeof(text), "waiting for lock %s: waited %s", w->lock->keys.shown,
			 waited(w, time));
	length = strlen(text);
	if (view->is_known && *view->owner)
		holder_say(text, sizeof(text), ", ", &holder);
	else if (view->is_known)
		snprintf(text + length, sizeof(text) - length, ", it is free just now");
	complain_in_passing("%s", text);
}

static void tell_outage(const struct waiting *w)
{
	const char *name = w->lock->keys.shown;
	char cause[TEXT_BYTES];
	const size_t taken = strlen("waiting for lock : ; trying again") + count_characters(name);

	shorten_to(cause, MESSAGE_CHARACTERS - taken, w->client->error.text);
	message(w->wait->messenger, LOG_ERR, "waiting for lock %s: %s; trying again", name, cause);
}

static int64_t away_due_ms(const struct waiting *w)
{
	if (!w->away_ms || w->told_away || has_line(w))
		return NEVER_MS;
	return w->away_ms + w->wait->options->connect_timeout_ms;
}

/* An outage is told of once; its end is worth a report. */
static void watch_outage(struct waiting *w)
{
	const bool is_away = w->client->error.status != STATUS_OK;

	if (is_away && !w->away_ms)
		w->away_ms = clock_ms();
	if (!is_away && w->told_away && w->report_ms != NEVER_MS)
		w->report_ms = clock_ms();
	if (!is_away) {
		w->away_ms = 0;
		w->told_away = false;
	}
	if (clock_ms() < away_due_ms(w))
		return;
	w->told_away = true;
	tell_outage(w);
}

static int64_t report_due_ms(const struct waiting *w)
{
	const bool is_away = w->client->error.status != STATUS_OK;

	return client_has_request(w->client) && !is_away ? NEVER_MS : w->report_ms;
}

static void put_off(struct waiting *w)
{
	w->report_ms = clock_ms() + w->wait->options->report_ms;
}

void wait_report_begin(struct waiting *w)
{
	const struct options *options = w->wait->options;

	if (options->report_ms && !options->quiet)
		w->report_ms = clock_ms();
}

void wait_report_answer(struct waiting *w)
{
	if (clock_ms() < w->report_ms || has_line(w))
		return;
	put_off(w);
	tell_view(w);
}

void wait_report_due(struct waiting *w)
{
	if (!w->told_queued)
		return;
	watch_outage(w);
	if (clock_ms() < report_due_ms(w))
		return;
	if (has_line(w)) {
		put_off(w);
	} else if (w->away_ms) {
		put_off(w);
		w->told_away = true;
		tell_outage(w);
	} else if (w->view_ms == NEVER_MS) {
		put_off(w);
		tell_view(w);
	} else {
		wait_show_request(w);
	}
}

int64_t wait_report_wake_ms(const struct waiting *w)
{
	return earliest(away_due_ms(w), report_due_ms(w));
}
