/* Each call may wait as long as --connect-timeout, and tells the steps of its connection. */
#include "commands/owner_call.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/text.h"
#include "cli/options.h"
#include "redis/client.h"
#include "redis/reply.h"

/* Where the reply about the status has a row for each holder: see look.lua. */
#define ROWS_AT 18

/* A longer name does not go into a message as a word for a shell. */
#define QUOTED_MAX_BYTES 49

static bool is_same_person(const char *one, const char *other)
{
	struct owner_process a, b;

	owner_parse(&a, one);
	owner_parse(&b, other);
	return strcmp(a.user, b.user) == 0 && strcmp(a.host, b.host) == 0;
}

/* Finds the hold that this user took by hand on this host, if there is exactly one, and no
 * inherited owner holds the lock. */
static int find_by_hand(struct owner_call *call, struct error *err)
{
	const struct redisReply *reply, *row;
	struct request request;
	int found = 0;

	wire_look(&call->lock.keys, &request, "status");
	if (client_ask(&call->client, &request, NEVER_MS, err) < 0)
		return -1;
	reply = call->client.reply;
	for (size_t i = 0; i < reply_count(reply_at(reply, ROWS_AT)); i++) {
		row = reply_at(reply_at(reply, ROWS_AT), i);
		found += lock_inherits(&call->lock, reply_text(row, 0)) ? 2 : 0;
		if (!reply_fits(row, "siisssiisi") || reply_number(row, 9) != 1 ||
		    !owner_is_valid(reply_text(row, 0)) ||
		    !is_same_person(reply_text(row, 4), call->lock.by))
			continue;
		snprintf(*call->by_hand, OWNER_MAX_BYTES, "%s", reply_text(row, 0));
		snprintf(call->by, sizeof(call->by), "%s", reply_text(row, 4));
		found++;
	}
	if (found != 1)
		**call->by_hand = '\0';
	return 0;
}

static int say_who_you_are(const struct owner_call *call, const char *verb, struct error *err)
{
	char quoted[QUOTED_MAX_BYTES];

	if (reply_count(call->client.reply) > ROWS_AT && !*reply_text(call->client.reply, 0))
		return fail(err, STATUS_USAGE, "cannot %s lock %s: it is free", verb,
			    call->lock.keys.shown);
	if (!**call->by_hand)
		return fail(err, STATUS_USAGE,
			    "cannot %s lock %s: say who you are: --owner ID, as acquire printed it",
			    verb, call->lock.keys.shown);
	return fail(err, STATUS_USAGE, "cannot %s without an owner: fairlock %s --owner %s %s",
		    verb, verb, *call->by_hand,
		    shell_name(quoted, sizeof(quoted), call->lock.keys.name));
}

/* A script must not give back the hold of another job: a shell with job control gives each command
 * of a person a process group of its own, and a script's commands are in that of the script. */
static int take_by_hand(struct owner_call *call, const char *verb, struct error *err)
{
	const bool is_person = isatty(STDIN_FILENO) && getpgrp() == getpid();
	const bool is_inside = call->lock.inherited_count > 0;

	call->client.keen = is_person || is_inside;
	call->client.connection.starts_none = !call->client.keen;
	if (find_by_hand(call, err) < 0 && call->client.keen)
		return -1;
	if (is_inside && !**call->by_hand)
		return 0;
	if (!is_person || !**call->by_hand)
		return say_who_you_are(call, verb, err);
	call->lock.inherited = call->by_hand;
	call->lock.inherited_count = 1;
	return 0;
}

int owner_call_init(struct owner_call *call, const struct invocation *invocation, const char *verb,
		    struct error *err)
{
	const struct options *options = invocation->options;
	char fairlock[] = "fairlock", release[] = "release", stop[] = "--stop", force[] = "--force";
	char *words[] = {fairlock, release, options->stop ? stop : force, NULL};

	call->invocation = invocation;
	call->needs_owner = !options->stop && !options->force && !options->forget_run;
	**call->by_hand = '\0';
	if (lock_init(&call->lock, invocation->argv[0], LOCK_ACQUIRE, options, words, err) < 0)
		return -1;
	client_init(&call->client, invocation->server, invocation->messenger,
		    options->connect_timeout_ms);
	call->client.keen = true; /* a server that restarts may answer soon */
	if (!call->needs_owner || options->owner || take_by_hand(call, verb, err) == 0)
		return 0;
	client_close(&call->client);
	return -1;
}
