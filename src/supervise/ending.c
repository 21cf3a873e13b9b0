/* A shell shows 128 and the number of the signal as the status of a command that a signal killed.
 */
#include "supervise/ending.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "base/error.h"
#include "base/signal_names.h"
#include "supervise/shared_state.h"

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
	lock->unused = !ending->started || ending->exec_errno;
	if (ending->was_asked)
		*lock->min_hold = '\0';
	if (!ending->is_reaped)
		return;
	snprintf(lock->status, sizeof(lock->status), "%d", shell_status(ending));
	if (ending->timed_out)
		strcpy(lock->cause, "max-hold");
	else if (ending->was_asked)
		strcpy(lock->cause, "asked");
	else if (ending->was_stopped)
		strcpy(lock->cause, ending->wrap_died ? "wrap died" : "lost");
	else if (WIFSIGNALED(ending->wait_status))
		signal_show(lock->cause, WTERMSIG(ending->wait_status));
	else
		strcpy(lock->cause, "exit");
}
