/* One word means the same in all tables, so that there is one list. */
#include "output/column_words.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

/* others: what other programs call it, in small letters, with a blank before and behind each. */
static const struct {
	char name[16], meaning[56], others[56];
} meanings[] = {
	{"NAME", "name of the lock", " lock key resource "},
	{"STATE", "free, held or kept", " status st locked "},
	{"MODE", "exclusive, shared or slots", " kind type shared "},
	{"SLOT", "slot of the holder", " number name index "},
	{"SLOTS", "slots that the waiter wants: how many, or their names", " slot number count "},
	{"OWNER", "owner ID, for --owner and --remove", " id uuid holder identity "},
	{"HOST", "host of the process", " node hostname machine address addr "},
	{"PID", "process ID", " process procid "},
	{"USER", "user of the process", " uid login username "},
	{"COMMAND", "command of the process", " cmd comm args exe "},
	{"REASON", "why the process wants the lock: its --reason", " why note message "},
	{"CLIENT", "fairlock or redisson", " program lib type "},
	{"HELD_MS", "how long the lock is or was held, in milliseconds", " "},
	{"HELD", "how long the lock is or was held", " age elapsed etime since duration "},
	{"LEASE_MS", "how long the lease still lasts, in milliseconds", " pttl "},
	{"LEASE", "how long the lease still lasts", " ttl expires expiry timeout "},
	{"UNTIL", "when the lease ends, or the time for which it is kept", " end expires "},
	{"LAST_START", "when a command of the lock was started last", " started run start "},
	{"LAST_OK", "when a command of the lock last ended with 0", " success succeeded done ok "},
	{"HOLDS", "how many times the owner holds the lock", " count depth "},
	{"TOKEN", "fencing token, which grows with each grant", " fence fencing "},
	{"WAITERS", "how many processes wait for the lock", " queue waiting length blocked "},
	{"POSITION", "place in the queue; 1 is next", " pos place rank number "},
	{"WAITING_MS", "how long the process has waited, in milliseconds", " "},
	{"WAITING", "how long the process has waited", " age elapsed etime since "},
	{"PRESENT", "whether the process is connected", " alive online connected state "},
	{"TIME", "when it happened", " date timestamp when at "},
	{"EVENT", "what happened to the lock", " action type state what "},
	{"STATUS", "exit status of the command, as a shell shows it", " exit code rc result "},
	{"CAUSE", "why the command ended", " why signal exit reason "},
	{"BY", "who broke, asked or removed it", " actor whom user breaker "},
	{"WHO", "user and host of the process", " user@host "},
	{"WAITED_MS", "how long the process had waited, in milliseconds", " "},
	{"WAITED", "how long the process had waited", " waiting wait "},
};

#define MEANINGS (sizeof(meanings) / sizeof(meanings[0]))

const char *column_meaning(const char *name)
{
	for (size_t i = 0; i < MEANINGS; i++)
		if (strcmp(meanings[i].name, name) == 0)
			return meanings[i].meaning;
	return "";
}

bool column_is_called(const char *name, const char *word)
{
	const char *found = NULL;

	for (size_t i = 0; i < MEANINGS && *word; i++)
		if (strcmp(meanings[i].name, name) == 0)
			found = meanings[i].others;
	while (found && (found = strcasestr(found + 1, word)) != NULL)
		if (found[-1] == ' ' && found[strlen(word)] == ' ')
			return true;
	return false;
}

const char *column_refuse(char cause[COLUMN_CAUSE_MAX_BYTES], const char *word, const char *meant)
{
	if (strcasecmp(word, "json") == 0)
		meant = "--json";
	else if (strcasecmp(word, "raw") == 0)
		meant = "--raw";
	snprintf(cause, COLUMN_CAUSE_MAX_BYTES,
		 *meant ? "there is no such column, did you mean %s?"
			: "there is no such column, '-o help' lists them",
		 meant);
	return cause;
}
