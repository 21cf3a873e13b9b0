#include "front.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "clock.h"
#include "giveback.h"
#include "hold.h"
#include "loop.h"
#include "options.h"
#include "tell.h"
#include "tree.h"

/* How long the guard may be late before the wrapper does its work. */
#define LATE_MS 30

enum {
	SLOT_GUARD,
	SLOT_SIGNALS,
	SLOT_TIMER,
	SLOTS,
};

/* The wrapper's side of a running COMMAND. */
struct front {
	const struct job *job;
	struct shared *shared;
	struct loop loop;
	pid_t guard;
	int fd;
	bool takes_over; /* the guard is dead or hangs */
	int64_t kill_ms; /* valid when it takes over */
};

/* What the terminal sends reaches COMMAND by itself, since it is in our process group; but
 * when the terminal goes away, only the leader of the session hears of it. */
static bool is_for_command(const struct front *front, const struct signalfd_siginfo *info)
{
	if (info->ssi_signo == SIGCHLD || (pid_t)info->ssi_pid == front->guard ||
	    inbox_ignores((int)info->ssi_signo))
		return false;
	if (info->ssi_code > 0)
		return info->ssi_signo == SIGHUP && getsid(0) == getpid();
	return true;
}

static void pass_on(struct front *front)
{
	struct signalfd_siginfo info;

	while (inbox_next(front->job->inbox, &info)) {
		unsigned char signo = (unsigned char)info.ssi_signo;

		if (is_for_command(front, &info))
			(void)!send(front->fd, &signo, 1, MSG_NOSIGNAL | MSG_DONTWAIT);
	}
}

/* The guard cannot do its work any more: all that COMMAND started ends now. */
static void take_over(struct front *front, const char *why)
{
	int64_t latest = guard_kill_ms(front->job, front->shared->deadline_ms);
	int64_t after = clock_ms() + front->job->kill_after_ms;

	if (front->takes_over)
		return;
	front->takes_over = true;
	front->kill_ms = after < latest ? after : latest;
	tell(front->job->teller, LOG_ERR, "lost the guard of lock %s: %s; stopping %s",
	     front->job->lock->keys.name, why, front->job->argv[0]);
	tree_signal(front->job->options->signal, front->guard);
	tree_signal(SIGCONT, front->guard);
}

/* COMMAND is gone; the lock need not wait for its lease. */
static void give_back_for_guard(const struct front *front)
{
	struct client client;
	struct hold hold = {.lock = front->job->lock, .client = &client};
	int64_t until = front->shared->deadline_ms;

	if (until <= clock_ms())
		return;
	front->job->lock->unused = !front->shared->started || front->shared->exec_errno;
	client_init(&client, front->job->client->link.server,
		    front->job->options->connect_timeout_ms);
	if (until > clock_ms() + client.timeout_ms)
		until = clock_ms() + client.timeout_ms;
	give_back(&hold, front->job->teller, until);
	client_close(&client);
}

static void end_guard(struct front *front)
{
	if (!front->guard)
		return;
	kill(front->guard, SIGKILL);
	waitpid(front->guard, NULL, 0);
	front->guard = 0;
}

/* COMMAND has ended, and the guard died or hangs while it gave the lock back: COMMAND's status is
 * known, and what it left behind is left alone. */
static void finish_for_guard(struct front *front)
{
	end_guard(front);
	if (front->shared->deadline_ms <= clock_ms())
		tell(front->job->teller, LOG_ERR, "cannot release lock %s: its lease is over",
		     front->job->lock->keys.name);
	give_back_for_guard(front);
	front->shared->phase = GUARD_DONE;
}

static bool is_done(const struct front *front)
{
	return front->shared->phase == GUARD_DONE;
}

static void mind_guard(struct front *front)
{
	unsigned char byte;
	ssize_t length = recv(front->fd, &byte, 1, MSG_DONTWAIT);

	/* a guard that died with signals unread leaves a reset, not an end */
	if ((length < 0 && errno == EAGAIN) || is_done(front))
		return;
	close(front->fd);
	front->fd = -1;
	if (front->shared->phase == GUARD_GIVING_BACK)
		finish_for_guard(front);
	else
		take_over(front, "it died");
}

/* When the wrapper looks whether the guard has done its work. */
static int64_t check_ms(const struct front *front)
{
	int64_t deadline = front->shared->deadline_ms;

	if (front->takes_over)
		return front->kill_ms;
	if (front->shared->phase == GUARD_GIVING_BACK)
		return deadline + LATE_MS;
	if (front->job->options->on_lost == ON_LOST_WARN)
		return NEVER_MS;
	if (front->shared->phase == GUARD_STOPPING)
		return guard_kill_ms(front->job, deadline) + LATE_MS;
	return guard_stop_ms(front->job, deadline) + LATE_MS;
}

static void mind_time(struct front *front)
{
	if (is_done(front) || clock_ms() < check_ms(front))
		return;
	if (front->shared->phase == GUARD_GIVING_BACK) {
		finish_for_guard(front);
		return;
	}
	if (!front->takes_over) {
		take_over(front, "it hangs");
		return;
	}
	front->kill_ms = clock_ms() + KILL_REPEAT_MS;
	tree_signal(SIGKILL, front->guard);
}

static bool reap(struct front *front)
{
	pid_t pid;

	while ((pid = waitpid(-1, NULL, WNOHANG)) > 0)
		if (pid == front->guard)
			front->guard = 0;
	int left = tree_signal(0, front->guard);

	return left == 0 || (left < 0 && waitpid(-1, NULL, WNOHANG) < 0);
}

