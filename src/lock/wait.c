/* A wait: what the waiter knows of its lock, and the line on a terminal that tells it; the
 * sentences of its end; the requests, and what the answers and messages mean; how a waiter leaves;
 * and the loop over all that. */
#include "lock/wait.h"

#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/param.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/message.h"
#include "base/terminal.h"
#include "cli/options.h"
#include "lock/lock.h"
#include "redis/client.h"
#include "redis/reply.h"

/* ---- One wait, from the first request to the grant or to leaving ---- */

/* When something is to be done; NEVER_MS: not at all. */
struct wait_times {
	int64_t sign_ms;   /* asking again, if no message comes */
	int64_t watch_ms;  /* asking again, because a message came */
	int64_t view_ms;   /* the next view for the line, at the earliest */
	int64_t report_ms; /* the next report */
	int64_t outage_ms; /* telling that the server is away; 0: it is not; NEVER_MS: it is told */
	int64_t above_ms;  /* looking whether a process above us holds the lock */
};

/* The lock as a waiter last heard of it. */
struct waiter_view {
	bool is_known; /* there has been an answer */
	int64_t at_ms; /* when the last one was true */
	int64_t place; /* 0: not in the queue */
	int64_t waiters;
	struct holder holder; /* then; of several, the one whose lease ends first */
	char owner[OWNER_MAX_BYTES];
	char by[BY_MAX_BYTES];
};

/* The waiting line. Standard error must be our controlling terminal. The line stands at the cursor,
 * and the cursor at its beginning, so that any other output overwrites it. It is written through a
 * descriptor of its own, which never blocks: a terminal that Ctrl-S holds up must not cost us our
 * turn. */
struct progress {
	int fd;             /* -1: there is no terminal */
	int64_t draw_ms;    /* when to draw next; NEVER_MS: not at all */
	int64_t first_ms;   /* not before: most waits are too short to read anything */
	int taken;          /* columns that the line on the screen takes; 0: there is none */
	bool takes_sigtstp; /* SIGTSTP comes through signal_fd */
	bool plain;         /* the terminal understands nothing but carriage returns */
	struct terminal terminal;
};

struct waiting {
	const struct wait *wait;
	struct lock *lock;
	struct client *client;
	int64_t until_ms; /* the end of --wait */
	struct wait_times due;
	struct pace pace; /* of asking, since any client that may publish can demand it */
	int late_grants;
	enum wait_event end; /* WAIT_FAILED also as long as it goes on */
	bool is_queued;
	bool traceless;       /* the server knows nothing of us */
	bool holder_is_said;  /* the error names the holder, or need not */
	bool first;           /* in the queue, as far as we know */
	bool hears_outsiders; /* on the channel of plain Redisson locks */
	bool viewing;         /* the request under way is for a view only */
	bool told_no_ttl;
	bool place_due; /* --verbose: our place in the queue is to be asked for and told ... */
	int64_t place;  /* ... if it is not this one */
	struct waiter_view view;
	struct progress progress;
};

/* ---- The lock as the waiter last heard of it ---- */

/* More than any server has, whatever a server says. */
#define COUNT_MAX 100000000

/* view PLACE WAITERS, and the holder; a reply that makes no sense leaves what was known. */
static void read_view(struct waiting *w)
{
	const struct redisReply *reply = w->client->reply;
	struct waiter_view *view = &w->view;

	if (reply_count(reply) < 10 || strcmp(reply_text(reply, 0), "view") != 0)
		return;
	view->is_known = true;
	view->at_ms = w->client->sent_ms;
	view->place = MIN(MAX(reply_number(reply, 1), 0), COUNT_MAX);
	view->waiters = MIN(MAX(reply_number(reply, 2), 0), COUNT_MAX);
	view->holder = lock_read_holder(w->lock, reply, 3);
	snprintf(view->owner, sizeof(view->owner), "%s", view->holder.owner);
	snprintf(view->by, sizeof(view->by), "%s", view->holder.by);
	view->holder.owner = view->owner;
	view->holder.by = view->by;
	view->holder.is_last = view->place > 1;
}

/* Writes "place 2 of 3, waited 5s, held by ...", as far as it is known by now, in about so many
 * characters (at most MESSAGE_CHARACTERS), and not in less than 60. Returns text. */
static const char *say_view(char text[OWNER_SHOWN_BYTES], size_t characters,
			    const struct waiting *w)
{
	const struct waiter_view *view = &w->view;
	const bool is_known = view->is_known && w->client->error.status == STATUS_OK;
	const int64_t waited_ms = clock_ms() - w->lock->place.wanted_ms;
	const int64_t passed_ms = clock_ms() - view->at_ms;
	char waited[DURATION_MAX_BYTES], place[64] = "", shown[OWNER_SHOWN_BYTES];
	struct holder holder = view->holder;
	size_t taken;

	if (is_known && view->place > 0)
		snprintf(place, sizeof(place), "place %" PRId64 " of %" PRId64 ", ", view->place,
			 view->waiters);
	duration_show(waited, waited_ms - waited_ms % 1000);
	taken = (size_t)snprintf(text, OWNER_SHOWN_BYTES, "%swaited %s", place,
				 waited_ms < 1000 ? "0s" : waited);
	if (!is_known)
		return text;
	if (holder.held_ms >= 0)
		holder.held_ms += passed_ms;
	/* a lease that has ended meanwhile was renewed, or the next answer knows */
	holder.next_ms = holder.next_ms < passed_ms ? -1 : holder.next_ms - passed_ms;
	characters = characters > taken + 2 + HOLDER_LEAST ? characters - taken - 2 : HOLDER_LEAST;
	snprintf(text + taken, OWNER_SHOWN_BYTES - taken, ", %s",
		 *holder.owner ? holder_show(shown, characters, &holder) : "it is free just now");
	return text;
}

