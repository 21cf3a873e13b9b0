#include "redis/connection.h"

#include <errno.h>
#include <hiredis/hiredis.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "redis/local_server.h"
#include "redis/reply_limits.h"
#include "redis/resolve.h"
#include "redis/server_error.h"
#include "redis/server_url.h"
#include "redis/tls.h"

#define BACKOFF_MIN_MS INT64_C(10)
#define LOCAL_START_RETRY_MS 3
#define BUFFER_MAX_BYTES (64u << 20)
#define REDIRECTIONS_MAX 8

void link_init(struct link *link, const struct server *server, int64_t timeout_ms)
{
	*link = (struct link){.server = server,
			      .timeout_ms = timeout_ms,
			      .back_off_max_ms = BACK_OFF_MAX_MS,
			      .fd = -1,
			      .local_folder = -1};
	greeting_init(&link->greeting, server);
}

/* ---- Ends ---- */

static void close_socket(struct link *link)
{
	if (link->redis)
		redisFree(link->redis); /* and its socket */
	else if (link->fd >= 0)
		close(link->fd);
	bounds_free(link->bounds);
	link->redis = NULL;
	link->bounds = NULL;
	link->fd = -1;
	link->greeting.due = 0;
	link->stage = LINK_DOWN;
}

void link_close(struct link *link)
{
	close_socket(link);
	if (link->local_folder >= 0)
		close(link->local_folder);
	link->local_folder = -1;
}

void link_leave(const struct link *link)
{
	if (link->fd >= 0)
		close(link->fd);
	if (link->local_folder >= 0)
		close(link->local_folder);
}

void link_drop(struct link *link)
{
	close_socket(link);
	link->dial = (struct dial){0};
	link->retry_ms = 0;
}

/* Half of the delay is random, so that many waiters do not come back in step. */
int64_t link_back_off(struct link *link)
{
	const unsigned doublings = link->attempts < 16 ? link->attempts : 16;
	const int64_t half = earliest(BACKOFF_MIN_MS << doublings, link->back_off_max_ms) / 2;
	uint32_t dice = 0;

	(void)!getrandom(&dice, sizeof(dice), GRND_NONBLOCK);
	link->attempts++;
	return half + (int64_t)(dice % (uint64_t)(half + 1));
}

static void back_off(struct link *link)
{
	link->retry_ms = clock_ms() + link_back_off(link);
}

/* The round of attempts, or the connection, is over; another one follows. Who was named is asked
 * first after a mishap, but only once, and only where a connection that was fine has ended. A
 * sentinel that named somebody who is no good may be the only one that does not know better. */
static enum link_event lost(struct link *link)
{
	if (link->on_named && link->server->kind == SERVER_SENTINEL)
		link->seed = (link->seed + 1) % link->server->seed_count;
	if (!link->is_well || link->asking || link->server->kind == SERVER_SENTINEL)
		link->named.port = 0;
	link_drop(link);
	link->tried = 0;
	link->redirections = 0;
	link->is_well = false;
	link->refused = false;
	back_off(link);
	return LINK_FAILED;
}

void link_fail(struct link *link, enum status status, const char *verb, const char *cause)
{
	fail(&link->error, status, "cannot %s %s: %s", verb, server_shown(link->server), cause);
	lost(link);
}

static enum link_event unreachable(struct link *link, const char *cause)
{
	fail(&link->error, STATUS_UNAVAILABLE, "cannot reach %s: %s", server_shown(link->server),
	     cause);
	return lost(link);
}

/* This attempt failed, link->error says why: the next address or seed follows at once, if there is
 * one in this round. */
static enum link_event attempt_failed(struct link *link)
{
	if (!dial_has_more(&link->dial) &&
	    (link->on_named || link->tried >= link->server->seed_count))
		return lost(link);
	close_socket(link);
	link->retry_ms = 0;
	return LINK_NOTHING;
}

/* Of several addresses where nobody listens, the first one is told: the others may be of a kind
 * that is not in use here. */
static enum link_event attempt_failed_for(struct link *link, const char *cause)
{
	if (link->dial.next <= 1 || link->redis)
		fail(&link->error, STATUS_UNAVAILABLE, "cannot reach %s: %s",
		     server_shown(link->server), cause);
	return attempt_failed(link);
}

bool link_await(struct link *link)
{
	const int64_t now = clock_ms();

	if (!link->give_up_ms)
		link->give_up_ms = now + link->timeout_ms;
	if (now >= link->give_up_ms) {
		link->give_up_ms = 0;
		return false;
	}
	link_drop(link);
	if (link->server->kind == SERVER_LOCAL)
		link->retry_ms = now + LOCAL_START_RETRY_MS;
	else
		back_off(link);
	return true;
}

