/* Looks through all of /proc, since a descendant can leave the process group and the session. A
 * process that forks can escape one look; one that is stopped cannot fork. So SIGKILL comes when
 * all that a whole look has found was stopped before. */
#include "supervise/stop.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "redis/local_server.h"

#define KILL_REPEAT_MS 5

/* How long processes may be looked for before those that were found are killed. */
#define LOOKING_MS 50
#define REAPING_MS 20

/* ---- Finding ---- */

static bool is_below(const struct stop *stop, const struct processes *all,
		     const struct process *process)
{
	const struct process *parent;

	if (process->parent == getpid())
		return !ground_is_older(stop->ground, process->pid);
	parent = ground_find(all, process->parent);
	return parent && parent->is_below;
}

/* Children may stand before their parents in the list, so this goes on until nothing changes. */
static void mark(const struct stop *stop, struct processes *all)
{
	bool changed = true;

	while (changed) {
		changed = false;
		for (size_t i = 0; i < all->count; i++) {
			struct process *process = &all->list[i];

			if (!process->is_below && is_below(stop, all, process))
				changed = process->is_below = true;
		}
	}
}

static bool is_target(const struct process *process)
{
	return process->is_below && process->is_alive && !local_server_is_ours(process->pid);
}

static void keep_targets(const struct stop *stop, struct processes *found)
{
	size_t kept = 0;

	mark(stop, found);
	for (size_t i = 0; i < found->count; i++)
		if (is_target(&found->list[i]))
			found->list[kept++] = found->list[i];
	found->count = kept;
}

/* Finds what is to be stopped, until that time. Returns -1 if the processes cannot be listed now.
 */
static int look(const struct stop *stop, struct processes *found, int64_t until_ms)
{
	if (ground_list(stop->ground, found, until_ms) < 0)
		return -1;
	keep_targets(stop, found);
	return 0;
}

/* Lists our children, also those that have ended, and those that are private servers. */
static void list_children(const struct stop *stop, struct processes *children)
{
	size_t kept = 0;

	ground_list_children(stop->ground, children);
	for (size_t i = 0; i < children->count; i++)
		if (!ground_is_older(stop->ground, children->list[i].pid))
			children->list[kept++] = children->list[i];
	children->count = kept;
}

/* ---- Signals ---- */

static void signal_each(const struct processes *found, int signo)
{
	for (size_t i = 0; i < found->count; i++)
		kill(found->list[i].pid, signo);
}

/* For a ground on which nothing can be found. */
static void signal_blindly(const struct stop *stop, int signo)
{
	if (stop->group)
		kill(-stop->group, signo);
	else if (stop->command)
		kill(stop->command, signo);
}

void stop_begin(struct stop *stop, int signo, int64_t kill_ms)
{
	struct processes found = {0};

	stop->kill_ms = kill_ms;
	if (look(stop, &found, kill_ms + LOOKING_MS) == 0) {
		signal_each(&found, signo);
		signal_each(&found, SIGCONT);
	} else {
		signal_blindly(stop, signo);
		signal_blindly(stop, SIGCONT);
	}
	free(found.list);
}

/* ---- SIGKILL ---- */

/* Two looks, one after the other. */
struct looks {
	struct processes before, now;
};

static struct processes *look_again(struct looks *looks)
{
	const struct processes last = looks->now;

	looks->now = looks->before;
	looks->before = last;
	return &looks->now;
}

static void looks_end(struct looks *looks)
{
	free(looks->before.list);
	free(looks->now.list);
}

/* The process groups that were stopped as a whole. */
struct groups {
	pid_t list[64];
	size_t count;
};

static bool has_group(const struct groups *groups, pid_t group)
{
	for (size_t i = 0; i < groups->count; i++)
		if (groups->list[i] == group)
			return true;
	return false;
}

/* Processes that fork and end at once may be faster than we. But they leave their process group to
 * the next one; and in a session that one of them has made there is nobody else. */
static void halt_group(const struct stop *stop, struct groups *groups, pid_t member)
{
	const pid_t group = getpgid(member), session = getsid(member);

	if (group <= 0 || session <= 0 || session == stop->ground->session ||
	    session == getsid(0) || has_group(groups, group) ||
	    groups->count == sizeof(groups->list) / sizeof(*groups->list) ||
	    local_server_is_ours(group)) /* it leads the group of its own children */
		return;
	groups->list[groups->count++] = group;
	kill(-group, SIGSTOP);
}

/* Stops what the look before this one did not have. Returns whether there was any. */
static bool halt_new(const struct stop *stop, const struct looks *looks, struct groups *groups)
{
	bool is_new = false;

	for (size_t i = 0; i < looks->now.count; i++) {
		const pid_t pid = looks->now.list[i].pid;

		if (ground_find(&looks->before, pid))
			continue;
		kill(pid, SIGSTOP); /* it may just have forked */
		halt_group(stop, groups, pid);
		is_new = true;
	}
	return is_new;
}

/* Reading all of /proc takes so long that it misses processes that fork and end at once. But each
 * of these becomes our child when the one before it ends, and the list of our children is read
 * quickly. Only then is there time to see whether a private server was among them. */
static void halt_children(const struct stop *stop, struct groups *groups, int64_t until_ms)
{
	struct looks children = {0};

	do {
		stop->between(stop->context);
		list_children(stop, look_again(&children));
	} while (halt_new(stop, &children, groups) && clock_ms() < until_ms);
	for (size_t i = 0; i < children.now.count; i++)
		if (local_server_is_ours(children.now.list[i].pid))
			kill(children.now.list[i].pid, SIGCONT);
	looks_end(&children);
}

void stop_kill(struct stop *stop)
{
	const int64_t until_ms = clock_ms() + LOOKING_MS;
	struct groups groups = {.count = 0};
	struct looks all = {0};
	bool is_new;

	do {
		halt_children(stop, &groups, until_ms);
		if (look(stop, look_again(&all), NEVER_MS) < 0) {
			all.now.count = 0;
			signal_blindly(stop, SIGKILL);
		}
		is_new = halt_new(stop, &all, &groups);
	} while (is_new && clock_ms() < until_ms);
	signal_each(&all.now, SIGKILL);
	looks_end(&all);
	stop->kill_ms = clock_ms() + KILL_REPEAT_MS;
}

/* ---- The end ---- */

pid_t stop_reap(int64_t begin_ms, int options, int *status)
{
	pid_t pid = 0;

	if (clock_ms() < begin_ms + REAPING_MS)
		pid = waitpid(-1, status, WNOHANG | options);
	else
		kill(getpid(), SIGCHLD);
	return pid > 0 ? pid : 0;
}

/* Once the group is empty, its number may be another's. */
static bool is_over_blindly(struct stop *stop)
{
	if (stop->command || (stop->group && kill(-stop->group, 0) == 0))
		return false;
	stop->group = 0;
	return true;
}

/* A child that ends may just have forked another one, which the list has not yet. */
static bool has_children(const struct stop *stop)
{
	struct processes children = {0};
	bool has = false;

	list_children(stop, &children);
	for (size_t i = 0; i < children.count; i++)
		has |= !local_server_is_ours(children.list[i].pid);
	free(children.list);
	return has;
}

bool stop_is_over(struct stop *stop)
{
	struct processes found = {0};
	bool is_over;

	if (stop->ground->proc < 0)
		return is_over_blindly(stop);
	is_over = look(stop, &found, NEVER_MS) == 0 && found.count == 0 && !has_children(stop);
	free(found.list);
	return is_over;
}
