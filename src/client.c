#include "client.h"

#include <errno.h>
#include <hiredis/hiredis.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include "clock.h"
#include "local.h"
#include "script.h"
#include "server.h"

#define BACKOFF_MIN_MS 10
#define LOCAL_START_RETRY_MS 3
#define BUFFER_MAX_BYTES (64u << 20)

void client_init(struct client *client, const struct server *server, int64_t timeout_ms)
{
	memset(client, 0, sizeof(*client));
	client->server = server;
	client->timeout_ms = timeout_ms;
	client->fd = -1;
	client->local_folder = -1;
}

static void drop_reply(struct client *client)
{
	if (client->reply)
		freeReplyObject(client->reply);
	client->reply = NULL;
}

static void disconnect(struct client *client)
{
	if (client->redis)
		redisFree(client->redis);
	else if (client->fd >= 0)
		close(client->fd);
	client->redis = NULL;
	client->fd = -1;
	client->greetings = 0;
	client->subscribed = 0;
	client->confirmations = 0;
	if (client->pending && client->sent)
		client->retried = true;
	client->sent = false;
}

void client_close(struct client *client)
{
	drop_reply(client);
	disconnect(client);
	if (client->local_folder >= 0)
		close(client->local_folder);
	client->local_folder = -1;
}

/* Half of the delay is random, so that many waiters do not come back in step. */
static void back_off(struct client *client)
{
	int64_t half = BACKOFF_MIN_MS / 2 << (client->attempts < 5 ? client->attempts : 5);
	uint32_t dice = 0;

	(void)!getrandom(&dice, sizeof(dice), GRND_NONBLOCK);
	client->attempts++;
	client->retry_ms = clock_ms() + half + dice % (half + 1);
}

/* What client->error says will be tried again. */
static enum client_event failed(struct client *client)
{
	client->final = false;
	disconnect(client);
	back_off(client);
	return CLIENT_FAILED;
}

static const char *shown(const struct client *client)
{
	return client->server->kind == SERVER_LOCAL ? "the private server" : client->server->label;
}

/* The connection, or the attempt to make one, is over; another one follows. */
static enum client_event lost(struct client *client, const char *cause)
{
	fail(&client->error, STATUS_UNAVAILABLE, "cannot reach %s: %s", shown(client), cause);
	return failed(client);
}

/* What came from the other end is not what a server says. */
static enum client_event nonsense(struct client *client, const char *what)
{
	fail(&client->error, STATUS_BUG, "cannot understand %s: %s", shown(client), what);
	return failed(client);
}

static enum client_event broken(struct client *client)
{
	if (client->redis->err == REDIS_ERR_PROTOCOL)
		return nonsense(client, client->redis->errstr);
	return lost(client, client->redis->errstr);
}

/* A private server that is starting is not down: comes back in a moment, as long as the connect
 * timeout lasts. Returns false when that is over. */
static bool await_local(struct client *client)
{
	int64_t now = clock_ms();

	if (!client->give_up_ms)
		client->give_up_ms = now + client->timeout_ms;
	if (now >= client->give_up_ms) {
		client->give_up_ms = 0;
		return false;
	}
	disconnect(client);
	client->retry_ms = now + LOCAL_START_RETRY_MS;
	return true;
}

/* Nobody listens on the private server's socket: starts it. */
static enum client_event start_local(struct client *client)
{
	if (errno != ENOENT && errno != ECONNREFUSED && errno != EAGAIN)
		return lost(client, strerror(errno));
	if (local_start(client->local_folder, &client->error) < 0)
		return failed(client);
	if (await_local(client))
		return CLIENT_NOTHING;
	local_failure(client->local_folder, &client->error);
	return failed(client);
}

/* The attempt at one address failed: the next one is tried at once, if there is one. */
static enum client_event address_failed(struct client *client)
{
	const char *cause = strerror(errno);

	if (!dial_has_more(&client->dial))
		return lost(client, cause);
	disconnect(client);
	client->retry_ms = 0;
	return CLIENT_NOTHING;
}

static enum client_event open_tcp(struct client *client)
{
	const char *cause;

	if (client->dial.count == 0 && dial_resolve(&client->dial, client->server, &cause) < 0)
		return lost(client, cause);
	client->fd = dial_next(&client->dial);
	return client->fd < 0 ? address_failed(client) : CLIENT_NOTHING;
}

