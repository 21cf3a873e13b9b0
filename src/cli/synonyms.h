/* The words that users of flock, git, kubectl, redis-cli and others type, and ours for them. */
#pragma once

#include <stddef.h>

/* A word of another program. meant: words to type, or a whole sentence if it has a blank first. */
struct synonym {
	char word[16];
	unsigned commands; /* for options: the commands that this is about */
	const char *meant;
};

extern const struct synonym command_synonyms[], option_synonyms[];
extern const size_t command_synonym_count, option_synonym_count;
