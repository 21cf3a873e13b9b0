#pragma once

#include "lock/lock.h"

/* Whether the client's message, heard while nothing was asked, hands the lock over: then owner,
 * token and deadline_ms are filled. If not, nothing has changed, and the waiter had better ask. */
bool handover_take(struct lock *lock, const struct client *client);
