/* Words take time while the next waiter waits, so they are made only to be told. */
#include "supervise/guard_messages.h"

#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "base/duration.h"
#include "base/message.h"
#include "base/signal_names.h"

void guard_tell_loss(const struct job *job, const struct lock *lock, const char *why)
{
	const size_t taken = strlen("lost lock : ; stopping ") +
			     count_characters(lock->keys.shown) + count_characters(job->shown);
	char cut[OWNER_SHOWN_BYTES];

	message(job->messenger, LOG_ERR, "lost lock %s: %s; stopping %s", lock->keys.shown,
		shorten_to(cut, MESSAGE_CHARACTERS - taken, why), job->shown);
}

void guard_tell_asked(const struct job *job, const struct hold *hold)
{
	const char *name = hold->lock->keys.shown;
	const size_t taken = strlen("lock : ; stopping ") + count_characters(name) +
			     count_characters(job->shown);
	char why[OWNER_SHOWN_BYTES], cut[OWNER_SHOWN_BYTES];

	hold_asked_why(why, MESSAGE_CHARACTERS - taken, hold);
	message(job->messenger, LOG_ERR, "lock %s: %s; stopping %s", name,
		shorten_to(cut, MESSAGE_CHARACTERS - taken, why), job->shown);
}

void guard_tell_end(const struct job *job, int status, int64_t took_ms)
{
	const bool is_killed = WIFSIGNALED(status);
	char took[DURATION_MAX_BYTES], number[SIGNAL_MAX_BYTES];

	if (!message_step_is_on(job->messenger))
		return;
	duration_show(took, took_ms);
	if (is_killed)
		signal_show(number, WTERMSIG(status));
	else
		snprintf(number, sizeof(number), "%d", WEXITSTATUS(status));
	message_event(job->messenger, status == 0 ? LOG_INFO : LOG_NOTICE,
		      is_killed ? "%s under lock %s was killed by signal %s after %s"
				: "%s under lock %s ended with status %s after %s",
		      job->shown, job->lock->keys.shown, number, took);
}
