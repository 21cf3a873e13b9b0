/* `status` and `queue` share this: they ask about the locks that are named, or about all, and print
 * or watch a table of them. */
#pragma once

#include "cli/command.h"
#include "lock/lock_list.h"
#include "output/table.h"

struct client;
struct lock_keys;

struct look {
	const struct invocation *invocation;
	const char *what;     /* as look.lua has it */
	const char *question; /* the same, as a step tells it */
	/* Shows a lock, whose answer is client->reply. Returns 0 or -1. */
	int (*show)(struct look *look, const struct lock_keys *keys, struct client *client,
		    struct error *err);
	void *data;           /* of it */
	struct layout layout; /* of the table */
	bool is_watched;      /* on the screen there is no place for messages */
	/* The result: */
	struct table *table;  /* NULL: not wanted */
	size_t hidden;        /* so many free locks are not in it */
	char last[48];        /* counts them */
	enum grants grants;   /* of all servers: GRANTS_NONE if one lets no lock be taken */
	int64_t unseen;       /* so many slots; below 0: no cluster, or not all were asked for */
	int status;           /* not STATUS_OK: one of the locks cannot be shown */
	struct error trouble; /* what is amiss, although locks are shown; STATUS_OK: nothing */
};

/* Asks for the locks that are named, or for all. If something else uses a name, or a part of a
 * cluster does not answer, the others are shown all the same. Returns 0 or -1. */
int look_at_locks(struct look *look, struct error *err);

/* Does it for a table, which it prints, or draws with --watch below this title. If something fails,
 * no locks are printed: half of them would look as if the others were gone. */
int look_run(struct look *look, const char *title, int *status, struct error *err);

/* Fails with the trouble, if there is any; else *status is the result. */
int look_end(const struct look *look, int *status, struct error *err);

/* A lock that is named may be free because its name is misspelled: says so. */
void look_check_name(const struct look *look, const struct lock_keys *keys, struct client *client);