static enum client_event open_local(struct client *client)
{
	if (client->local_folder < 0)
		client->local_folder = local_open(&client->error);
	if (client->local_folder < 0)
		return failed(client);
	client->fd = local_connect(client->local_folder);
	return client->fd < 0 ? start_local(client) : CLIENT_NOTHING;
}

/* Makes a socket: client->fd, which may still be connecting; or none, to be tried again later. */
static enum client_event open_socket(struct client *client)
{
	client->due_ms = clock_ms() + client->timeout_ms;
	switch (client->server->kind) {
	case SERVER_LOCAL:
		return open_local(client);
	case SERVER_UNIX:
		client->fd = dial_unix(client->server->path);
		return client->fd < 0 ? lost(client, strerror(errno)) : CLIENT_NOTHING;
	case SERVER_TCP:
		return open_tcp(client);
	}
	return CLIENT_NOTHING;
}

static void append(struct client *client, int argc, const char **argv)
{
	redisAppendCommandArgv(client->redis, argc, argv, NULL);
}

static void append_subscriptions(struct client *client)
{
	const char *argv[1 + CLIENT_CHANNELS] = {"SUBSCRIBE"};
	int argc = 1;

	for (; client->subscribed < client->channel_count; client->subscribed++)
		argv[argc++] = client->channels[client->subscribed];
	if (argc == 1)
		return;
	append(client, argc, argv);
	client->confirmations += argc - 1;
}

/* HELLO with the password in one command: were they two, a server that needs
 * the password would refuse the first and stay with RESP2. */
static void append_greeting(struct client *client)
{
	const struct server *server = client->server;
	const char *hello[] = {"HELLO", "3", "AUTH", server->user ? server->user : "default",
			       server->password};
	char db[16];

	append(client, server->password ? 5 : 2, hello);
	client->greetings = 1;
	if (server->db) {
		snprintf(db, sizeof(db), "%d", server->db);
		append(client, 2, (const char *[]){"SELECT", db});
		client->greetings++;
	}
}

static void append_request(struct client *client, bool whole_script)
{
	const struct request *request = &client->request;
	const char *argv[REQUEST_ARGS + 3];
	int argc = 0;

	if (request->script) {
		argv[argc++] = whole_script ? "EVAL" : "EVALSHA";
		argv[argc++] = whole_script ? request->script->text : request->script->sha1;
		argv[argc++] = "5";
	}
	for (int i = 0; i < request->argc; i++)
		argv[argc++] = request->argv[i];
	if (request->again && (client->retried || client->returning))
		argv[argc - request->argc + request->again] = "1";
	append(client, argc, argv);
	client->sent = true;
	client->ever_sent = true;
	client->sent_ms = clock_ms();
	client->due_ms = client->sent_ms + client->timeout_ms;
}

/* The socket is connected: all that we have to say goes out behind the greeting. */
static enum client_event greet(struct client *client)
{
	redisOptions options = {.type = REDIS_CONN_USERFD,
				.endpoint.fd = client->fd,
				.options = REDIS_OPT_NONBLOCK};

	client->redis = redisConnectWithOptions(&options);
	if (!client->redis || client->redis->err)
		return lost(client, client->redis ? client->redis->errstr : strerror(ENOMEM));
	client->returning = client->ever_answered;
	append_greeting(client);
	append_subscriptions(client);
	client->due_ms = clock_ms() + client->timeout_ms;
	return CLIENT_NOTHING;
}

/* Goes on with connecting; client->redis says whether that is done. */
static enum client_event begin(struct client *client)
{
	enum client_event event = CLIENT_NOTHING;

	if (client->fd < 0)
		event = open_socket(client);
	if (client->fd < 0)
		return event;
	int result = dial_result(client->fd);

	if (result == 1 && clock_ms() < client->due_ms)
		return CLIENT_NOTHING;
	if (result == 1)
		errno = ETIMEDOUT;
	return result == 0 ? greet(client) : address_failed(client);
}

static bool starts_with_word(const char *text, const char *word)
{
	size_t length = strlen(word);

	return strncmp(text, word, length) == 0 && (text[length] == ' ' || text[length] == '\0');
}

static bool is_one_of(const char *text, const char *const *words)
{
	for (; *words; words++)
		if (starts_with_word(text, *words))
			return true;
	return false;
}

/* Which status an error reply means. Servers before 7 wrap what a script met into a
 * sentence of their own, so those words are looked for anywhere. */
