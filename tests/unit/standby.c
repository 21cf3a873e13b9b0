/* Tests supervise/standby.c: what the wrapper learns of a guard that took the grant. */
#include "supervise/standby.h"

#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/message.h"
#include "check.h"
#include "lock/wait_deputy.h"

/* A guard that has taken the grant, and dies. Before that it tells the grant, or not. */
static void check_learning(struct tally *tally, bool tells)
{
	struct member member = {.lock = {.lease_ms = 30000, .token = "old"}};
	struct hold_set set = {.members = &member, .count = 1};
	struct messenger messenger = {0};
	const struct job job = {.set = &set, .messenger = &messenger, .lock = &member.lock};
	struct standby standby = {.shared = shared_state_new(1)};
	int ends[2], status;

	if (!standby.shared || socketpair(AF_UNIX, SOCK_STREAM, 0, ends) < 0)
		return;
	standby.fd = ends[0];
	standby.shared->listener = DEPUTY_HAS_GRANT;
	standby.guard = fork();
	if (standby.guard == 0) {
		snprintf(member.lock.token, sizeof(member.lock.token), "new");
		if (tells)
			shared_state_let_go(standby.shared, &job, false);
		_exit(0);
	}
	close(ends[1]);
	CHECK(tally, standby.guard > 0 && standby_has_grant(&standby));
	CHECK(tally, standby_learn(&standby, &job) == tells);
	CHECK(tally, strcmp(member.lock.token, tells ? "new" : "old") == 0);
	CHECK(tally, member.lock.lease_ms == 30000);
	CHECK(tally, waitpid(standby.guard, &status, 0) == standby.guard);
	close(ends[0]);
	shared_state_free(standby.shared);
}

int main(void)
{
	struct tally tally = {0};
	struct standby none = {0};

	CHECK(&tally, !standby_has_grant(&none));
	check_learning(&tally, true);
	check_learning(&tally, false);
	return conclude(&tally);
}
