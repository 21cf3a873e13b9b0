/* A script that says nothing of itself may write: from version 7 on, a server that takes no writes
 * (OOM, READONLY, MISCONF, NOREPLICAS) refuses to run it. So one that changes nothing tells. It
 * also looks for a command that rename-command hides, which the server says when asked for a
 * permission: Redis 8.6 and later answer about whole commands only. */
#include "lock/grants.h"

#include "base/clock.h"
#include "redis/client.h"
#include "redis/script.h"

/* What the client itself needs, in the form of script_needs. */
#define CLIENT_NEEDS "plain: EVALSHA1 SUBSCRIBE\n"

static const char script_text[] =
	"#!lua\n"
	"if not redis.acl_check_cmd then return 1 end\n"
	"for object, commands in string.gmatch(ARGV[1] .. ARGV[2], '(%l+): ([^\\n]*)') do\n"
	"for name, part, count in string.gmatch(commands, '(%u+)|?(%a*)(%d?)') do\n"
	"local words = {name}\n"
	"if part ~= '' then words[2] = part elseif object ~= 'nothing' then words[2] = '0' end\n"
	"for i = 1, tonumber(count) or 0 do words[i + 2] = '0' end\n"
	"if not pcall(redis.acl_check_cmd, unpack(words)) then\n"
	"return redis.error_reply(\"ERR unknown command '\" .. name .. \"'\")\n"
	"end\n"
	"end\n"
	"end\n"
	"return 1\n";

static int ask(struct client *client, const struct request *request, struct error *why)
{
	return client_call(client, request, clock_ms() + client->timeout_ms, false, why);
}

enum grants grants_ask(struct client *client, struct error *why)
{
	const struct request script = {
		.argv = {"EVAL", script_text, "0", CLIENT_NEEDS, script_needs}, .argc = 5};
	/* before version 7; there is no list to insert into */
	const struct request insert = {
		.argv = {"LINSERT", "redisson_lock_queue:{fairlock-doctor}", "BEFORE", "", ""},
		.argc = 5};
	int result = ask(client, &script, why);

	if (result < 0 && why->status == STATUS_BUG && !client->connection.handshake.is_cluster)
		result = ask(client, &insert, why);
	if (result == 0)
		return GRANTS_LOCKS;
	return why->status == STATUS_UNAVAILABLE ? GRANTS_NONE : GRANTS_NOT_KNOWN;
}