/* ---- The waiting line on a terminal ---- */

#define SHORT_WAIT_MS 300
#define REDRAW_MS 1000

#define COLUMNS_LEAST 16
#define COLUMNS_PREFIX 100 /* from here on there is room for "fairlock: ", too */
#define TEXT_MAX_BYTES 4096

static const char dim[] = "\033[2m", magenta[] = "\033[35m", plain_again[] = "\033[0m";
static const char erase[] = "\033[J"; /* also what wrapped when the terminal became narrower */

/* It is due so soon, but not before the first drawing. */
static void progress_due(struct progress *line, int64_t in_ms)
{
	const int64_t at_ms = clock_ms() + in_ms;

	if (line->fd >= 0)
		line->draw_ms = at_ms < line->first_ms ? line->first_ms : at_ms;
}

/* Takes or leaves SIGTSTP, so that no line stays on the screen of a stopped job. */
static void change_stop(struct progress *line, int how)
{
	sigset_t set, before;

	sigemptyset(&set);
	sigaddset(&set, SIGTSTP);
	if (how == SIG_UNBLOCK && !line->takes_sigtstp)
		return;
	sigprocmask(how, &set, &before);
	line->takes_sigtstp = how == SIG_BLOCK && !sigismember(&before, SIGTSTP);
}

