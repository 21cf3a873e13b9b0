/* Fuzzes a server's replies to commands that take, renew and give back locks. The first byte of an
 * input chooses the command, the rest is the server's script: see parts/world.h.
 *
 * For: redis/reply.c lock/lock.c redis/client.c redis/server_error.c
 * lock/hold.c lock/wait.c lock/owner.c commands/owner_call.c commands/wrap.c
 * commands/acquire.c commands/renew.c commands/release.c base/message.c
 * supervise/take_locks.c */
#include <stdlib.h>
#include <string.h>

#include "parts/fuzz.h"
#include "parts/valid.h"
#include "parts/world.h"

#define SOCKET "unix:/server"
#define SEEDS "redis://u:pw@127.0.0.1:7000,127.0.0.1:7001/2"
#define SENTINELS "redis+sentinel://u:pw@127.0.0.1:26379,127.0.0.1:26380/mymaster"

static const struct {
	const char *url;
	const char *words;
	bool has_terminal;
} lines[] = {
	{SOCKET, "wrap job true", false},
	{SOCKET, "wrap -n job true", false},
	{SOCKET, "wrap -v -w 20 --replicas 2 job true", false},
	{SOCKET, "wrap -w 60 job true", true},
	{SOCKET, "wrap -v --once-per 1h --min-hold 30 job true", false},
	{SOCKET, "acquire job", false},
	{SOCKET, "acquire --json -w 20 --max-queue 3 job", true},
	{SOCKET, "acquire --owner abc:1 job", false},
	{SOCKET, "renew -v --owner abc:1 job", false},
	{SOCKET, "release -v --owner abc:1 job", false},
	{SOCKET, "release --force --token 7 job", false},
	{SEEDS, "wrap -v -w 20 job true", false},
	{SEEDS, "acquire -w 60 job", false},
	{SENTINELS, "wrap -v -w 20 job true", false},
	{SENTINELS, "release --force job", false},
	{SOCKET, "wrap -w 60 --report 5 --reason why job true", false},
	{SOCKET, "release -v --stop -w 30 job", false},
	{SOCKET, "wrap -v -w 60 --also x job true", false},
	{SOCKET, "wrap -v -w 60 --once-ok 1h job true", false},
	{SOCKET, "release --forget-run job", false},
};

/* Whether a message in the script may hand the lock over: it repeats the secret. */
static bool may_be_handed(const char *script, size_t length, const char *words)
{
	static const char word[] = "granted ";

	return strncmp(words, "wrap", 4) == 0 && !strstr(words, "--replicas") &&
	       !strstr(words, "--once-per") && memmem(script, length, word, strlen(word)) &&
	       memmem(script, length, WORLD_SECRET, strlen(WORLD_SECRET));
}

/* Whether a reply in the script may say that nothing is to be run. */
static bool may_be_done(const char *script, size_t length, const char *words)
{
	static const char word[] = "ran ok";

	return strstr(words, "--once-ok") && memmem(script, length, word, strlen(word));
}

/* Whether a reply in the script may grant the lock: our id stands right behind "granted". */
static bool may_be_granted(const char *script, size_t length, const char *words)
{
	static const char word[] = "granted";
	const char *id = strstr(words, "abc:1") ? "abc:1" : WORLD_ID;
	const char *end = script + length;

	while ((script = memmem(script, (size_t)(end - script), word, strlen(word)))) {
		const char *found = memmem(script, (size_t)(end - script), id, strlen(id));

		if (found && found - script < (ptrdiff_t)sizeof(word) + 16)
			return true;
		script++;
	}
	return false;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const size_t head = size > 0;
	const size_t i = head ? (size_t)(data[0] - 'a') % (sizeof(lines) / sizeof(lines[0])) : 0;
	char *said = fuzz_text(data + head, size - head);
	size_t length;
	int status;

	fuzz_capture();
	world_begin(said, size - head, lines[i].has_terminal);
	status = world_run(lines[i].url, lines[i].words);
	world_end();
	HOLDS(harmless_text(fuzz_captured(&length), length, "\n"));
	HOLDS(status == 0 || status >= 64);
	if (strncmp(lines[i].words, "wrap", 4) == 0 && status == 0 && !world_has_started())
		HOLDS(may_be_done(said, size - head, lines[i].words));
	if (strncmp(lines[i].words, "acquire", 7) == 0)
		HOLDS((status == 0) == (length > 0));
	if (world_has_started() || (strncmp(lines[i].words, "acquire", 7) == 0 && status == 0))
		HOLDS(may_be_granted(said, size - head, lines[i].words) ||
		      may_be_handed(said, size - head, lines[i].words));
	free(said);
	return 0;
}