bool link_redirect(struct link *link, const char *text)
{
	struct endpoint to;

	if (!refusal_redirects(text, &link->endpoint, &to) ||
	    link->redirections >= REDIRECTIONS_MAX)
		return false;
	link->redirections++;
	link->named = to;
	link->asks_next = refusal_is(text, "ASK");
	link->greeting.is_cluster = true;
	link_drop(link);
	return true;
}

void link_is_well(struct link *link)
{
	if (!link->on_named && link->tried > 0)
		link->seed = (link->seed + link->tried - 1) % link->server->seed_count;
	link->tried = 0;
	link->is_well = true;
	link->attempts = 0;
	link->redirections = 0;
	link->give_up_ms = 0;
	link->broke = false;
	link->error.status = STATUS_OK;
}

/* ---- From the socket to the greeting ---- */

static bool is_overdue(const struct link *link)
{
	return clock_ms() >= link->due_ms;
}

void link_send(struct link *link, int argc, const char **argv)
{
	redisAppendCommandArgv(link->redis, argc, argv, NULL);
}

static enum link_event opened(struct link *link)
{
	link->stage = LINK_OPEN;
	link->opened++;
	link->due_ms = clock_ms() + link->timeout_ms;
	greeting_send(&link->greeting, link->redis);
	return link->greeting.to_sentinel ? LINK_NOTHING : LINK_OPENED;
}

static enum link_event shake_hands(struct link *link)
{
	struct error why;

	switch (tls_shake_hands(link->redis, &link->events, &why)) {
	case 0:
		return opened(link);
	case 1:
		return is_overdue(link) ? attempt_failed_for(link, "no answer to the TLS handshake "
								   "in time (does it speak TLS?)")
					: LINK_NOTHING;
	default:
		link->broke |= link->redis->err == REDIS_ERR_EOF;
		fail(&link->error, why.status, "cannot reach %s: %s", server_shown(link->server),
		     why.text);
		return attempt_failed(link);
	}
}

/* False when there is no memory: what there is of it goes with the socket. */
static bool have_hiredis(struct link *link)
{
	redisOptions options = {
		.type = REDIS_CONN_USERFD, .endpoint.fd = link->fd, .options = REDIS_OPT_NONBLOCK};

	link->bounds = NULL;
	link->redis = redisConnectWithOptions(&options);
	if (link->redis && !link->redis->err)
		link->bounds = bounds_set(link->redis->reader);
	return link->bounds;
}

static enum link_event connected(struct link *link)
{
	link->dial.next = link->dial.count; /* no other address is needed */
	if (!have_hiredis(link))
		return unreachable(link, strerror(ENOMEM));
	if (!link->server->tls)
		return opened(link);
	if (tls_start(link->redis, link->server, link->endpoint.host, &link->error) < 0)
		return lost(link);
	link->stage = LINK_SECURING;
	return shake_hands(link);
}

static enum link_event mind_connect(struct link *link)
{
	switch (dial_result(link->fd)) {
	case 0:
		return connected(link);
	case 1:
		return is_overdue(link) ? attempt_failed_for(link, strerror(ETIMEDOUT))
					: LINK_NOTHING;
	default:
		return attempt_failed_for(link, strerror(errno));
	}
}

/* ---- The way to a socket ---- */

/* Nobody listens on the private server's socket: starts it. */
static enum link_event start_local(struct link *link)
{
	if (errno != ENOENT && errno != ECONNREFUSED && errno != EAGAIN)
		return unreachable(link, strerror(errno));
	if (local_start(link->local_folder, &link->error) < 0)
		return lost(link);
	if (!link->give_up_ms)
		link->launches++;
	if (link_await(link))
		return LINK_NOTHING;
	local_failure(link->local_folder, &link->error);
	return lost(link);
}

static enum link_event open_local(struct link *link)
{
	if (link->local_folder < 0)
		link->local_folder = local_open(&link->error);
	if (link->local_folder < 0)
		return lost(link);
	link->fd = local_connect(link->local_folder);
	return link->fd < 0 ? start_local(link) : connected(link);
}

static enum link_event open_unix(struct link *link)
{
	link->fd = dial_unix(link->server->path);
	return link->fd < 0 ? unreachable(link, strerror(errno)) : connected(link);
}

static enum link_event connect_next(struct link *link)
{
	link->fd = dial_next(&link->dial, link->timeout_ms);
	if (link->fd < 0)
		return attempt_failed_for(link, strerror(errno));
	link->stage = LINK_CONNECTING;
	return LINK_NOTHING;
}

