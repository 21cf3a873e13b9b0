/* Examines a server for `doctor`: asks it for all that it tells, and runs all checks. */
#pragma once

#include <sys/types.h>

#include "base/error.h"
#include "doctor/findings.h"
#include "doctor/server_info.h"
#include "redis/cluster_nodes.h"

#define FOLDER_MAX_BYTES 400

struct invocation;

struct diagnosis {
	const struct invocation *invocation;
	struct cluster_nodes nodes;
	struct server_info *info; /* one for each node that answers, or NULL */
	size_t info_count;
	struct findings findings;
	char folder[FOLDER_MAX_BYTES]; /* of a private server, or "" */
	pid_t pid;                     /* of it, or 0 */
};

/* Returns 0, or -1 when the checks ended early, which is a finding, too. Call diagnosis_free in
 * both cases. */
int diagnose(struct diagnosis *diagnosis, const struct invocation *invocation, struct error *err);

void diagnosis_free(struct diagnosis *diagnosis);