/* The wait will take a while. */
static void progress_start(struct progress *line)
{
	/* this fails unless standard error is our controlling terminal */
	if (tcgetpgrp(STDERR_FILENO) < 0)
		return;
	line->fd = open("/dev/tty", O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (line->fd < 0)
		return;
	terminal_init(&line->terminal, line->fd);
	line->plain = terminal_is_dumb();
	line->first_ms = line->draw_ms = clock_ms() + SHORT_WAIT_MS;
	if (!signal_fd_ignores(SIGTSTP))
		change_stop(line, SIG_BLOCK);
}

/* Whether we are in the foreground of the terminal. In the background, what is on the screen is
 * forgotten. */
static bool progress_is_seen(struct progress *line)
{
	const bool seen = line->fd >= 0 && tcgetpgrp(line->fd) == getpgrp();

	if (!seen) /* in the foreground again, we do not know what is on the screen */
		line->taken = 0;
	return seen;
}

static void put_line(struct progress *line, const char *text, int taken, const char *colour)
{
	char bytes[TEXT_MAX_BYTES + 64];
	const bool coloured = line->terminal.colour && taken > 0;
	const int left = line->taken > taken ? line->taken - taken : 0;
	int length;

	if (line->plain)
		length = snprintf(bytes, sizeof(bytes), "\r%s%*s\r", text, left, "");
	else
		length = snprintf(bytes, sizeof(bytes), "\r%s%s%s%s\r", coloured ? colour : "",
				  text, coloured ? plain_again : "", erase);
	if (length > 0 && (size_t)length < sizeof(bytes))
		(void)!write(line->fd, bytes, (size_t)length);
	line->taken = taken;
}

static void draw(struct waiting *w)
{
	const char *trouble = w->client->error.status ? w->client->error.text : NULL;
	struct progress *line = &w->progress;
	char text[TEXT_MAX_BYTES], name[TEXT_MAX_BYTES / 4], shown[OWNER_SHOWN_BYTES];
	size_t room;
	int columns, taken;

	progress_due(line, clock_ms() < line->first_ms ? 0 : REDRAW_MS);
	if (clock_ms() < line->first_ms || !progress_is_seen(line))
		return;
	terminal_measure(&line->terminal, line->fd);
	columns = line->terminal.columns;
	if (columns < COLUMNS_LEAST)
		return;
	terminal_cut(&line->terminal, name, sizeof(name), w->lock->keys.name, columns / 3);
	snprintf(text, sizeof(text), "%s%s: ", columns < COLUMNS_PREFIX ? "" : "fairlock: ", name);
	room = (size_t)columns - 1 - count_characters(text);
	strcat(text, say_view(shown, room < MESSAGE_CHARACTERS ? room : MESSAGE_CHARACTERS, w));
	if (trouble)
		strcat(strcat(text, "; "), trouble);
	/* the last column stays free: some terminals go on to the next line when it is taken */
	taken = terminal_cut(&line->terminal, text, sizeof(text), text, columns - 1);
	put_line(line, text, taken, trouble ? magenta : dim);
}

/* Makes room for other output. */
static void progress_clear(struct progress *line)
{
	if (line->taken > 0 && progress_is_seen(line))
		put_line(line, "", 0, "");
}

/* SIGTSTP has come: clears the line and stops this process, as the signal by itself would. */
static void progress_stop(struct progress *line)
{
	progress_clear(line);
	raise(SIGTSTP);
	change_stop(line, SIG_UNBLOCK);
	/* here we stop, and are continued */
	change_stop(line, SIG_BLOCK);
}

static void progress_close(struct progress *line)
{
	progress_clear(line);
	if (line->fd < 0)
		return;
	change_stop(line, SIG_UNBLOCK);
	close(line->fd);
}

/* ---- The sentences of a wait that is over ---- */

/* There is room for so many beside the longest name of a lock. */
#define NEWER_CHARACTERS 60

static const char *waited(const struct lock *lock, char shown[DURATION_MAX_BYTES])
{
	return duration_show(shown, clock_ms() - lock->place.wanted_ms);
}

static void tell_grant(struct messenger *messenger, const struct lock *lock)
{
	char time[DURATION_MAX_BYTES];

	waited(lock, time);
	message_event(messenger, LOG_INFO, "got lock %s after %s, token %s%s", lock->keys.shown,
		      time, lock->token,
		      strcmp(lock->owner, lock->id) == 0 ? "" : ", in the enclosing hold");
}

static int fail_stopped(struct error *err, const struct wait *wait, const struct lock *lock,
			int signo)
{
	char name[SIGNAL_MAX_BYTES];

	*wait->signo = signo;
	return fail(err, STATUS_NOT_OBTAINED, "cannot get lock %s: stopped by signal %s",
		    lock->keys.shown, signal_show(name, signo));
}

bool wait_is_stopped(const struct wait *wait, const struct lock *lock, struct error *err)
{
	const int signo = signal_fd_next_deadly(wait->signals);

	return signo && fail_stopped(err, wait, lock, signo) < 0;
}

enum wait_event wait_keep_held(const struct hold_set *set, const struct lock *awaited,
			       struct error *err)
{
	const struct hold *lost = hold_set_step(set), *asked = hold_set_asked(set);
	const char *when = awaited ? " while waiting for lock " : " before its command began";
	const char *other = awaited ? awaited->keys.shown : "";
	char why[OWNER_SHOWN_BYTES];
	const char *name;
	size_t room;

	if (lost) {
		name = lost->lock.keys.shown;
		room = message_room("lost lock %s%s%s: ", name, when, other);
		fail(err, STATUS_NOT_OBTAINED, "lost lock %s%s%s: %s", name, when, other,
		     hold_why(why, room, lost));
		return WAIT_LOST;
	}
	if (asked) {
		name = asked->lock.keys.shown;
		room = message_room("cannot keep lock %s: ", name);
		fail(err, STATUS_TIMED_OUT, "cannot keep lock %s: %s", name,
		     hold_why(why, room, asked));
		return WAIT_FAILED;
	}
	return WAIT_GRANTED;
}

/* The answer neither grants the lock nor queues us. */
static int refused(struct error *err, const struct waiting *w, const struct ask_reply *reply)
{
	const struct lock *lock = w->lock;
	const char *name = lock->keys.shown, *separator = "; ";
	char time[DURATION_MAX_BYTES], period[DURATION_MAX_BYTES];
	char newer[OWNER_SHOWN_BYTES] = "a newer waiter", slot[SHORT_MAX_BYTES];

	switch (reply->outcome) {
	case ASK_UNSAFE: /* an outage: the lock is free, but cannot be granted safely */
		fail(err, STATUS_UNAVAILABLE,
		     "cannot get lock %s: only %lld of %" PRId64 " replicas confirmed it", name,
		     w->client->replicas, lock->options->replicas);
		break;
	case ASK_BUSY:
		fail(err, STATUS_NOT_OBTAINED, "cannot get lock %s: %s", name,
		     *reply->holder.owner ? "" : "it is free, but others asked first");
		separator = "";
		break;
	case ASK_FULL:
		fail(err, STATUS_NOT_OBTAINED,
		     "cannot get lock %s: the queue is full (%" PRId64 " waiting)", name,
		     reply->number);
		break;
	case ASK_RAN:
		fail(err, STATUS_NOT_OBTAINED,
		     "cannot get lock %s: its command started %s ago, within --once-per %s", name,
		     duration_show(time, reply->number),
		     duration_show_fraction(period, lock->options->once_per_ms));
		break;
	case ASK_REMOVED:
		fail(err, STATUS_NOT_OBTAINED,
		     "cannot get lock %s: removed from the queue after %s", name,
		     waited(lock, time));
		break;
	case ASK_FORCED:
		fail(err, STATUS_NOT_HELD, "lost lock %s: somebody broke it by force", name);
		break;
	case ASK_SUPERSEDED:
		if (*reply->word)
			owner_show(newer, NEWER_CHARACTERS, reply->word);
		fail(err, STATUS_NOT_OBTAINED, "cannot get lock %s: superseded by %s after %s",
		     name, newer, waited(lock, time));
		break;
	case ASK_MISFIT: /* to wait for the end of a hold that encloses us would be for ever */
		if (*reply->word == MODE_SLOT)
			fail(err, STATUS_USAGE,
			     "cannot go into lock %s: the enclosing hold has slot %s; use --slots with it",
			     name, shorten(slot, reply->word + 1));
		else
			fail(err, STATUS_USAGE,
			     "cannot go into lock %s: the enclosing hold is shared; use --shared",
			     name);
		break;
	case ASK_GRANTED:
	case ASK_QUEUED:
	case ASK_RAN_OK:
		break;
	}
	if (*reply->holder.owner)
		holder_say(err->text, sizeof(err->text), separator, &reply->holder);
	return -1;
}

int wait_result_carry_out(struct messenger *messenger, const struct options *options,
			  const struct signal_fd *signals, int signo, const struct error *err,
			  int *status)
{
	if (signo) {
		message_event(messenger, LOG_NOTICE, "%s", err->text);
		die_of(signo);
	}
	/* the message may wait for ever for its reader */
	signal_fd_unblock(signals);
	if (err->status != STATUS_NOT_OBTAINED)
		return -1;
	message_syslog(messenger, LOG_NOTICE, err->text);
	if (!options->quiet)
		complain("%s", err->text);
	else
		message_step(messenger, "%s", err->text);
	*status = options->conflict_status;
	return 0;
}

/* ---- Asking ---- */

/* After so long the first in the queue listens for plain Redisson locks, too. */
#define LISTEN_MS 20

/* From here on the release of a plain Redisson lock wakes us, too. */
static void hear_outsiders(struct waiting *w)
{
	client_subscribe(w->client, w->lock->keys.channel);
	w->hears_outsiders = true;
}

static void ask(struct waiting *w)
{
	const struct options *options = w->wait->options;
	struct request request;

	message_step(w->wait->messenger, "asking for lock %s as %s", w->lock->keys.shown,
		     w->lock->id);
	if (w->first)
		hear_outsiders(w);
	wire_ask(w->lock, &request, options->no_wait || options->wait_ms == 0);
	client_request(w->client, &request);
	w->due.sign_ms = w->due.watch_ms = NEVER_MS;
	pace_take(&w->pace);
	w->traceless = w->viewing = w->place_due = false;
}

/* Whether a request for the lock is under way, and not just one for a view. */
static bool is_asking(const struct waiting *w)
{
	return client_has_request(w->client) && !w->viewing;
}

static int64_t ask_again_ms(const struct waiting *w)
{
	return w->viewing ? NEVER_MS : earliest(w->due.sign_ms, w->due.watch_ms);
}

/* ---- What the user sees meanwhile: a line on a terminal, reports, outages ---- */

/* The line is drawn every second; the server is asked no more often. */
#define VIEW_MS 1000

/* The room of a step behind its time. */
#define STEP_CHARACTERS 130

/* On a terminal the waiting line tells all of a report. A job in the background has no line there;
 * it tells only if it was asked to. */
static bool has_line(struct waiting *w)
{
	return w->due.report_ms == NEVER_MS ? w->progress.fd >= 0 : progress_is_seen(&w->progress);
}

static void tell_outage(struct waiting *w)
{
	const char *name = w->lock->keys.shown;
	char cause[OWNER_SHOWN_BYTES];

	w->due.outage_ms = NEVER_MS;
	shorten_to(cause, message_room("waiting for lock %s: ; trying again", name),
		   w->client->error.text);
	message(w->wait->messenger, LOG_ERR, "waiting for lock %s: %s; trying again", name, cause);
}

/* An outage is told once; its end is worth a report. */
static void watch_outage(struct waiting *w)
{
	struct wait_times *due = &w->due;

	if (w->client->error.status == STATUS_OK) {
		if (due->outage_ms == NEVER_MS && due->report_ms != NEVER_MS)
			due->report_ms = clock_ms();
		due->outage_ms = 0;
		return;
	}
	if (due->outage_ms == 0)
		due->outage_ms = clock_ms() + w->wait->options->connect_timeout_ms;
	if (clock_ms() < due->outage_ms)
		return;
	if (has_line(w))
		due->outage_ms = clock_ms() + VIEW_MS;
	else
		tell_outage(w);
}

/* The waiting line, a report and --verbose say the same sentence. */
static void report(struct waiting *w)
{
	const char *name = w->lock->keys.shown;
	const size_t room = message_room("waiting for lock %s: ", name);
	char text[OWNER_SHOWN_BYTES];

	w->due.report_ms = clock_ms() + w->wait->options->report_ms;
	if (has_line(w))
		return;
	if (w->due.outage_ms)
		tell_outage(w);
	else
		complain_in_passing("waiting for lock %s: %s", name, say_view(text, room, w));
}

/* ---- A wrap above us ---- */

#define FIRST_LOOK_MS 1000

/* A view tells one of several holders, another one later. */
#define NEXT_LOOK_MS 10000

/* sudo, su and env -i do not pass the owner on, so the server takes us for a stranger. Returns
 * whether to ask who holds the lock. */
static bool look_above_if_due(struct waiting *w)
{
	if (clock_ms() < w->due.above_ms)
		return false;
	w->due.above_ms = owner_is_above(NULL) ? clock_ms() + NEXT_LOOK_MS : NEVER_MS;
	return w->due.above_ms != NEVER_MS;
}

/* Returns -1 if a wrap above us holds the lock: the wait would never end. Not where others hold it,
 * too, beside which there may be room for us. */
static int check_above(struct waiting *w, struct error *err)
{
	const struct holder *holder = &w->view.holder;
	const char *want = w->lock->wish.mode;
	const char beside = want_is_slot(want) ? MODE_SLOT : *want;

	if (w->due.above_ms == NEVER_MS || !w->view.is_known ||
	    (holder->count > 1 && holder->mode == beside && !holder_is_of_other_count(holder)))
		return 0;
	if (owner_is_above(holder->owner))
		return fail(
			err, STATUS_USAGE,
			"cannot get lock %s: the wait would never end: the wrap above (pid %s) has it; pass FAIRLOCK_OWNER on (sudo -E)",
			w->lock->keys.shown, strrchr(holder->owner, ':') + 1);
	if (holder->count == 1)
		w->due.above_ms = NEVER_MS;
	return 0;
}

/* ---- Views ---- */

/* A view has come, or was refused. */
static void tell_view(struct waiting *w)
{
	char text[OWNER_SHOWN_BYTES];

	w->viewing = false;
	w->due.view_ms = w->client->sent_ms + VIEW_MS;
	if (w->place_due) {
		if (w->view.is_known && w->view.place != w->place)
			message_step(w->wait->messenger, "%s", say_view(text, STEP_CHARACTERS, w));
		w->place_due = false;
		w->place = w->view.place;
	}
	if (clock_ms() >= w->due.report_ms)
		report(w);
	draw(w);
}

/* Draws and tells what is due, or asks for a view first, if the server is there and the line can be
 * seen. */
static void show(struct waiting *w)
{
	const bool is_drawn = clock_ms() >= w->progress.draw_ms;
	struct request request;

	if (w->is_queued)
		watch_outage(w);
	if (w->client->error.status && clock_ms() >= w->due.report_ms)
		report(w);
	if (!client_has_request(w->client) &&
	    (w->place_due || clock_ms() >= w->due.report_ms || look_above_if_due(w) ||
	     (is_drawn && clock_ms() >= w->due.view_ms && progress_is_seen(&w->progress)))) {
		wire_look(&w->lock->keys, &request, "view");
		wire_add(&request, w->lock->request);
		client_request(w->client, &request);
		w->viewing = true;
		progress_due(&w->progress, REDRAW_MS);
	} else if (is_drawn) {
		draw(w);
	}
}

/* ---- Answers and messages ---- */

/* A message may send us no farther ahead, so that sums of times do not overflow. */
#define WATCH_MAX_MS (INT64_C(1) << 50)

/* We ask again after a late grant. After so many, the server is too far away for the lease. */
#define LATE_GRANTS 3

/* A waiter asks again after so long if the server has refused it a channel. Until it listens it
 * counts as gone, and waiters behind it would go before it. */
#define DEAF_MS 1000

static void begin_queueing(struct waiting *w)
{
	const struct options *options = w->wait->options;

	w->is_queued = true;
	message_step(w->wait->messenger, "waiting for lock %s", w->lock->keys.shown);
	if (!options->quiet)
		progress_start(&w->progress);
	if (options->report_ms && !options->quiet)
		w->due.report_ms = clock_ms();
	/* most waits are over before it is time to look */
	w->due.above_ms = clock_ms() + FIRST_LOOK_MS;
}

static void queued(struct waiting *w, const struct ask_reply *reply)
{
	const bool is_deaf = w->client->traffic.subscribed < w->client->channel_count;
	char id[OWNER_MAX_BYTES], channel[CHANNEL_MAX_BYTES];

	if (!w->is_queued)
		begin_queueing(w);
	w->place_due = w->wait->messenger->verbose;
	w->due.sign_ms =
		clock_ms() + (is_deaf ? earliest(reply->ask_in_ms, DEAF_MS) : reply->ask_in_ms);
	/* a lock that never ends is most likely a mistake: the user should know */
	if (reply->ttl_ms == -1 && !w->told_no_ttl) {
		progress_clear(&w->progress);
		message(w->wait->messenger, LOG_NOTICE,
			"lock %s has no time to live: only its holder or release --force can free it",
			w->lock->keys.shown);
	}
	w->told_no_ttl = reply->ttl_ms == -1;
	w->first = reply->first;
	if (w->first)
		hear_outsiders(w);
	/* Redisson's unlock speaks to the head of its list, where one id stands for several of us.
	 * It may have spoken before we listen there, so we ask once more. */
	snprintf(id, sizeof(id), "fairlock:%s", reply->marker);
	wire_channel(&w->lock->keys, id, channel);
	if (*reply->marker && client_subscribe(w->client, channel))
		w->due.watch_ms = pace_ms(&w->pace);
}

static void got_it(struct waiting *w)
{
	w->end = WAIT_GRANTED;
	tell_grant(w->wait->messenger, w->lock);
}

/* We may have been stopped while the answer was under way. COMMAND does not start on a lease that
 * is as good as over: the next request renews it, or finds our old place in the queue. With more
 * than three fifths left, it is renewed before job_times would have COMMAND stopped. */
static int granted(struct waiting *w, struct error *err)
{
	if (w->lock->deadline_ms - clock_ms() > w->lock->ttl_ms / 5 * 3) {
		got_it(w);
		return 0;
	}
	message_step(w->wait->messenger, "the grant of lock %s came late", w->lock->keys.shown);
	if (++w->late_grants == LATE_GRANTS)
		return fail(err, STATUS_UNAVAILABLE,
			    "cannot get lock %s: each grant came too late; use a longer --lease",
			    w->lock->keys.shown);
	ask(w);
	return 0;
}

/* Returns -1 if the wait is over without the lock. */
static int answered(struct waiting *w, struct error *err)
{
	char ago[DURATION_MAX_BYTES];
	struct ask_reply reply;

	if (lock_read_answer(w->lock, w->client, &reply, err) < 0)
		return -1;
	w->traceless = reply.outcome == ASK_BUSY || reply.outcome == ASK_FULL ||
		       reply.outcome == ASK_RAN || reply.outcome == ASK_MISFIT;
	if (reply.outcome == ASK_GRANTED)
		return granted(w, err);
	if (reply.outcome == ASK_QUEUED) {
		queued(w, &reply);
		return 0;
	}
	if (reply.outcome == ASK_RAN_OK) {
		/* after a late grant, too: what ended with 0 was another's COMMAND */
		w->end = WAIT_DONE;
		message_event(w->wait->messenger, LOG_INFO,
			      "lock %s was not needed: a command ended with 0 %s ago",
			      w->lock->keys.shown, duration_show(ago, reply.number));
		return 0;
	}
	if (reply.outcome == ASK_RAN && (w->late_grants > 0 || w->wait->begins_anew))
		return fail(
			err, STATUS_NOT_HELD,
			"lost lock %s before its command began; --once-per counts it as started",
			w->lock->keys.shown);
	if (reply.outcome == ASK_FORCED)
		w->end = WAIT_LOST;
	w->holder_is_said = true;
	return refused(err, w, &reply);
}

/* "granted ...": the lock is ours. "0": our turn. "first N": we are first, the lease ends in N ms.
 * "second N": see in N ms whether the one before us took its turn. Any other message: we ask. */
static void heard(struct waiting *w)
{
	const int64_t least_ms = pace_ms(&w->pace);
	const char *message = w->client->message;
	int64_t in_ms = 0;

	message_step(w->wait->messenger, "heard: %s", message);
	if (!client_has_request(w->client) && handover_accept(w->lock, w->client)) {
		got_it(w);
		return;
	}
	w->lock->was_told = true;
	if (sscanf(message, "first %" SCNd64, &in_ms) == 1 && in_ms > 0) {
		w->first = true;
		/* the key is there until its last millisecond is over */
		in_ms = earliest(in_ms, WATCH_MAX_MS) + 1;
		if (!w->hears_outsiders)
			in_ms = earliest(in_ms, LISTEN_MS);
	} else if (sscanf(message, "second %" SCNd64, &in_ms) != 1) {
		in_ms = 0;
	}
	if (is_asking(w))
		return; /* the answer under way is newer */
	/* a message does not put off a request that waits for the pace already */
	if (w->due.watch_ms > least_ms)
		w->due.watch_ms = MAX(clock_ms() + MIN(MAX(in_ms, 0), WATCH_MAX_MS), least_ms);
	if (clock_ms() >= ask_again_ms(w))
		ask(w);
}

/* The connection broke, or with is_final: the server refused the request or us. If we never reached
 * the server, the wait fails at once. Else the server went away: the client keeps trying, and sends
 * our request as soon as the server is back. */
static int failed(struct waiting *w, bool is_final, struct error *err)
{
	struct client *client = w->client;

	/* the server refuses a view: had it refused the connection, the request would be pending,
	 * and had it refused the subscription, the channels would be gone */
	if (is_final && w->viewing && !client_has_request(client) && client->channel_count > 0) {
		client->error.status = STATUS_OK;
		tell_view(w);
		return 0;
	}
	if (is_final || !client->ever_answered) {
		*err = client->error;
		return -1;
	}
	if (!is_asking(w))
		ask(w);
	return 0;
}

/* ---- Leaving ---- */

/* How long a waiter that leaves waits for the answer; and if the server has never answered. */
#define LEAVE_MS 2000
#define LEAVE_UNHEARD_MS 500

/* The longest way to a server that is only told. */
#define LEAVE_UNANSWERED_MS 100

/* If the server is away, or has never answered, that is why the waiter has no lock: an outage is
 * not told as a busy lock. */
static int timed_out(const struct waiting *w, struct error *err)
{
	const struct client *client = w->client;
	const bool is_cut_off = !client->ever_answered || client->connection.attempts > 0;
	char text[DURATION_MAX_BYTES];

	/* the connection for this one of several locks may be too new */
	if (is_cut_off && (client->error.status || w->wait->set->holds->state == HOLD_NOT_YET)) {
		client_tell_late(client, err);
		return -1;
	}
	if (client->phase == REQUEST_CONFIRMING)
		return fail(err, STATUS_UNAVAILABLE,
			    "cannot get lock %s: too few replicas confirmed it",
			    w->lock->keys.shown);
	return fail(err, STATUS_NOT_OBTAINED, "cannot get lock %s: timed out after %s",
		    w->lock->keys.shown, duration_show_fraction(text, w->wait->options->wait_ms));
}

/* Leaves the queue for the reason *err, if the server may know of us. That is a request of its own,
 * which also undoes a grant that is under way. If --wait is over and the server turns out to be
 * away, that becomes the reason. */
static void leave(struct waiting *w, struct error *err)
{
	struct client *client = w->client;
	const int64_t until_ms = clock_ms() + (client->ever_answered ? LEAVE_MS : LEAVE_UNHEARD_MS);
	struct request request;
	struct holder holder;
	struct error why;

	if (!client->sent_ms || w->traceless)
		return;
	message_step(w->wait->messenger, "leaving the queue");
	/* a connection that carries nothing any more must leave time for another */
	connection_set_timeout(&client->connection,
			       earliest(client->connection.timeout_ms, LEAVE_MS / 2));
	client_cancel(client, 0);
	wire_leave(w->lock, &request);
	/* A server that has been silent for as long as the user allows may go on later, and grant
	 * the lock to a process that is no more: it is told, but its answer is hardly waited for.
	 */
	if (!client->ever_answered && err->status == STATUS_UNAVAILABLE) {
		client_call(client, &request, clock_ms() + LEAVE_UNANSWERED_MS, false, &why);
		return;
	}
	if (client_call(client, &request, until_ms, client->ever_answered, &why) < 0) {
		message_step(w->wait->messenger, "%s", why.text);
		/* a server that cannot serve, or serves us no more, is no busy lock */
		if (clock_ms() >= w->until_ms && err->status == STATUS_NOT_OBTAINED)
			*err = why;
		return;
	}
	holder = lock_read_holder(w->lock, client->reply, 1);
	holder.is_last = true;
	if (err->status == STATUS_NOT_OBTAINED && !w->holder_is_said && *holder.owner)
		holder_say(err->text, sizeof(err->text), "; ", &holder);
}

/* ---- Standing by ---- */

/* Returns whether a process was made to run COMMAND. That takes time: look for events then. */
static bool stand_by(struct waiting *w)
{
	const struct connection *connection = &w->client->connection;
	/* of the first question only on the first connection: there may be many */
	const bool is_wanted = connection->stage == CONNECTION_OPEN &&
			       (w->is_queued ? w->first : connection->opened == 1);
	/* There is time while no request is under way, and while the server works on our first
	 * one. But a guard that needs a connection of its own pays only once we are queued. */
	const bool is_time =
		(w->is_queued ? client_is_still(w->client) : !connection->server->tls) &&
		hold_set_is_silent(w->wait->set);

	return w->wait->stand_by && w->wait->stand_by(w->wait->data, is_wanted, is_time);
}

/* ---- The loop ---- */

/* After so many events of the server we look at signals and at the end of --wait. */
#define EVENTS_AT_ONCE 100

/* The server is served before these: a grant that has come counts. A grant that is under way when
 * one of these ends the wait is undone by leaving. */
enum {
	SLOT_SIGNALS,
	SLOT_PID,
	SLOT_CLIENT,
	SLOT_HELD, /* one for each lock that is held already, and the timer's behind them */
	SLOTS_IN_ALL = SLOT_HELD + HOLDS_MAX + 1,
};

static int take_events(struct waiting *w, struct error *err)
{
	for (int events = 0; events < EVENTS_AT_ONCE; events++) {
		enum client_event event;
		int result = 0;

		if (w->wait->messenger->verbose)
			progress_clear(&w->progress); /* a step may be told */
		event = client_step(w->client);
		switch (event) {
		case CLIENT_NOTHING:
			return 0;
		case CLIENT_REPLY:
			if (!w->viewing) {
				result = answered(w, err);
				break;
			}
			read_view(w);
			tell_view(w);
			result = check_above(w, err);
			break;
		case CLIENT_MESSAGE:
			heard(w);
			break;
		case CLIENT_FAILED:
		case CLIENT_REFUSED:
			result = failed(w, event == CLIENT_REFUSED, err);
			break;
		}
		if (result < 0 || w->end >= WAIT_GRANTED)
			return result;
	}
	return 0;
}

/* Returns -1 if one of them ends the wait. */
static int take_signals(struct waiting *w, struct error *err)
{
	struct signalfd_siginfo info;

	while (signal_fd_next(w->wait->signals, &info)) {
		signal_fd_reap(&info);
		if (info.ssi_signo == SIGTSTP)
			progress_stop(&w->progress);
		else if (signal_fd_is_deadly((int)info.ssi_signo)) {
			w->holder_is_said = true;
			return fail_stopped(err, w->wait, w->lock, (int)info.ssi_signo);
		}
	}
	progress_due(&w->progress, 0); /* the terminal has another size, or is ours again */
	return 0;
}

static int fail_unwanted(struct error *err, const struct lock *lock)
{
	return fail(err, STATUS_NOT_OBTAINED,
		    "cannot get lock %s: the process of --while-pid has ended", lock->keys.shown);
}

/* Returns -1 when the wait is to end. */
static int pause_waiting(struct waiting *w, struct error *err)
{
	const struct hold_set *set = w->wait->set;
	struct pollfd slots[SLOTS_IN_ALL] = {
		[SLOT_SIGNALS] = {.fd = w->wait->signals->fd, .events = POLLIN},
		[SLOT_PID] = {.fd = w->wait->pidfd, .events = POLLIN},
	};
	const bool has_request = client_has_request(w->client);
	int64_t wake = earliest(client_wait(w->client, &slots[SLOT_CLIENT]),
				hold_set_wait(set, &slots[SLOT_HELD]));

	wake = earliest(wake, earliest(ask_again_ms(w), w->until_ms));
	wake = earliest(wake, w->progress.draw_ms);
	if (w->due.outage_ms)
		wake = earliest(wake, w->due.outage_ms);
	if (!has_request || w->client->error.status)
		wake = earliest(wake, w->due.report_ms);
	if (!has_request)
		wake = earliest(wake, w->due.above_ms);
	if (deadline_poll(w->wait->loop, slots, (nfds_t)SLOT_HELD + (nfds_t)set->count + 1, wake,
			  err) < 0)
		return -1;
	if (slots[SLOT_SIGNALS].revents && take_signals(w, err) < 0)
		return -1;
	if (!slots[SLOT_PID].revents)
		return 0;
	/* the lock is not wanted any more, whether the server is there or away, now or while we
	 * leave */
	w->until_ms = NEVER_MS;
	return fail_unwanted(err, w->lock);
}

int wait_while_held(const struct wait *wait, struct pollfd what, bool renews, struct error *err)
{
	struct hold *hold = wait->set->holds;
	struct pollfd slots[SLOT_HELD + 2] = {
		[SLOT_SIGNALS] = {.fd = wait->signals->fd, .events = POLLIN},
		[SLOT_PID] = {.fd = wait->pidfd, .events = POLLIN},
		[SLOT_CLIENT] = {.fd = -1},
		[SLOT_HELD] = what,
	};
	int64_t wake = NEVER_MS;

	for (;;) {
		if (renews) {
			hold_set_step(wait->set);
			wake = hold_set_wait(wait->set, &slots[SLOT_CLIENT]);
		}
		if (hold->state != HOLD_HELD || clock_ms() >= hold->lock.deadline_ms)
			return fail(err, STATUS_NOT_HELD,
				    "lost lock %s before its owner id was written",
				    hold->lock.keys.shown);
		if (deadline_poll(wait->loop, slots, SLOT_HELD + 2,
				  earliest(wake, hold->lock.deadline_ms), err) < 0)
			return -1;
		if (slots[SLOT_HELD].revents)
			return 0;
		if (slots[SLOT_SIGNALS].revents && wait_is_stopped(wait, &hold->lock, err))
			return -1;
		if (slots[SLOT_PID].revents)
			return fail_unwanted(err, &hold->lock);
	}
}

static void begin(struct waiting *w)
{
	const struct wait *wait = w->wait;
	char channel[CHANNEL_MAX_BYTES];

	w->lock->place.wanted_ms =
		wait->set->holds->state == HOLD_NOT_YET ? wait->from_ms : clock_ms();
	if (wait->options->wait_ms > 0)
		/* the present millisecond has begun already */
		w->until_ms = wait->from_ms + wait->options->wait_ms + 1;
	w->client->keen = true;
	wire_channel(&w->lock->keys, w->lock->request, channel);
	client_subscribe(w->client, channel);
	ask(w);
}

enum wait_event wait_for_lock(const struct wait *wait, struct hold *hold, struct error *err)
{
	struct waiting w = {.wait = wait,
			    .lock = &hold->lock,
			    .client = &hold->client,
			    .until_ms = NEVER_MS,
			    .due = {.report_ms = NEVER_MS, .above_ms = NEVER_MS},
			    .progress = {.fd = -1, .draw_ms = NEVER_MS}};

	begin(&w);
	while (take_events(&w, err) == 0 && w.end < WAIT_GRANTED) {
		const enum wait_event kept = wait_keep_held(wait->set, w.lock, err);

		if (kept != WAIT_GRANTED) {
			w.holder_is_said = true;
			w.end = kept;
			break;
		}
		if (clock_ms() >= w.until_ms) {
			timed_out(&w, err);
			break;
		}
		show(&w);
		if (clock_ms() >= ask_again_ms(&w))
			ask(&w);
		else if (!stand_by(&w) && pause_waiting(&w, err) < 0)
			break;
	}
	progress_close(&w.progress);
	if (w.end < WAIT_GRANTED)
		leave(&w, err);
	return w.end;
}
