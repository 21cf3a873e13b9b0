/* One lock in `status`: as a line of its table, and as metrics. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "output/prometheus.h"
#include "output/table.h"

struct redisReply;

/* The reply of the status script; the texts live as long as the client's reply. */
struct lock_status {
	const char *name;
	bool is_held;
	const char *mode; /* word for how it is held; NULL: it is free */
	/* One of its holders: the one whose lease ends first, until status_add_lines. */
	struct status_holder {
		const char *owner;
		const char *token;
		const char *by;
		const char *slot; /* "": it has none */
		bool is_kept;     /* by --min-hold: the holder has given it back */
		bool is_by_hand;  /* a person took it, with acquire */
		bool is_ours;     /* a fairlock: our hash tells more about the hold */
		long long holds;
		int64_t held_ms; /* -1: unknown */
		int64_t ttl_ms;  /* -1: none */
	} holder;
	const struct redisReply *holders; /* rows of all, up to 1,000 */
	long long holder_count;
	long long slots; /* the largest number of slots that is asked for, as far as known */
	long long waiters;
	int64_t oldest_wait_ms; /* -1: unknown */
	int64_t now_ms;         /* the server's clock */
	int64_t last_start_ms;  /* of a COMMAND of wrap; -1: unknown */
	int64_t last_ok_ms;     /* when one last ended with 0; -1: unknown */
	bool is_once;           /* only wrap --once-ok has taken it */
	long long grants, expiries, breaks, losses;
};

extern const struct layout status_layout;

/* Returns -1 with STATUS_BUG for a reply that makes no sense. */
int status_read(struct lock_status *state, const struct redisReply *reply, struct error *err);

/* Adds a line for each holder, or one if there is none. is_ranked: what is held stands first, then
 * what is waited for. */
int status_add_lines(struct table *table, struct lock_status *state, bool is_ranked,
		     struct error *err);

int status_add_metrics(struct prometheus *metrics, const struct lock_status *state,
		       struct error *err);
