/* The line is drawn every second; the server is asked no more often, and in a crowd less often. */
#include "lock/wait_show.h"

#include <inttypes.h>

#include "base/message.h"

#define VIEW_MS 1000
#define VIEW_IN_CROWD_MS 5000
#define CROWD 50

/* The room of a holder behind the time of a step and the place. */
#define PLACE_CHARACTERS 98

static void draw(struct waiting *w)
{
	const struct error *trouble = &w->client->error;

	progress_draw(&w->progress, w->lock, &w->view, trouble->status ? trouble->text : NULL);
}

static void tell_place(struct waiting *w)
{
	const struct waiter_view *view = &w->view;
	struct holder holder = waiter_view_holder(view, w->lock);
	char shown[OWNER_SHOWN_BYTES];

	w->place_due = false;
	if (!view->is_known || view->place == w->told_place)
		return;
	w->told_place = view->place;
	holder.held_ms = holder.held_ms < -1 ? holder.held_ms : -1;
	holder.next_ms = -1;
	holder.is_last = false;
	holder_show(shown, PLACE_CHARACTERS, &holder);
	message_step(w->wait->messenger, "place %" PRId64 " of %" PRId64 "%s%s", view->place,
		     view->waiters, *view->owner ? ", " : "", *view->owner ? shown : "");
}

void wait_show_answer(struct waiting *w)
{
	w->viewing = false;
	waiter_view_read(&w->view, w->client);
	if (w->place_due)
		tell_place(w);
	w->view_ms = w->client->sent_ms + (w->view.waiters > CROWD ? VIEW_IN_CROWD_MS : VIEW_MS);
	draw(w);
}

void wait_show_request(struct waiting *w)
{
	struct request request;

	waiter_view_ask(&w->view, w->lock, &request);
	client_request(w->client, &request);
	w->viewing = true;
	progress_put_off(&w->progress);
}

/* If this makes a request, the answer draws the line. */
void wait_show_redraw(struct waiting *w)
{
	if (!progress_is_seen(&w->progress) || client_has_request(w->client) ||
	    clock_ms() < w->view_ms)
		draw(w);
	else
		wait_show_request(w);
}