/* Whom to try now: the one that was named, else the seeds, beginning with the one that was fine
 * last. */
static void choose_endpoint(struct link *link)
{
	const struct server *server = link->server;

	link->on_named = link->named.port != 0;
	link->greeting.to_sentinel = !link->on_named && server->kind == SERVER_SENTINEL;
	link->endpoint = link->on_named
				 ? link->named
				 : server->seeds[(link->seed + link->tried++) % server->seed_count];
}

static enum link_event open_tcp(struct link *link)
{
	if (dial_has_more(&link->dial))
		return connect_next(link);
	choose_endpoint(link);
	if (dial_known(&link->dial, &link->endpoint))
		return connect_next(link);
	link->fd = lookup_start(&link->endpoint);
	if (link->fd < 0)
		return attempt_failed_for(link, strerror(errno));
	link->stage = LINK_LOOKING_UP;
	return LINK_NOTHING;
}

static enum link_event begin(struct link *link)
{
	if (clock_ms() < link->retry_ms)
		return LINK_NOTHING;
	link->due_ms = clock_ms() + link->timeout_ms;
	if (link->connected_ms >= link->begun_ms)
		link->begun_ms = clock_ms();
	link->is_well = false;
	link->asking = link->asks_next;
	link->asks_next = false;
	switch (link->server->kind) {
	case SERVER_LOCAL:
		return open_local(link);
	case SERVER_UNIX:
		return open_unix(link);
	case SERVER_TCP:
	case SERVER_SENTINEL:
		return open_tcp(link);
	}
	return LINK_NOTHING;
}

static enum link_event mind_lookup(struct link *link)
{
	struct pollfd slot = {.fd = link->fd, .events = POLLIN};
	const char *cause;
	int fd = link->fd;

	if (poll(&slot, 1, 0) == 0)
		return is_overdue(link) ? attempt_failed_for(link, "its name was not found in time")
					: LINK_NOTHING;
	link->fd = -1;
	if (lookup_finish(fd, &link->dial, &cause) < 0)
		return attempt_failed_for(link, cause);
	return connect_next(link);
}

/* ---- The greeting ---- */

/* What the greeting's next reply means for the way. */
static enum link_event take_greeting(struct link *link, const redisReply *reply)
{
	struct greeting *greeting = &link->greeting;

	switch (greeting_take(greeting, reply, &link->endpoint, &link->error)) {
	case GREETING_GOES_ON:
		if (greeting->due == 0) {
			link->connected_ms = clock_ms();
			link->connections++;
		}
		break;
	case GREETING_NAMES:
		link->named = greeting->master;
		link->seed = (link->seed + link->tried - 1) % link->server->seed_count;
		link_drop(link);
		break;
	case GREETING_AGAIN:
		link->tried--;
		link_drop(link);
		break;
	case GREETING_FAILS:
		return attempt_failed(link);
	case GREETING_REFUSED:
		lost(link);
		link->refused = true;
		return LINK_FAILED;
	}
	return LINK_NOTHING;
}

/* ---- What goes over it ---- */

/* A server that speaks only TLS ends the connection, most often without a word. One that has
 * greeted us before has another reason. */
static bool may_speak_tls(const struct link *link)
{
	return link->connections == 0 && link->server->seed_count > 0 && !link->server->tls;
}

static enum link_event greeting_broke(struct link *link)
{
	char cause[192];

	snprintf(cause, sizeof(cause), "%.128s%s", link->redis->errstr,
		 may_speak_tls(link) ? " (does it want TLS, rediss://?)" : "");
	return attempt_failed_for(link, cause);
}

/* The connection broke. Before the first answer that may be the other end's idea of TLS. */
static enum link_event broken(struct link *link)
{
	const char *cause = link->redis->errstr;

	if (link->redis->err == TLS_REFUSED) {
		fail(&link->error, STATUS_REFUSED, "cannot reach %s: %s",
		     server_shown(link->server), cause);
		return link->greeting.due > 0 ? attempt_failed(link) : lost(link);
	}
	if (link->redis->err != REDIS_ERR_PROTOCOL && !bounds_exceeded(link->bounds)) {
		link->broke = true;
		return link->greeting.due > 0 ? greeting_broke(link) : unreachable(link, cause);
	}
	if (link->greeting.due > 0 && strstr(cause, "\\x15"))
		return attempt_failed_for(link, "it speaks TLS (rediss://)");
	fail(&link->error, STATUS_BUG, "cannot understand %s: %s", server_shown(link->server),
	     bounds_exceeded(link->bounds) ? "a reply that is too large" : cause);
	return lost(link);
}

