/* `release --stop` and `release --force` print with these whose holds they ended. */
#pragma once

struct lock;

/* Prints which process held the lock. by: "" if nobody knows. */
void release_say_whose(const struct lock *lock, const char *owner, const char *by);

void release_say_free(const struct lock *lock);
