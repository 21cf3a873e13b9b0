#include "supervise/release_hold.h"

#include "base/clock.h"
#include "base/duration.h"
#include "base/message.h"
#include "lock/hold.h"
#include "redis/connection_trace.h"

void give_back(struct hold *hold, struct teller *teller, int64_t until_ms)
{
	const char *name = hold->lock->keys.name;
	const int64_t from_ms = clock_ms();
	struct steps steps = {.teller = teller};
	char took[DURATION_MAX_BYTES], held[DURATION_MAX_BYTES];
	struct error err;
	int result;

	steps_skip(&steps, hold->client);
	result = hold_release(hold, until_ms, &err);
	steps_tell(&steps, hold->client);
	duration_show(took, clock_ms() - from_ms);
	duration_show(held, from_ms - hold->lock->since_ms);
	if (result < 0)
		tell(teller, LOG_ERR, "%s", err.text);
	else if (hold->is_kept)
		tell_event(teller, LOG_INFO,
			   "gave lock %s back in %s, held for %s; the server keeps it for the rest "
			   "of --min-hold",
			   name, took, held);
	else
		tell_event(teller, LOG_INFO, "gave lock %s back in %s, held for %s", name, took,
			   held);
}
