/* Waits for one request in a poll of its own, or where the server's `meanwhile` waits. */
#include "redis/client_call.h"

#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <time.h>

#include "base/clock.h"
#include "redis/connection.h"
#include "redis/connection_trace.h"
#include "redis/server.h"

/* After which failures a call goes on. */
enum patience {
	NEVER,    /* none */
	ON_BREAK, /* when a connection that was made has broken */
	ALWAYS,   /* when the server is away for any cause */
};

static bool goes_on(const struct client *client, enum patience patience)
{
	return client->error.status == STATUS_UNAVAILABLE &&
	       (patience == ALWAYS || (patience == ON_BREAK && client->connection.broke));
}

/* Waits until wake_ms at most. */
static int await_event(const struct client *client, struct pollfd *slot, int64_t wake_ms,
		       struct error *err)
{
	const struct meanwhile *meanwhile = client->connection.server->meanwhile;
	const int64_t left = wake_ms - clock_ms();

	if (!meanwhile)
		poll(slot, 1, left > 0 ? (int)left : 0);
	else if (!meanwhile->await(meanwhile->data, slot, wake_ms))
		return fail(err, STATUS_OS,
			    "cannot wait for the server: the user has quit"); /* unseen */
	return 0;
}

/* Waits until the request is answered or, if there is none, until the server has greeted us. */
static int await(struct client *client, int64_t until_ms, enum patience patience, struct error *err)
{
	const bool for_reply = client_has_request(client);
	struct pollfd slot;

	for (;;) {
		enum client_event event = client_step(client);

		if (client->steps)
			connection_trace_tell(client->steps, client);
		if (event == CLIENT_REPLY || (!for_reply && client_has_greeted(client)))
			return 0;
		if (event == CLIENT_REFUSED ||
		    (event == CLIENT_FAILED && !goes_on(client, patience))) {
			*err = client->error;
			return -1;
		}
		if (event != CLIENT_NOTHING)
			continue;
		const int64_t wake = earliest(client_wait(client, &slot), until_ms);

		if (clock_ms() >= until_ms) {
			client_tell_late(client, err);
			return -1;
		}
		if (await_event(client, &slot, wake, err) < 0)
			return -1;
	}
}

/* A server that goes away is an error to report: SIGPIPE must not end the command. */
static void block_sigpipe(sigset_t *before)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGPIPE);
	sigprocmask(SIG_BLOCK, &set, before);
}

static void unblock_sigpipe(const sigset_t *before)
{
	const struct timespec at_once = {0};
	sigset_t set;

	if (sigismember(before, SIGPIPE))
		return;
	sigemptyset(&set);
	sigaddset(&set, SIGPIPE);
	sigtimedwait(&set, NULL, &at_once);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
}

static int await_without_sigpipe(struct client *client, int64_t until_ms, enum patience patience,
				 struct error *err)
{
	sigset_t before;
	int result;

	block_sigpipe(&before);
	result = await(client, until_ms, patience, err);
	unblock_sigpipe(&before);
	return result;
}

int client_call(struct client *client, const struct request *request, int64_t until_ms,
		bool patient, struct error *err)
{
	int result;

	client_request(client, request);
	/* a call does not wait for the pause after another one that failed */
	client->connection.retry_ms = 0;
	result = await_without_sigpipe(client, until_ms, patient ? ALWAYS : ON_BREAK, err);
	/* a reply that comes too late must not answer the next request */
	if (result < 0)
		client_cancel(client);
	return result;
}

int client_connect(struct client *client, int64_t until_ms, struct error *err)
{
	client_open(client);
	return await_without_sigpipe(client, until_ms, ON_BREAK, err);
}

void client_finish(struct client *client, int64_t until_ms)
{
	struct error ignored;

	if (client_has_request(client))
		await_without_sigpipe(client, until_ms, NEVER, &ignored);
	client_cancel(client);
}

static int listen_until(struct client *client, int64_t until_ms, struct error *err)
{
	struct pollfd slot;

	for (;;) {
		const enum client_event event = client_step(client);

		if (client->steps)
			connection_trace_tell(client->steps, client);
		if (event == CLIENT_REFUSED) {
			*err = client->error;
			return -1;
		}
		if (event != CLIENT_NOTHING)
			return 0;
		const int64_t now = clock_ms();
		const int64_t wake = earliest(client_wait(client, &slot), until_ms);

		if (now >= until_ms)
			return 0;
		poll(&slot, 1, wake > now ? (int)earliest(wake - now, INT_MAX) : 0);
	}
}

int client_listen(struct client *client, int64_t until_ms, struct error *err)
{
	sigset_t before;
	int result;

	block_sigpipe(&before);
	result = listen_until(client, until_ms, err);
	unblock_sigpipe(&before);
	return result;
}

/* Whether the system has all of the request. */
static bool has_left(const struct client *client)
{
	return client->phase >= REQUEST_SENT && !connection_is_sending(&client->connection);
}

void client_tell(struct client *client, const struct request *request, int64_t until_ms)
{
	struct pollfd slot;

	client_request(client, request);
	client->connection.retry_ms = 0;
	while (client_step(client) == CLIENT_NOTHING && !has_left(client)) {
		const int64_t now = clock_ms();
		const int64_t wake = earliest(client_wait(client, &slot), until_ms);

		if (now >= until_ms)
			break;
		poll(&slot, 1, wake > now ? (int)(wake - now) : 0);
	}
}
