/* Fuzzes a server's replies to commands that list, count, draw and examine locks. The first byte of
 * an input chooses the command, the rest is the server's script: see parts/world.h.
 *
 * For: commands/status.c commands/queue.c commands/log.c history/events.c lock/owner.c
 * output/table.c base/json.c
 * base/text.c output/timestamp.c base/terminal.c lock/lock_list.c redis/cluster_nodes.c
 * commands/doctor.c doctor/permissions.c doctor/report.c */
#include <stdlib.h>
#include <string.h>

#include "parts/fuzz.h"
#include "parts/valid.h"
#include "parts/world.h"

#define SOCKET "unix:/server"
#define SEEDS "redis://127.0.0.1:7000,127.0.0.1:7001"

enum form {
	PEOPLE,
	JSON,
	METRICS,
};

static const struct {
	const char *url;
	const char *words;
	enum form form;
} lines[] = {
	{SOCKET, "status job other", PEOPLE},
	{SOCKET, "status --json -o +HELD,LEASE job", JSON},
	{SOCKET, "status --raw job", PEOPLE},
	{SOCKET, "status -q job other", PEOPLE},
	{SOCKET, "status --prometheus job other", METRICS},
	{SOCKET, "status", PEOPLE},
	{SEEDS, "status --json", JSON},
	{SOCKET, "status --prometheus", METRICS},
	{SOCKET, "status --watch", PEOPLE},
	{SOCKET, "queue job", PEOPLE},
	{SOCKET, "queue --json -o +WAITING job", JSON},
	{SOCKET, "queue --raw job", PEOPLE},
	{SOCKET, "queue --watch job", PEOPLE},
	{SOCKET, "queue --remove abc:1 job", PEOPLE},
	{SOCKET, "log job", PEOPLE},
	{SOCKET, "log --json --since 1d job", JSON},
	{SOCKET, "log --raw job", PEOPLE},
	{SOCKET, "log --follow job", PEOPLE},
	{SOCKET, "log --follow --json job", JSON},
	{SOCKET, "log --stats job", PEOPLE},
	{SOCKET, "log --stats --json --since 1h job", JSON},
	{SOCKET, "log --plot job", PEOPLE},
	{SOCKET, "log --plot --since 1h job", PEOPLE},
	{SOCKET, "doctor --replicas 1 job", PEOPLE},
	{SOCKET, "doctor --json job", JSON},
	{SOCKET, "doctor -q", PEOPLE},
	{SEEDS, "doctor", PEOPLE},
	{SEEDS, "doctor --json", JSON},
	{SOCKET, "log", PEOPLE},
	{SEEDS, "log --json --since 1w", JSON},
};

static void check_output(enum form form)
{
	size_t length;
	const char *output = fuzz_captured(&length);

	switch (form) {
	case PEOPLE:
		HOLDS(harmless_text(output, length, "\n"));
		break;
	case JSON:
		HOLDS(harmless_text(output, length, "\n"));
		HOLDS(valid_json(output, length));
		break;
	case METRICS:
		HOLDS(valid_metrics(output, length));
		break;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const size_t head = size > 0;
	const size_t i = head ? (size_t)(data[0] - 'A') % (sizeof(lines) / sizeof(lines[0])) : 0;
	char *said = fuzz_text(data + head, size - head);

	fuzz_capture();
	world_begin(said, size - head, false);
	world_run(lines[i].url, lines[i].words);
	world_end();
	check_output(lines[i].form);
	free(said);
	return 0;
}