static enum status classify(const char *text)
{
	static const char *const unavailable[] = {
		"LOADING",    "READONLY", "OOM",      "MISCONF", "CLUSTERDOWN", "MASTERDOWN",
		"NOREPLICAS", "BUSY",     "TRYAGAIN", "NOPROTO", NULL};
	static const char *const refused[] = {"NOAUTH", "WRONGPASS", "NOPERM", NULL};

	if (is_one_of(text, unavailable) || strstr(text, "max number of clients") ||
	    strstr(text, "unknown command") || strstr(text, "OOM command not allowed") ||
	    strstr(text, "READONLY You can't write") || strstr(text, "-MISCONF "))
		return STATUS_UNAVAILABLE;
	if (is_one_of(text, refused) || strstr(text, "no permissions") ||
	    strstr(text, "can't run this command or subcommand"))
		return STATUS_REFUSED;
	if (strstr(text, "WRONGTYPE") || strstr(text, "DB index is out of range") ||
	    strstr(text, "invalid DB index"))
		return STATUS_CONFIG;
	return STATUS_BUG;
}

/* The server answered with an error: an unavailable one is asked again later,
 * any other answer is final. */
static enum client_event refused(struct client *client, const char *text)
{
	enum status status = classify(text);

	if (client->server->kind == SERVER_LOCAL && starts_with_word(text, "LOADING") &&
	    await_local(client))
		return CLIENT_NOTHING;
	if (strstr(text, "WRONGTYPE") && client->request.script)
		fail(&client->error, STATUS_CONFIG,
		     "cannot use the name %s: it is in use by something that is no lock",
		     client->request.argv[0]);
	else if (status == STATUS_UNAVAILABLE)
		fail(&client->error, status, "cannot use %s: %s", shown(client), text);
	else
		fail(&client->error, status, "cannot use %s: the server says: %s", shown(client),
		     text);
	if (status == STATUS_UNAVAILABLE)
		return failed(client);
	client->pending = false;
	client->sent = false;
	client->final = true;
	return CLIENT_FAILED;
}

static enum client_event take_push(struct client *client, redisReply *push)
{
	enum client_event event = CLIENT_NOTHING;

	if (push->elements == 3 && push->element[0]->type == REDIS_REPLY_STRING &&
	    strcmp(push->element[0]->str, "subscribe") == 0)
		client->confirmations--;
	if (push->elements == 3 && push->element[0]->type == REDIS_REPLY_STRING &&
	    strcmp(push->element[0]->str, "message") == 0 &&
	    push->element[2]->type == REDIS_REPLY_STRING) {
		snprintf(client->message, sizeof(client->message), "%s", push->element[2]->str);
		event = CLIENT_MESSAGE;
	}
	freeReplyObject(push);
	return event;
}

static enum client_event take_greeting(struct client *client, redisReply *reply)
{
	enum client_event event = CLIENT_NOTHING;

	client->greetings--;
	if (reply->type == REDIS_REPLY_ERROR) {
		event = refused(client, reply->str);
		disconnect(client);
	}
	freeReplyObject(reply);
	return event;
}

static enum client_event take_reply(struct client *client, redisReply *reply)
{
	enum client_event event = CLIENT_REPLY;

	if (!client->pending || !client->sent) {
		freeReplyObject(reply);
		return nonsense(client, "a reply that nobody asked for");
	}
	if (reply->type == REDIS_REPLY_ERROR && client->confirmations > 0) {
		/* SUBSCRIBE was refused; the request behind it may have been granted */
		event = refused(client, reply->str);
		client->channel_count = 0;
		disconnect(client);
		freeReplyObject(reply);
		return event;
	}
	if (reply->type == REDIS_REPLY_ERROR) {
		event = CLIENT_NOTHING;
		if (starts_with_word(reply->str, "NOSCRIPT"))
			append_request(client, true);
		else
			event = refused(client, reply->str);
		freeReplyObject(reply);
		return event;
	}
	client->reply = reply;
	client->pending = false;
	client->sent = false;
	client->retried = false;
	client->returning = false;
	client->give_up_ms = 0;
	client->ever_answered = true;
	client->error.status = STATUS_OK;
	client->attempts = 0;
	return event;
}

/* One thing that the server has said, if there is one. */
static enum client_event take_next(struct client *client, bool *more)
{
	void *reply = NULL;

	*more = false;
	if (redisGetReplyFromReader(client->redis, &reply) != REDIS_OK)
		return broken(client);
	if (!reply) {
		if (client->redis->reader->len > BUFFER_MAX_BYTES)
			return nonsense(client, "a reply that does not end");
		return CLIENT_NOTHING;
	}
	*more = true;
	if (((redisReply *)reply)->type == REDIS_REPLY_PUSH)
		return take_push(client, reply);
	if (client->greetings > 0)
		return take_greeting(client, reply);
	return take_reply(client, reply);
}

