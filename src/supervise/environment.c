/* The environment tells COMMAND which locks its owner holds, and on which server. */
#include "supervise/environment.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/options.h"
#include "redis/server_url.h"

static bool is_owner(const struct job *job, const char *id)
{
	for (int i = 0; i < job->set->count; i++)
		if (strcmp(job->set->members[i].lock.owner, id) == 0)
			return true;
	return false;
}

/* The owner that stands before the others is that of NAME. */
static void set_held(const struct job *job)
{
	char held[(HELD_MAX + HOLDS_MAX) * OWNER_MAX_BYTES];
	size_t at = (size_t)snprintf(held, sizeof(held), "%s", job->lock->owner);

	for (int i = 0; i < job->set->count; i++)
		if (&job->set->members[i].lock != job->lock)
			at += (size_t)snprintf(held + at, sizeof(held) - at, " %s",
					       job->set->members[i].lock.owner);
	for (int i = 0; i < job->lock->inherited_count; i++)
		if (!is_owner(job, job->lock->inherited[i]))
			at += (size_t)snprintf(held + at, sizeof(held) - at, " %s",
					       job->lock->inherited[i]);
	setenv("FAIRLOCK_HELD", held, 1);
}

/* NAME=TOKEN of each lock, one a line. */
static void set_tokens(const struct hold_set *set)
{
	char tokens[HOLDS_MAX * (NAME_MAX_BYTES + TOKEN_MAX_BYTES + 2)];
	size_t at = 0;

	for (int i = 0; i < set->count; i++)
		at += (size_t)snprintf(tokens + at, sizeof(tokens) - at, "%s%s=%s",
				       i > 0 ? "\n" : "", set->members[i].lock.keys.name,
				       set->members[i].lock.token);
	setenv("FAIRLOCK_TOKENS", tokens, 1);
}

static void set_path(const char *variable, const char *path)
{
	if (path)
		setenv(variable, path, 1);
}

/* So that inner calls find the same server. */
static void set_server(const struct options *options, const struct server *server)
{
	if (options->url_is_flag)
		setenv("FAIRLOCK_URL", server->label, 1);
	if (!server->tls || (!options->url_is_flag && !options->tls_is_flag))
		return;
	set_path("FAIRLOCK_TLS_CA", server->tls_files.ca);
	set_path("FAIRLOCK_TLS_CERT", server->tls_files.cert);
	set_path("FAIRLOCK_TLS_KEY", server->tls_files.key);
	if (server->tls_files.insecure)
		setenv("FAIRLOCK_TLS_INSECURE", "yes", 1);
}

static void set_or_unset(const char *variable, const char *value)
{
	if (value)
		setenv(variable, value, 1);
	else
		unsetenv(variable);
}

/* From the first question to the last grant. */
static void set_waited(const struct hold_set *set)
{
	const int64_t from_ms = set->members[0].lock.wanted_ms;
	int64_t until_ms = from_ms;
	char waited[NUMBER_MAX_BYTES];

	for (int i = 0; i < set->count; i++)
		if (set->members[i].lock.since_ms > until_ms)
			until_ms = set->members[i].lock.since_ms;
	snprintf(waited, sizeof(waited), "%" PRId64, until_ms - from_ms);
	setenv("FAIRLOCK_WAITED_MS", waited, 1);
}

void environment_set(const struct job *job)
{
	setenv("FAIRLOCK_NAME", job->lock->keys.name, 1);
	set_held(job); /* the owners that we inherited, too */
	setenv("FAIRLOCK_OWNER", job->lock->owner, 1);
	setenv("FAIRLOCK_TOKEN", job->lock->token, 1);
	set_or_unset("FAIRLOCK_SLOT", lock_slot(job->lock));
	if (job->options->also[0])
		set_tokens(job->set);
	else
		unsetenv("FAIRLOCK_TOKENS");
	set_waited(job->set);
	set_server(job->options, job->server);
}
