/* Fuzzes a server's replies to a command. The first byte of an input chooses the command, the rest
 * is the server's script: see parts/world.h.
 *
 * For: redis/reply.c redis/client.c redis/server_error.c redis/cluster_nodes.c
 * lock/lock.c lock/hold.c lock/wait.c lock/owner.c lock/lock_list.c commands/owner_call.c
 * commands/wrap.c commands/acquire.c commands/renew.c commands/release.c
 * commands/look.c commands/status.c commands/queue.c commands/log.c commands/doctor.c
 * supervise/take_locks.c output/table.c
 * base/clock.c doctor/permissions.c doctor/report.c base/message.c base/json.c
 * base/text.c base/terminal.c */
#include <stdlib.h>
#include <string.h>

#include "parts/fuzz.h"
#include "parts/valid.h"
#include "parts/world.h"

#define SOCKET "unix:/server"
#define SEEDS "redis://u:pw@127.0.0.1:7000,127.0.0.1:7001"
#define SENTINELS "redis+sentinel://u:pw@127.0.0.1:26379,127.0.0.1:26380/mymaster/2"
#define OWNER "00000000-0000-4000-8000-00000000abcd:1"

enum form {
	PEOPLE,
	TERMINAL, /* the command has one */
	SCREEN,   /* the command draws on it */
	JSON,
	METRICS,
};

/* seeds.py reads this. */
static const struct line {
	const char *url;
	const char *words;
	enum form form;
} lines[] = {
	{SOCKET, "wrap job true", PEOPLE},
	{SOCKET, "wrap -n job true", PEOPLE},
	{SOCKET, "wrap -v -w 20 --replicas 2 job true", PEOPLE},
	{SOCKET, "wrap -w 60 job true", TERMINAL},
	{SOCKET, "wrap -w 60 --report 5 --reason why job true", PEOPLE},
	{SOCKET, "wrap -v --once-per 1h --min-hold 30 job true", PEOPLE},
	{SOCKET, "wrap -v -w 60 --once-ok 1h job true", PEOPLE},
	{SOCKET, "wrap -v -w 60 --slots db1,db2 job true", PEOPLE},
	{SOCKET, "wrap -v -w 60 --also x job true", PEOPLE},
	{SEEDS, "wrap -v -w 20 job true", PEOPLE},
	{SENTINELS, "wrap -v -w 20 job true", PEOPLE},
	{SOCKET, "acquire --json -w 20 --max-queue 3 job", JSON},
	{SOCKET, "acquire --owner 00000000-0000-4000-8000-00000000abcd:1 job", PEOPLE},
	{SOCKET, "renew -v --owner 00000000-0000-4000-8000-00000000abcd:1 job", PEOPLE},
	{SOCKET, "release -v --owner 00000000-0000-4000-8000-00000000abcd:1 job", PEOPLE},
	{SOCKET, "release --force --token 7 job", PEOPLE},
	{SOCKET, "release -v --stop -w 30 job", PEOPLE},
	{SOCKET, "release --forget-run job", PEOPLE},
	{SOCKET, "status job other", PEOPLE},
	{SOCKET, "status --raw job", PEOPLE},
	{SOCKET, "status --json -o +HELD,LEASE job", JSON},
	{SOCKET, "status --prometheus", METRICS},
	{SOCKET, "status --watch", SCREEN},
	{SEEDS, "status --json", JSON},
	{SOCKET, "queue job", PEOPLE},
	{SOCKET, "queue --json -o +WAITING job", JSON},
	{SOCKET, "queue --watch job", SCREEN},
	{SOCKET, "queue --remove 00000000-0000-4000-8000-00000000abcd:1 job", PEOPLE},
	{SOCKET, "log job", PEOPLE},
	{SOCKET, "log --follow --json job", JSON},
	{SOCKET, "log --stats job", PEOPLE},
	{SOCKET, "log --stats --json --since 1h job", JSON},
	{SOCKET, "log --plot --since 1h job", PEOPLE},
	{SEEDS, "log --json --since 1w", JSON},
	{SOCKET, "doctor --replicas 1 job", PEOPLE},
	{SOCKET, "doctor --json job", JSON},
	{SEEDS, "doctor", PEOPLE},
};

/* The server's script. */
struct script {
	const char *text;
	size_t length;
};

static const char *find(const struct script *script, const char *word)
{
	return memmem(script->text, script->length, word, strlen(word));
}

/* Whether a message in the script may hand the lock over: it repeats the secret. */
static bool may_be_handed(const struct script *script, const char *words)
{
	return strncmp(words, "wrap", 4) == 0 && !strstr(words, "--replicas") &&
	       !strstr(words, "--once-per") && find(script, "granted ") &&
	       find(script, WORLD_SECRET);
}

/* Whether a reply in the script may grant the lock: our id stands right behind "granted". */
static bool may_be_granted(struct script script, const char *words)
{
	static const char word[] = "granted";
	const char *id = strstr(words, OWNER) ? OWNER : WORLD_ID;
	const char *end = script.text + script.length;

	while ((script.text = find(&script, word))) {
		const char *found;

		script.length = (size_t)(end - script.text);
		found = find(&script, id);
		if (found && found - script.text < (ptrdiff_t)sizeof(word) + 16)
			return true;
		script.text++;
		script.length--;
	}
	return false;
}

/* Returns how long it is. */
static size_t check_output(enum form form)
{
	size_t length;
	const char *output = fuzz_captured(&length);

	HOLDS(form == METRICS ? valid_metrics(output, length)
			      : harmless_text(output, length, form == SCREEN ? "\n\033" : "\n"));
	HOLDS(form != JSON || valid_json(output));
	return length;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const size_t head = size > 0;
	const size_t i = head ? (size_t)(data[0] - 'A') % (sizeof(lines) / sizeof(lines[0])) : 0;
	const char *words = lines[i].words;
	const bool wraps = strncmp(words, "wrap", 4) == 0,
		   takes = strncmp(words, "acquire", 7) == 0;
	char *said = fuzz_text(data + head, size - head);
	const struct script script = {said, size - head};
	int status;

	fuzz_capture();
	world_begin(said, size - head, lines[i].form == TERMINAL);
	status = world_run(lines[i].url, words);
	world_end();
	HOLDS((check_output(lines[i].form) > 0) == (status == 0) || !takes);
	HOLDS(status == 0 || status >= 64 || !(wraps || takes));
	if (wraps && status == 0 && !world_has_started())
		HOLDS(strstr(words, "--once-ok") && find(&script, "ran ok"));
	if (world_has_started() || (takes && status == 0))
		HOLDS(may_be_granted(script, words) || may_be_handed(&script, words));
	free(said);
	return 0;
}