static enum client_event talk(struct client *client)
{
	enum client_event event;
	bool more = true;
	int done = 0;

	if (client->pending && !client->sent)
		append_request(client, false);
	while (client->redis && !done)
		if (redisBufferWrite(client->redis, &done) != REDIS_OK)
			return broken(client);
		else if (!done)
			break;
	for (int reads = 0; reads < 2; reads++) {
		while (more && client->redis) {
			event = take_next(client, &more);
			if (event != CLIENT_NOTHING)
				return event;
		}
		if (!client->redis)
			return CLIENT_NOTHING;
		if (reads == 0 && redisBufferRead(client->redis) != REDIS_OK)
			return broken(client);
		more = true;
	}
	return CLIENT_NOTHING;
}

static bool is_wanted(const struct client *client)
{
	return client->pending || client->channel_count > 0;
}

enum client_event client_step(struct client *client)
{
	int64_t now = clock_ms();

	drop_reply(client);
	if (!client->redis) {
		if (client->fd < 0 && (!is_wanted(client) || now < client->retry_ms))
			return CLIENT_NOTHING;
		enum client_event event = begin(client);

		if (!client->redis)
			return event;
	} else if ((client->greetings > 0 || client->sent) && now >= client->due_ms) {
		return lost(client, "no reply in time");
	}
	return talk(client);
}

int64_t client_wait(const struct client *client, struct pollfd *slot)
{
	slot->fd = client->redis ? client->redis->fd : client->fd;
	slot->events = client->redis ? POLLIN : POLLOUT;
	if (!client->redis && client->fd >= 0)
		return client->due_ms;
	if (!client->redis)
		return is_wanted(client) ? client->retry_ms : NEVER_MS;
	if (sdslen(client->redis->obuf) > 0)
		slot->events |= POLLOUT;
	return client->greetings > 0 || client->sent ? client->due_ms : NEVER_MS;
}

void client_subscribe(struct client *client, const char *channel)
{
	for (int i = 0; i < client->channel_count; i++)
		if (strcmp(client->channels[i], channel) == 0)
			return;
	if (client->channel_count == CLIENT_CHANNELS)
		return;
	snprintf(client->channels[client->channel_count++], CHANNEL_MAX_BYTES, "%s", channel);
	if (client->redis)
		append_subscriptions(client);
}

void client_request(struct client *client, const struct request *request)
{
	client->request = *request;
	client->pending = true;
	client->sent = false;
	client->retried = false;
}

void client_cancel(struct client *client)
{
	if (client->pending && client->sent)
		disconnect(client);
	client->pending = false;
	client->sent = false;
	client->retried = false;
}

static int call(struct client *client, const struct request *request, int64_t until_ms,
		bool patient, struct error *err)
{
	struct pollfd slot;

	client_request(client, request);
	for (;;) {
		enum client_event event = client_step(client);

		if (event == CLIENT_REPLY)
			return 0;
		if (event == CLIENT_FAILED &&
		    (client->error.status != STATUS_UNAVAILABLE || !patient)) {
			*err = client->error;
			return -1;
		}
		if (event != CLIENT_NOTHING)
			continue;
		int64_t now = clock_ms();
		int64_t wake = client_wait(client, &slot);

		if (now >= until_ms) {
			if (client->error.status)
				*err = client->error;
			else
				fail(err, STATUS_UNAVAILABLE, "cannot reach %s: no reply in time",
				     shown(client));
			return -1;
		}
		if (wake > until_ms)
			wake = until_ms;
		poll(&slot, 1, wake > now ? (int)(wake - now) : 0);
	}
}

/* A server that goes away is an error to report, not the end of a command that does not block the
 * signal for other reasons. */
int client_call(struct client *client, const struct request *request, int64_t until_ms,
		bool patient, struct error *err)
{
	const struct timespec at_once = {0};
	sigset_t set, before;
	int result;

	sigemptyset(&set);
	sigaddset(&set, SIGPIPE);
	sigprocmask(SIG_BLOCK, &set, &before);
	result = call(client, request, until_ms, patient, err);
	if (!sigismember(&before, SIGPIPE)) {
		sigtimedwait(&set, NULL, &at_once);
		sigprocmask(SIG_UNBLOCK, &set, NULL);
	}
	return result;
}