/* The next that the other end has said, or NULL. Returns -1 when the connection is broken. */
static int next_reply(struct link *link, redisReply **reply)
{
	void *next = NULL;

	for (int reads = 0; !next && reads < 2; reads++) {
		if (reads > 0 && redisBufferRead(link->redis) != REDIS_OK)
			return -1;
		if (redisGetReplyFromReader(link->redis, &next) != REDIS_OK)
			return -1;
	}
	*reply = next;
	return 0;
}

static int flush(struct link *link)
{
	int done = 0;

	return sdslen(link->redis->obuf) == 0 || redisBufferWrite(link->redis, &done) == REDIS_OK
		       ? 0
		       : -1;
}

/* A server that has too many clients says so and closes, perhaps before we have said anything. */
static bool hear_last_words(struct link *link, redisReply **reply)
{
	char words[256];
	ssize_t length = -1;
	void *next = NULL;

	if (link->greeting.due > 0 && !link->server->tls)
		length = recv(link->fd, words, sizeof(words), MSG_DONTWAIT);
	if (length > 0 && redisReaderFeed(link->redis->reader, words, (size_t)length) == REDIS_OK &&
	    redisGetReplyFromReader(link->redis, &next) == REDIS_OK)
		*reply = next;
	return next != NULL;
}

static enum link_event converse(struct link *link, redisReply **reply)
{
	const bool is_late = link->greeting.due > 0 && is_overdue(link);
	redisReply *next = NULL;
	enum link_event event = LINK_NOTHING;

	if (flush(link) < 0 ? !hear_last_words(link, &next) : next_reply(link, &next) < 0)
		return broken(link);
	/* what has come while we were late ourselves is in time */
	if (is_late && (!next || next->type == REDIS_REPLY_PUSH)) {
		freeReplyObject(next);
		return attempt_failed_for(link, "no reply in time");
	}
	if (!next && link->redis->reader->len > BUFFER_MAX_BYTES) {
		fail(&link->error, STATUS_BUG, "cannot understand %s: a reply that does not end",
		     server_shown(link->server));
		return lost(link);
	}
	if (!next)
		return LINK_NOTHING;
	if (link->greeting.due == 0 || next->type == REDIS_REPLY_PUSH) {
		*reply = next;
		return LINK_REPLY;
	}
	event = take_greeting(link, next);
	freeReplyObject(next);
	return event == LINK_NOTHING && link->stage == LINK_OPEN ? converse(link, reply) : event;
}

static enum link_event advance(struct link *link, redisReply **reply)
{
	switch (link->stage) {
	case LINK_DOWN:
		return begin(link);
	case LINK_LOOKING_UP:
		return mind_lookup(link);
	case LINK_CONNECTING:
		return mind_connect(link);
	case LINK_SECURING:
		return shake_hands(link);
	case LINK_OPEN:
		return converse(link, reply);
	}
	return LINK_NOTHING;
}

/* ---- Another process goes on with it ---- */

bool link_is_sending(const struct link *link)
{
	return link->stage == LINK_OPEN && sdslen(link->redis->obuf) > 0;
}

bool link_is_silent(const struct link *link)
{
	const redisReader *reader;

	if (link->stage != LINK_OPEN || link_is_sending(link))
		return false;
	reader = link->redis->reader;
	/* it may have looked for a reply that has not begun */
	return reader->pos == reader->len &&
	       (reader->ridx < 0 || (reader->ridx == 0 && reader->task[0]->type < 0));
}

bool link_can_be_shared(const struct link *link)
{
	return !link->server->tls;
}

void link_forget_connection(struct link *link)
{
	link->redis = NULL;
	link->bounds = NULL;
	link->fd = -1;
	link_drop(link);
}

enum link_event link_step(struct link *link, struct redisReply **reply)
{
	enum link_event event;
	enum link_stage stage;

	*reply = NULL;
	do {
		stage = link->stage;
		event = advance(link, reply);
	} while (event == LINK_NOTHING && link->stage > stage);
	return event;
}

int64_t link_wait(const struct link *link, struct pollfd *slot)
{
	*slot = (struct pollfd){.fd = link->fd};
	switch (link->stage) {
	case LINK_DOWN:
		return link->retry_ms;
	case LINK_LOOKING_UP:
		slot->events = POLLIN;
		return link->due_ms;
	case LINK_CONNECTING:
		slot->events = POLLOUT;
		return link->due_ms;
	case LINK_SECURING:
		slot->events = link->events;
		return link->due_ms;
	case LINK_OPEN:
		slot->events = POLLIN;
		if (link_is_sending(link))
			slot->events |= POLLOUT;
		return link->greeting.due > 0 ? link->due_ms : NEVER_MS;
	}
	return NEVER_MS;
}
