/* Examines a server for `doctor`: asks it for all that it tells, runs all checks, and changes
 * nothing. */
#pragma once

#include "base/error.h"
#include "doctor/report.h"

/* Returns 0, or -1 when the checks ended early, which is a finding, too. Call diagnosis_free in
 * both cases. */
int diagnose(struct diagnosis *diagnosis, const struct invocation *invocation, struct error *err);

void diagnosis_free(struct diagnosis *diagnosis);

/* Checks the permissions of this user for a lock, or for any (NULL). Returns false when the server
 * cannot be asked. */
bool check_permissions(struct findings *found, const struct facts *facts,
		       const struct options *options, const char *name);
