/* Examines a server for `doctor`: asks for the facts, and runs all checks. */
#pragma once

#include <sys/types.h>

#include "base/error.h"
#include "doctor/findings.h"
#include "doctor/server_info.h"
#include "redis/cluster_nodes.h"

#define FOLDER_MAX_BYTES 400

struct invocation;

/* All that doctor found out. */
struct diagnosis {
	const struct invocation *invocation;
	struct cluster_nodes nodes;
	struct server_info *info; /* one for each node that answers, or NULL */
	size_t fact_count;
	struct findings report;
	char folder[FOLDER_MAX_BYTES]; /* of a private server, or "" */
	pid_t pid;
};

/* Asks the server all that there is to know, and has it checked. Returns 0, or -1 when that ended
 * early; then the report says so, too. diagnosis_free in both cases. */
int diagnose(struct diagnosis *examination, const struct invocation *invocation, struct error *err);

void diagnosis_free(struct diagnosis *examination);
