/* Tests hold_set_start: COMMAND starts when the server has confirmed that for each lock, and owes
 * no answer. */
#include "lock/hold.h"

#include <string.h>

#include "base/clock.h"
#include "check.h"

enum { EARLY, LATE, LOCKS };

static struct hold holds[LOCKS];
static const struct hold_set set = {.holds = holds, .count = LOCKS};

/* Both are granted, the first one before the wrap had all. */
static void grant(void)
{
	for (int i = 0; i < LOCKS; i++) {
		holds[i] = (struct hold){.lock = {.kind = i == EARLY ? LOCK_WRAP_EARLY : LOCK_WRAP,
						  .deadline_ms = clock_ms() + 30000,
						  .ttl_ms = 30000},
					 .renew_ms = NEVER_MS};
	}
}

static bool both_say_start(bool start)
{
	return holds[EARLY].lock.starts == start && holds[LATE].lock.starts == start;
}

int main(void)
{
	struct tally tally = {0};

	grant();
	CHECK(&tally, hold_set_start(&set) == &holds[EARLY]);
	CHECK(&tally, both_say_start(true));
	CHECK(&tally, holds[EARLY].renew_ms == 0);
	CHECK(&tally, holds[LATE].renew_ms == NEVER_MS);
	/* the answer to a start is late: none is sent behind it */
	holds[EARLY].renew_ms = NEVER_MS;
	CHECK(&tally, hold_set_start(&set) == &holds[EARLY]);
	CHECK(&tally, holds[EARLY].renew_ms == NEVER_MS);
	holds[EARLY].lock.kind = LOCK_WRAP;
	CHECK(&tally, hold_set_start(&set) == NULL);
	CHECK(&tally, both_say_start(false));

	/* a renewal without start is under way */
	grant();
	holds[EARLY].client.phase = REQUEST_SENT;
	CHECK(&tally, hold_set_start(&set) == &holds[EARLY]);
	CHECK(&tally, !holds[EARLY].lock.starts);

	/* the connection broke, and the server may have lost its data */
	grant();
	holds[EARLY].lock.kind = LOCK_WRAP;
	holds[LATE].client.phase = REQUEST_WAITING;
	CHECK(&tally, hold_set_start(&set) == &holds[LATE]);
	CHECK(&tally, both_say_start(true));
	holds[LATE].client.phase = REQUEST_NONE;
	CHECK(&tally, hold_set_start(&set) == NULL);
	CHECK(&tally, both_say_start(false));

	/* the last renewal was refused, and will be sent again */
	holds[LATE].client.error.status = STATUS_REFUSED;
	CHECK(&tally, hold_set_start(&set) == &holds[LATE]);
	holds[LATE].client.error.status = STATUS_OK;
	CHECK(&tally, hold_set_start(&set) == NULL);
	/* somebody may have broken it */
	holds[LATE].is_told = true;
	CHECK(&tally, hold_set_start(&set) == &holds[LATE]);
	holds[LATE].is_told = false;
	/* too few replicas confirmed it */
	strcpy(holds[LATE].why, "only 0 of 1 replicas confirmed it");
	CHECK(&tally, hold_set_start(&set) == &holds[LATE]);
	return conclude(&tally);
}
