/* Examines a server for `doctor`: asks it for all that it tells, runs all checks, and changes
 * nothing. */
#pragma once

#include "base/error.h"
#include "doctor/report.h"

/* Returns 0, or -1 when the checks ended early, which is a finding, too. Call diagnosis_free in
 * both cases. */
int diagnose(struct diagnosis *all, const struct invocation *invocation, struct error *err);

void diagnosis_free(struct diagnosis *all);
