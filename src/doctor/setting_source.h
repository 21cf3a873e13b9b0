/* Tells `doctor` which value a setting has, and where it was set. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "cli/options.h"
#include "redis/server.h"

struct shown_setting {
	const char *name;
	char value[512];    /* "": none; never a password */
	bool is_secret;     /* it has one that is not shown */
	const char *source; /* "flag", "environment", "file", "default"; a password: also "url" */
	char where[512];    /* "--url", "FAIRLOCK_URL", "/etc/fairlock.conf:3"; "": nowhere */
};

/* Shows the index-th option that variables or configuration files may set. Returns false behind the
 * last. */
bool setting_source_show(struct shown_setting *shown, size_t index, const struct options *options,
			 const struct server *server);
