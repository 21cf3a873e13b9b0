/* Merges flags, environment, configuration files and defaults, in this order, and finds the
 * server. */
#pragma once

#include "base/error.h"
#include "base/text.h"
#include "cli/options.h"
#include "redis/server.h"

struct command;

#define PASSWORD_WORDS_BYTES 480

/* The outcome, and its memory. */
struct settings {
	struct options options;
	struct server server;
	char *owned[8]; /* texts and paths that options, their origins and server point to */
	char password_words[PASSWORD_WORDS_BYTES]; /* see struct server */
	char sentinel_from[SHORT_MAX_BYTES];
};

/* Makes *settings hold the defaults and no server. */
void settings_init(struct settings *settings);

/* Sets the options that are not set yet from the environment and the configuration files, and fills
 * settings->server. Returns 0, or -1 with STATUS_USAGE (also for a variable), STATUS_CONFIG or
 * STATUS_OS. */
int settings_merge(struct settings *settings, const struct command *command, struct error *err);

/* Checks and settles options that depend on one another, once all sources are read. Returns 0, or
 * -1 with STATUS_USAGE or STATUS_CONFIG. */
int options_settle(struct options *options, const struct command *command, struct error *err);

/* Gives back the memory that settings_merge took, also if it failed. */
void settings_free(struct settings *settings);
