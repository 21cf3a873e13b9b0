/* `release --stop` may wait for long after it has printed a holder, so that line leaves at once. */
#include "commands/release_words.h"

#include <stdio.h>
#include <string.h>

#include "lock/lock.h"

void release_say_whose(const struct lock *lock, const char *owner, const char *by)
{
	const char *name = lock->keys.shown;
	char holder[OWNER_SHOWN_BYTES], id[OWNER_MAX_BYTES];

	owner_show(holder, MESSAGE_CHARACTERS, by);
	snprintf(id, sizeof(id), "%s", owner);
	tame(holder);
	tame(id);
	if (*by)
		printf("lock %s was held by %s as %s\n", name, holder, id);
	else
		printf("lock %s was held by %s\n", name, id);
	fflush(stdout);
}

void release_say_free(const struct lock *lock)
{
	printf("lock %s was free\n", lock->keys.shown);
}
