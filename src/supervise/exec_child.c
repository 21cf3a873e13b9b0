/* Does all that it can before the grant, so that little is left between the grant and exec. */
#include "supervise/exec_child.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "cli/options.h"
#include "redis/server_url.h"
#include "supervise/exec_path.h"

#define PAUSE_NS 5000000L
#define NAP_NS 50000L

/* ---- COMMAND's environment: which lock is held, where, and by which owner ---- */

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

void exec_set_environment(const struct job *job)
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

/* ---- Until exec ---- */

/* A process that was stopped, and is continued when the lease is as good as over, does not become
 * COMMAND, unless a renewal comes before the end. */
ON_OTHER_STACK static void await_valid_lease(const struct shared_state *shared)
{
	while (clock_ms() >= shared->stop_ms) {
		if (clock_ms() >= shared->kill_ms)
			_exit(STATUS_NOT_HELD);
		nanosleep(&(struct timespec){.tv_nsec = PAUSE_NS}, NULL);
	}
}

ON_OTHER_STACK _Noreturn void exec_command(const struct job *job, struct shared_state *shared,
					   pid_t parent, int end_signal)
{
	prctl(PR_SET_PDEATHSIG, end_signal);
	if (getppid() != parent)
		_exit(STATUS_NOT_FOUND); /* too late for a signal */
	signal_fd_restore(job->signals);
	await_valid_lease(shared);
	exec_path(job->argv);
	shared->ending.exec_errno = errno;
	_exit(STATUS_NOT_FOUND);
}

/* While it waits it takes no signals: those to the process group are for the wrapper. But it stops
 * with the group, so that the guard hears of that. Even then it must not outlive the guard. */
_Noreturn void exec_child(const struct job *job, struct shared_state *shared, int start,
			  pid_t parent)
{
	char byte;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	signal_fd_let_stop(job->signals);
	/* the server sees the guard go when no process has the connection any more */
	for (int i = 0; i < job->set->count; i++)
		connection_leave(&job->set->members[i].client.connection);
	exec_set_environment(job); /* a rehearsal: the memory that it takes is there then */
	if (getppid() != parent || read(start, &byte, 1) != 1)
		_exit(STATUS_NOT_FOUND);
	while (!shared->has_signals) /* the wrapper was quicker than the guard */
		nanosleep(&(struct timespec){.tv_nsec = NAP_NS}, NULL);
	shared_state_take_locks(shared, job);
	exec_set_environment(job);
	exec_command(job, shared, parent, job->options->signal);
}
