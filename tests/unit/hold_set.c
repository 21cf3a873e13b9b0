/* Tests hold_set_start: COMMAND starts when the server has confirmed that for each lock, and owes
 * no answer. */
#include "lock/hold.h"

#include "base/clock.h"
#include "check.h"

enum { EARLY, LATE, LOCKS };

static struct member members[LOCKS];
static const struct hold_set set = {.members = members, .count = LOCKS};

/* Both are granted, the first one before the wrap had all. */
static void grant(void)
{
	for (int i = 0; i < LOCKS; i++) {
		members[i] =
			(struct member){.lock = {.kind = i == EARLY ? LOCK_WRAP_EARLY : LOCK_WRAP,
						 .deadline_ms = clock_ms() + 30000,
						 .ttl_ms = 30000}};
		members[i].hold = (struct hold){.lock = &members[i].lock, .renew_ms = NEVER_MS};
	}
}

static bool both_say_start(bool start)
{
	return members[EARLY].lock.starts == start && members[LATE].lock.starts == start;
}

int main(void)
{
	struct tally tally = {0};

	grant();
	CHECK(&tally, hold_set_start(&set) == &members[EARLY]);
	CHECK(&tally, both_say_start(true));
	CHECK(&tally, members[EARLY].hold.renew_ms == 0);
	CHECK(&tally, members[LATE].hold.renew_ms == NEVER_MS);
	/* the answer to a start is late: none is sent behind it */
	members[EARLY].hold.renew_ms = NEVER_MS;
	CHECK(&tally, hold_set_start(&set) == &members[EARLY]);
	CHECK(&tally, members[EARLY].hold.renew_ms == NEVER_MS);
	members[EARLY].lock.kind = LOCK_WRAP;
	CHECK(&tally, hold_set_start(&set) == NULL);
	CHECK(&tally, both_say_start(false));

	/* a renewal without start is under way */
	grant();
	members[EARLY].client.phase = REQUEST_SENT;
	CHECK(&tally, hold_set_start(&set) == &members[EARLY]);
	CHECK(&tally, !members[EARLY].lock.starts);

	/* the connection broke, and the server may have lost its data */
	grant();
	members[EARLY].lock.kind = LOCK_WRAP;
	members[LATE].client.phase = REQUEST_WAITING;
	CHECK(&tally, hold_set_start(&set) == &members[LATE]);
	CHECK(&tally, both_say_start(true));
	members[LATE].client.phase = REQUEST_NONE;
	CHECK(&tally, hold_set_start(&set) == NULL);
	CHECK(&tally, both_say_start(false));

	/* the last renewal was refused, and will be sent again */
	members[LATE].client.error.status = STATUS_REFUSED;
	CHECK(&tally, hold_set_start(&set) == &members[LATE]);
	members[LATE].client.error.status = STATUS_OK;
	CHECK(&tally, hold_set_start(&set) == NULL);
	/* somebody may have broken it */
	members[LATE].hold.is_told = true;
	CHECK(&tally, hold_set_start(&set) == &members[LATE]);
	members[LATE].hold.is_told = false;
	/* the wrap was stopped for long */
	members[LATE].lock.deadline_ms = clock_ms() + 10000;
	CHECK(&tally, hold_set_start(&set) == &members[LATE]);
	return conclude(&tally);
}
