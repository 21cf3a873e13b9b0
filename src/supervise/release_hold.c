#include "supervise/release_hold.h"

#include "base/clock.h"
#include "base/duration.h"
#include "base/message.h"
#include "lock/hold.h"
#include "redis/connection_trace.h"

void release_hold(struct hold *hold, struct messenger *messenger, int64_t until_ms)
{
	const char *name = hold->lock->keys.name;
	const int64_t from_ms = clock_ms();
	struct connection_trace steps = {.messenger = messenger};
	char took[DURATION_MAX_BYTES], held[DURATION_MAX_BYTES];
	struct error err;
	int result;

	connection_trace_skip(&steps, hold->client);
	result = hold_release(hold, until_ms, &err);
	connection_trace_tell(&steps, hold->client);
	duration_show(took, clock_ms() - from_ms);
	duration_show(held, from_ms - hold->lock->since_ms);
	if (result < 0)
		message(messenger, LOG_ERR, "%s", err.text);
	else if (hold->is_kept)
		message_event(
			messenger, LOG_INFO,
			"gave lock %s back in %s, held for %s; the server keeps it for the rest "
			"of --min-hold",
			name, took, held);
	else
		message_event(messenger, LOG_INFO, "gave lock %s back in %s, held for %s", name,
			      took, held);
}
