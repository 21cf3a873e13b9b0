#include "standby.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "guard.h"

void standby_make(struct standby *standby, const struct job *job)
{
	const pid_t wrapper = getpid();
	int ends[2];

	if (standby->guard && standby->opened == job->client->link.opened)
		return;
	standby_end(standby);
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0)
		return;
	prctl(PR_SET_CHILD_SUBREAPER, 1); /* the guard's child is ours when it is gone */
	*standby = (struct standby){
		.fd = ends[0], .opened = job->client->link.opened, .shared = shared_new()};
	standby->guard = standby->shared ? fork() : -1;
	if (standby->guard == 0) {
		close(ends[0]);
		guard_stand_by(job, standby->shared, ends[1], wrapper);
	}
	close(ends[1]);
	if (standby->guard < 0)
		standby_end(standby);
}

void standby_end(struct standby *standby)
{
	if (!standby->guard)
		return;
	close(standby->fd);
	if (standby->guard > 0) {
		kill(standby->guard, SIGKILL);
		waitpid(standby->guard, NULL, 0);
		/* it dies with the guard; nobody else may be there to reap it */
		if (standby->shared->command)
			waitpid(standby->shared->command, NULL, 0);
	}
	shared_free(standby->shared);
	*standby = (struct standby){0};
}

bool standby_set_off(const struct standby *standby, const struct job *job)
{
	if (!standby->guard || standby->opened != job->client->link.opened ||
	    !client_is_still(job->client))
		return false;
	shared_put_grant(standby->shared, job);
	shared_put_client(standby->shared, job);
	return send(standby->fd, "", 1, MSG_NOSIGNAL | MSG_DONTWAIT) == 1;
}
