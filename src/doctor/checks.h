/* The checks of `doctor`, a file for each. Each adds its findings, good or bad, and changes nothing
 * on the server. */
#pragma once

#include "cli/options.h"
#include "doctor/findings.h"
#include "doctor/server_info.h"
#include "lock/lock_list.h"
#include "redis/server.h"

/* The server's version, role and settings, and its replicas. */
void check_server(struct findings *findings, const struct server_info *info,
		  const struct options *options);

/* How many replicas there are, and whether each would let us in and knows the time. Returns whether
 * the server refuses changes since they are too few. */
bool check_replicas(struct findings *findings, const struct server_info *info,
		    const struct options *options);

/* Round trips and clocks of all servers. */
void check_times(struct findings *findings, const struct server_info *info, size_t count,
		 const struct options *options);

/* The permissions of this user for each of these locks, or for any. */
void check_user(struct findings *findings, const struct server_info *info,
		const struct options *options, char *const *names, int count);

/* Locks without an end, queues with the dead in them, and keys of logs that hold no log. Returns 0,
 * or -1 when the server cannot be asked any more. */
int check_locks(struct findings *findings, const struct lock_list *names, struct error *err);
