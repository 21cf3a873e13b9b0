/* Reads the message that hands the lock to a waiter. */
#pragma once

#include "lock/lock.h"

/* Accepts client->message, heard while no request was under way, if it hands the lock over: fills
 * owner, token and deadline_ms. Else changes nothing and returns false: the waiter must ask. */
bool handover_accept(struct lock *lock, const struct client *client);
