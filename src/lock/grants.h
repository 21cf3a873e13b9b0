/* Asks a server whether it lets locks be taken now; for `doctor` and `status`. */
#pragma once

#include "base/error.h"
#include "redis/client.h"

enum grants {
	GRANTS_NOT_KNOWN,
	GRANTS_LOCKS,
	GRANTS_NONE,
};

/* Changes nothing. With GRANTS_NONE *why says what a job would be told. */
enum grants grants_ask(struct client *client, struct error *why);
