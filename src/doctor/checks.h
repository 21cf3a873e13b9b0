/* The checks of `doctor`, a file for each. */
#pragma once

#include "cli/options.h"
#include "doctor/findings.h"
#include "doctor/server_info.h"
#include "lock/lock_list.h"
#include "redis/server_url.h"

/* Checks for anything that could break locks. Each adds its findings, good or bad, and changes
 * nothing on the server. */

/* The server as it is set up and doing. */
void check_server(struct findings *report, const struct server_info *info,
		  const struct options *options);

/* Its replicas: how many, and whether they would know us and the time. */
void check_replicas(struct findings *report, const struct server_info *info,
		    const struct options *options);

/* Round trips and clocks of all servers. */
void check_times(struct findings *report, const struct server_info *info, size_t count,
		 const struct options *options);

/* Checks the permissions of this user for the keys of each of these locks. */
void check_user(struct findings *report, const struct server_info *info,
		const struct options *options, char *const *names, int count);

/* Locks that do not end, queues with the dead in them, and logs that are none. Returns 0, or -1
 * when the server cannot be asked any more. */
int check_locks(struct findings *report, const struct lock_list *names, struct error *err);
