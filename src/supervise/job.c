/* The memory that the processes share is mapped, not in a file: it lives as long as one of them.
 * COMMAND's environment tells it which locks its owner holds, and on which server. */
#include "supervise/job.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/message.h"
#include "base/signals.h"
#include "cli/options.h"
#include "redis/server.h"

/* ---- Times ---- */

/* The server's clock may run a twelfth faster than ours, which is as much as chrony slews a clock.
 * The rest is for the time that processes take to die. */
static int64_t margin_ms(int64_t ttl_ms)
{
	const int64_t dying_ms = ttl_ms / 10;

	return ttl_ms / 12 + (dying_ms < 100 ? 100 : earliest(dying_ms, 1000));
}

int64_t job_kill_ms_for(const struct lock *lock)
{
	return lock->deadline_ms - margin_ms(lock->ttl_ms);
}

/* A lock that was handed over is ours for a short time at first, and the renewal needs that more
 * than a COMMAND that has just begun. */
int64_t job_stop_ms_for(const struct job *job, const struct lock *lock)
{
	int64_t grace_ms = job->kill_after_ms;

	if (lock->handed && lock->ttl_ms < lock->lease_ms)
		grace_ms = earliest(grace_ms, lock->ttl_ms / 5);
	return job_kill_ms_for(lock) - grace_ms;
}

int64_t job_kill_ms(const struct job *job)
{
	int64_t least = NEVER_MS;
	const struct member *member;

	for (int at = 0; (member = hold_set_next(job->set, &at));)
		least = earliest(least, job_kill_ms_for(&member->lock));
	return least;
}

int64_t job_stop_ms(const struct job *job)
{
	int64_t least = NEVER_MS;
	const struct member *member;

	for (int at = 0; (member = hold_set_next(job->set, &at));)
		least = earliest(least, job_stop_ms_for(job, &member->lock));
	return least;
}

struct shared_state *shared_state_new(int locks)
{
	const size_t bytes =
		sizeof(struct shared_state) + (size_t)locks * sizeof(struct shared_lock);
	struct shared_state *shared = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
					   MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

	if (shared == MAP_FAILED)
		return NULL;
	shared->bytes = bytes;
	return shared;
}

/* When one is lost, COMMAND's times stay what they were: the others do not give it more. */
void shared_state_put_times(struct shared_state *shared, const struct job *job)
{
	const int64_t deadline_ms = hold_set_deadline_ms(job->set);

	for (int i = 0; i < job->set->count; i++) {
		const struct member *member = &job->set->members[i];

		shared->locks[i].deadline_ms =
			member->hold.state == HOLD_HELD ? member->lock.deadline_ms : 0;
	}
	if (deadline_ms == NEVER_MS)
		return;
	shared->deadline_ms = deadline_ms;
	if (shared->ending.lost)
		return;
	shared->kill_ms = job_kill_ms(job);
	shared->stop_ms = job_stop_ms(job);
}

void shared_state_let_go(struct shared_state *shared, const struct job *job)
{
	for (int i = 0; i < job->set->count; i++) {
		shared->locks[i].lock = job->set->members[i].lock;
		shared->locks[i].client = job->set->members[i].client;
	}
	shared->is_deaf = job->messenger->is_deaf;
	shared_state_put_times(shared, job);
	shared->start_ms = clock_ms();
	shared->ending.started = true;
	shared->is_let_go = true;
}

/* The replies are in the wrapper's memory only; all else that the clients point to is in the
 * guard's, too. */
void shared_state_take(const struct shared_state *shared, const struct job *job)
{
	for (int i = 0; i < job->set->count; i++) {
		job->set->members[i].lock = shared->locks[i].lock;
		job->set->members[i].client = shared->locks[i].client;
		job->set->members[i].client.reply = NULL;
	}
	job->messenger->is_deaf = shared->is_deaf;
}

/* ---- How COMMAND ended ---- */

void ending_note(struct shared_state *shared, int status)
{
	shared->ending.wait_status = status;
	shared->ending.was_stopped = shared->phase == GUARD_STOPPING;
	shared->ending.is_reaped = true;
}

static int shell_status(const struct ending *ending)
{
	if (ending->exec_errno)
		return ending->exec_errno == ENOENT ? STATUS_NOT_FOUND : STATUS_NOT_EXECUTABLE;
	return WIFSIGNALED(ending->wait_status) ? 128 + WTERMSIG(ending->wait_status)
						: WEXITSTATUS(ending->wait_status);
}

void ending_put(const struct ending *ending, struct lock *lock)
{
	lock->end.unused = !ending->started || ending->exec_errno;
	if (ending->was_asked)
		*lock->end.min_hold = '\0';
	if (!ending->is_reaped)
		return;
	snprintf(lock->end.status, sizeof(lock->end.status), "%d", shell_status(ending));
	if (ending->timed_out)
		strcpy(lock->end.cause, "max-hold");
	else if (ending->was_asked)
		strcpy(lock->end.cause, "asked");
	else if (ending->was_stopped)
		strcpy(lock->end.cause, ending->wrap_died ? "wrap died" : "lost");
	else if (WIFSIGNALED(ending->wait_status))
		signal_show(lock->end.cause, WTERMSIG(ending->wait_status));
	else
		strcpy(lock->end.cause, "exit");
}

/* ---- Environment ---- */

static void put(const char *variable, const char *value)
{
	if (value)
		setenv(variable, value, 1);
	else
		unsetenv(variable);
}

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
	put("FAIRLOCK_HELD", held);
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
	put("FAIRLOCK_TOKENS", tokens);
}

/* Inner calls find the same server in this variable, and do not say again that nothing names it. */
static void set_server(const struct options *options, const struct server *server)
{
	if (options->url_is_flag || !options->url)
		put("FAIRLOCK_URL", server->label);
	if (!server->tls || (!options->url_is_flag && !options->tls_is_flag))
		return;
	put("FAIRLOCK_TLS_CA", server->tls_files.ca);
	put("FAIRLOCK_TLS_CERT", server->tls_files.cert);
	put("FAIRLOCK_TLS_KEY", server->tls_files.key);
	if (server->tls_files.insecure)
		put("FAIRLOCK_TLS_INSECURE", "yes");
}

/* From the first question to the last grant. */
static void set_waited(const struct hold_set *set)
{
	const int64_t from_ms = set->members[0].lock.place.wanted_ms;
	int64_t until_ms = from_ms;
	char waited[NUMBER_MAX_BYTES];

	for (int i = 0; i < set->count; i++)
		if (set->members[i].lock.since_ms > until_ms)
			until_ms = set->members[i].lock.since_ms;
	snprintf(waited, sizeof(waited), "%" PRId64, until_ms - from_ms);
	put("FAIRLOCK_WAITED_MS", waited);
}

void environment_set(const struct job *job)
{
	put("FAIRLOCK_NAME", job->lock->keys.name);
	set_held(job); /* the owners that we inherited, too */
	put("FAIRLOCK_OWNER", job->lock->owner);
	put("FAIRLOCK_TOKEN", job->lock->token);
	put("FAIRLOCK_SLOT", lock_slot(job->lock));
	if (job->options->also[0])
		set_tokens(job->set);
	else
		unsetenv("FAIRLOCK_TOKENS");
	set_waited(job->set);
	set_server(job->options, job->server);
}
