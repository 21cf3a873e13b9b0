/* Waits for one request in a poll of its own, and for nothing else meanwhile. */
#include "redis/client_call.h"

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
		const int64_t now = clock_ms();
		const int64_t wake = earliest(client_wait(client, &slot), until_ms);

		if (now >= until_ms) {
			if (client->error.status)
				*err = client->error;
			else
				server_fail(client->connection.server, err, STATUS_UNAVAILABLE,
					    "reach", "no reply in time");
			return -1;
		}
		poll(&slot, 1, wake > now ? (int)(wake - now) : 0);
	}
}

/* A server that goes away is an error to report: SIGPIPE must not end the command. */
static int await_without_sigpipe(struct client *client, int64_t until_ms, enum patience patience,
				 struct error *err)
{
	const struct timespec at_once = {0};
	sigset_t set, before;
	int result;

	sigemptyset(&set);
	sigaddset(&set, SIGPIPE);
	sigprocmask(SIG_BLOCK, &set, &before);
	result = await(client, until_ms, patience, err);
	if (!sigismember(&before, SIGPIPE)) {
		sigtimedwait(&set, NULL, &at_once);
		sigprocmask(SIG_UNBLOCK, &set, NULL);
	}
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
