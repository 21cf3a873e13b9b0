/* fairlock acquire: takes the lock, leaves it held, and prints the owner id. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdio_ext.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/descriptors.h"
#include "base/json.h"
#include "cli/command.h"
#include "lock/wait.h"
#include "supervise/job.h"

/* A longer NAME does not go into a message as a word for a shell. */
#define QUOTED_MAX_BYTES 33

/* The process is pinned before we queue: by the time of the grant another may have its number. */
static int pin_process(pid_t pid, int *pidfd, struct error *err)
{
	struct pollfd slot = {.events = POLLIN};

	*pidfd = -1;
	if (!pid)
		return 0;
	/* a shell executes us in the place of the subshell that $BASHPID named */
	if (pid == getpid())
		return fail(err, STATUS_USAGE,
			    "cannot watch process %d: it is this fairlock; in $(...), take $$ and "
			    "not $BASHPID",
			    (int)pid);
	*pidfd = slot.fd = (int)syscall(SYS_pidfd_open, pid, 0);
	if (*pidfd < 0 && (errno == ESRCH || errno == EINVAL))
		return fail(err, STATUS_USAGE, "cannot watch process %d: there is no such process",
			    (int)pid);
	if (*pidfd < 0)
		return fail(err, STATUS_OS, "cannot watch process %d: %s", (int)pid,
			    strerror(errno));
	if (poll(&slot, 1, 0) > 0) {
		close(*pidfd);
		return fail(err, STATUS_USAGE, "cannot watch process %d: it has ended", (int)pid);
	}
	return 0;
}

/* The command line of the process that the lock is for, or our own; only its first word if there is
 * a reason. */
static void describe(char text[BY_MAX_BYTES], pid_t pid, const char *reason)
{
	char path[40];
	ssize_t length = 0;

	snprintf(path, sizeof(path), "/proc/%d/cmdline", (int)pid);
	if (pid)
		length = read_file(path, text, BY_MAX_BYTES - 1);
	while (length > 0 && text[length - 1] == '\0')
		length--;
	if (length <= 0)
		length = (ssize_t)strlen(strcpy(text, "fairlock acquire"));
	text[length] = '\0';
	for (ssize_t i = 0; i < length && !reason; i++)
		if (text[i] == '\0')
			text[i] = ' ';
}

static int write_grant(const struct lock *lock, bool as_json, struct error *err)
{
	struct json json = {0};

	if (as_json) {
		json_open(&json, NULL, '{');
		json_text(&json, "name", lock->keys.name);
		json_text(&json, "owner", lock->owner);
		json_printf(&json, "token", "%s", lock->token);
		json_printf(&json, "lease_ms", "%" PRId64, lock->deadline_ms - clock_ms());
		json_text(&json, "mode", mode_word(lock->mode));
		json_text(&json, "slot", lock_slot(lock));
		json_close(&json, '}');
	} else if (lock_slot(lock)) {
		printf("%s %s\n", lock->owner, lock_slot(lock));
	} else {
		puts(lock->owner);
	}
	if (fflush(stdout) == 0 && !ferror(stdout))
		return clock_ms() < lock->deadline_ms
			       ? 0
			       : fail(err, STATUS_NOT_HELD,
				      "lost lock %s while its owner id was written",
				      lock->keys.shown);
	fail(err, STATUS_OS, "cannot write the owner id: %s", strerror(errno));
	__fpurge(stdout); /* main would report it a second time */
	clearerr(stdout);
	return -1;
}

/* A person at a terminal learns how to go on. A script has the owner id, and stays silent. */
static void tell_person(const struct lock *lock, const struct options *options)
{
	const int64_t now_ms = wall_ms(), left_ms = lock->deadline_ms - clock_ms();
	char until[TIMESTAMP_MAX_BYTES], quoted[QUOTED_MAX_BYTES];

	if (options->quiet || !isatty(STDERR_FILENO) || left_ms > TIMESTAMP_LAST_MS - now_ms)
		return;
	complain("lock %s is held by hand until %s; to give it back%s: fairlock release %s",
		 lock->keys.shown, timestamp_until_minute(until, now_ms + left_ms, now_ms),
		 options->url_is_flag || options->tls_is_flag || options->config
			 ? ", with the same server's options"
			 : "",
		 shell_name(quoted, sizeof(quoted), lock->keys.name));
}

/* From the moment when the caller knows the owner id, it relies on the keeper. */
static int write_kept(const struct wait *wait, struct error *err)
{
	struct keeper keeper;
	int result;

	if (keeper_start(&keeper, wait, err) < 0)
		return -1;
	result = write_grant(&wait->set->holds->lock, wait->options->json, err);
	keeper_leave(&keeper, result == 0);
	return result;
}

/* If the caller cannot learn the owner id, the lock is given back: it would be held for nothing.
 * A write that has begun hears no signal: so we wait until there is room, as in a pipe. */
static int hand_out(const struct wait *wait, struct hold *hold, struct error *err)
{
	const bool is_by_hand = wait->pidfd < 0;
	const struct pollfd output = {.fd = STDOUT_FILENO, .events = POLLOUT};
	int result;

	hold_take(hold);
	result = wait_while_held(wait, output, !is_by_hand, err);
	if (result == 0)
		result = is_by_hand ? write_grant(&hold->lock, wait->options->json, err)
				    : write_kept(wait, err);
	if (result < 0)
		hold_set_give_up(wait->set);
	else if (is_by_hand)
		tell_person(&hold->lock, wait->options);
	return result;
}

static int run_acquire(const struct invocation *invocation, int *status, struct error *err)
{
	const struct options *options = invocation->options;
	char text[BY_MAX_BYTES];
	char *const words[] = {text, NULL};
	int result, signo = 0;
	struct signal_fd signals;
	struct deadline_poll loop;
	struct hold hold;
	const struct hold_set set = {.holds = &hold, .count = 1};
	struct wait wait = {.options = options,
			    .messenger = invocation->messenger,
			    .signals = &signals,
			    .signo = &signo,
			    .loop = &loop,
			    .set = &set};

	if (pin_process(options->while_pid, &wait.pidfd, err) < 0)
		return -1;
	describe(text, options->while_pid, options->reason);
	if (lock_init(&hold.lock, invocation->argv[0],
		      options->while_pid ? LOCK_ACQUIRE : LOCK_BY_HAND, options, words, err) < 0 ||
	    signal_fd_open(&signals, err) < 0 || deadline_poll_open(&loop, err) < 0)
		return -1;
	client_init(&hold.client, invocation->server, invocation->messenger,
		    options->connect_timeout_ms);
	hold.state = HOLD_NOT_YET;
	wait.from_ms = clock_ms();
	if (wait_for_lock(&wait, &hold, err) == WAIT_GRANTED && hand_out(&wait, &hold, err) == 0)
		result = 0;
	else
		result = wait_result_carry_out(invocation->messenger, options, &signals, signo, err,
					       status);
	client_close(&hold.client);
	close(loop.timer);
	close(signals.fd);
	if (wait.pidfd >= 0)
		close(wait.pidfd);
	return result;
}

const struct command acquire_command = {
	.name = "acquire",
	.operands = "NAME",
	.summary = "take the lock and leave it held",
	.examples =
		"  owner=$(fairlock acquire deploy) || exit   wait for the lock\n"
		"  fairlock acquire --while-pid $$ deploy     hold it until this shell ends\n"
		"  fairlock acquire -w 10s -l 5m deploy       wait 10 s, hold it for 5 minutes\n",
	.bit = COMMAND_ACQUIRE,
	.takes_lock = true,
	.run = run_acquire,
};