static void end_takeover(struct front *front)
{
	front->shared->lost = true;
	end_guard(front);
	give_back_for_guard(front);
}

static int watch(struct front *front, struct error *err)
{
	struct pollfd slots[SLOTS] = {
		[SLOT_GUARD] = {.fd = front->fd, .events = POLLIN},
		[SLOT_SIGNALS] = {.fd = front->job->inbox->fd, .events = POLLIN},
	};

	while (!is_done(front)) {
		if (front->takes_over && reap(front)) {
			end_takeover(front);
			return 0;
		}
		slots[SLOT_GUARD].fd = front->fd;
		if (loop_wait(&front->loop, slots, SLOTS, check_ms(front), err) < 0)
			return -1;
		mind_time(front);
		if (slots[SLOT_GUARD].revents && front->fd >= 0)
			mind_guard(front);
		if (slots[SLOT_SIGNALS].revents)
			pass_on(front);
	}
	return 0;
}

/* ---- Starting the guard ---- */

static struct shared *share_memory(void)
{
	struct shared *shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
				     MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	return shared == MAP_FAILED ? NULL : shared;
}

static int fork_guard(struct front *front, struct error *err)
{
	pid_t wrapper = getpid();
	int ends[2];

	front->shared = share_memory();
	if (!front->shared)
		return fail(err, STATUS_OS, "cannot get memory: %s", strerror(errno));
	front->shared->deadline_ms = front->job->lock->deadline_ms;
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0)
		return fail(err, STATUS_OS, "cannot make a socket pair: %s", strerror(errno));
	front->guard = fork();
	if (front->guard < 0)
		return fail(err, STATUS_OS, "cannot fork: %s", strerror(errno));
	if (front->guard == 0) {
		close(ends[0]);
		guard_run(front->job, front->shared, ends[1], wrapper);
	}
	close(ends[1]);
	front->fd = ends[0];
	return 0;
}

/* Both are there, or none. */
static int open_ways(int ends[2], int start[2])
{
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0)
		return -1;
	if (pipe2(start, O_CLOEXEC) == 0)
		return 0;
	close(ends[0]);
	close(ends[1]);
	return -1;
}

void front_stand_by(struct standby *standby, const struct job *job)
{
	const pid_t wrapper = getpid();
	int ends[2], start[2];

	if (standby->guard && standby->connections == job->client->link.connections)
		return;
	front_stand_down(standby);
	if (open_ways(ends, start) < 0)
		return;
	*standby = (struct standby){.fd = ends[0],
				    .start = start[1],
				    .connections = job->client->link.connections,
				    .shared = share_memory()};
	standby->guard = standby->shared ? fork() : -1;
	if (standby->guard == 0) {
		close(ends[0]);
		guard_stand_by(job, standby->shared, ends[1], start, wrapper);
	}
	close(ends[1]);
	close(start[0]);
	if (standby->guard < 0)
		front_stand_down(standby);
}

void front_stand_down(struct standby *standby)
{
	if (!standby->guard)
		return;
	close(standby->fd);
	close(standby->start);
	if (standby->guard > 0) {
		kill(standby->guard, SIGKILL);
		waitpid(standby->guard, NULL, 0);
	}
	if (standby->shared)
		munmap(standby->shared, sizeof(*standby->shared));
	*standby = (struct standby){0};
}

/* Tells those who stand by that the lock is ours: the guard first. False if they cannot be used:
 * one is dead, or the connection is not what they know. */
static bool set_off(struct front *front, struct standby *standby)
{
	const struct job *job = front->job;
	struct shared *shared = standby->shared;

	if (!standby->guard || standby->connections != job->client->link.connections ||
	    !client_is_still(job->client))
		return false;
	shared->deadline_ms = job->lock->deadline_ms;
	memcpy(shared->grant.owner, job->lock->owner, sizeof(shared->grant.owner));
	memcpy(shared->grant.token, job->lock->token, sizeof(shared->grant.token));
	shared->grant.since_ms = job->lock->since_ms;
	shared->grant.sent_ms = job->client->sent_ms;
	shared->started = true;
	if (send(standby->fd, "", 1, MSG_NOSIGNAL | MSG_DONTWAIT) != 1)
		return false;
	(void)!write(standby->start, "", 1); /* SIGPIPE is blocked; the guard sees it end */
	close(standby->start);
	front->shared = shared;
	front->guard = standby->guard;
	front->fd = standby->fd;
	return true;
}

int front_run(const struct job *job, struct standby *standby, struct shared *result,
	      struct error *err)
{
	struct front front = {.job = job};

	prctl(PR_SET_CHILD_SUBREAPER, 1);
	if (loop_open(&front.loop, err) < 0) {
		front_stand_down(standby);
		hold_give_up(job->lock, job->client);
		return -1;
	}
	if (!set_off(&front, standby)) {
		front_stand_down(standby);
		if (fork_guard(&front, err) < 0) {
			hold_give_up(job->lock, job->client);
			return -1;
		}
	}
	client_close(job->client); /* the guard has it now */
	if (watch(&front, err) < 0)
		return -1;
	if (front.guard)
		waitpid(front.guard, NULL, 0);
	if (front.fd >= 0)
		close(front.fd);
	loop_close(&front.loop);
	*result = *front.shared;
	if (!result->started && !result->exec_errno && !result->lost)
		return fail(err, STATUS_OS, "cannot start %s: its guard could not watch it",
			    job->argv[0]);
	return 0;
}
