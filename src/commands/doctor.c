/* fairlock doctor: prints whether a server is fit to hold locks, and how we would reach it. */
#include <stdio.h>

#include "cli/command.h"
#include "cli/options.h"
#include "doctor/checks.h"
#include "doctor/permissions.h"
#include "lock/lock.h"

enum {
	EXIT_WARNINGS = 1,
	EXIT_ERRORS = 2,
};

static int print_acl(const struct invocation *invocation, struct error *err)
{
	int result = invocation->argc == 0 ? permissions_print(invocation, NULL, err) : 0;

	for (int i = 0; result == 0 && i < invocation->argc; i++)
		result = permissions_print(invocation, invocation->argv[i], err);
	return result;
}

static int run_doctor(const struct invocation *invocation, int *status, struct error *err)
{
	struct diagnosis diagnosis;
	struct lock_keys keys;
	int result;

	for (int i = 0; i < invocation->argc; i++)
		if (lock_keys_make(&keys, invocation->argv[i], err) < 0)
			return -1;
	if (invocation->options->acl)
		return print_acl(invocation, err);
	result = diagnose(&diagnosis, invocation, err);
	report_print(&diagnosis);
	*status = diagnosis.worst == ERROR     ? EXIT_ERRORS
		  : diagnosis.worst == WARNING ? EXIT_WARNINGS
					       : STATUS_OK;
	/* people have read it among the findings */
	if (result < 0 && !invocation->options->json) {
		*status = (int)err->status;
		result = 0;
	}
	if (result < 0)
		fflush(stdout); /* before main reports it; else main finds out why that fails */
	diagnosis_free(&diagnosis);
	return result;
}

const struct command doctor_command = {
	.name = "doctor",
	.operands = "[NAME...]",
	.summary = "check whether the server is fit to hold locks",
	.examples = "  fairlock doctor                             the server of the settings\n"
		    "  fairlock doctor -u redis://db.example.com   another server\n"
		    "  fairlock doctor --acl backup | redis-cli    a user for this lock\n",
	.bit = COMMAND_DOCTOR,
	.most = OPERANDS_UNLIMITED,
	.shows_options = true,
	.run = run_doctor,
};
