/* doctor asks whether a user of the server may run all that fairlock needs: the one list of the
 * scripts, and the client's own requests. It also asks whether rename-command hides a command. A
 * script asks instead of trying: the server logs each refusal. */
#include "doctor/report.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "lock/lock.h"
#include "redis/reply.h"
#include "redis/script.h"

/* The lock to ask about if the user named none. */
#define SOME_NAME "fairlock-doctor"

#define MISSING_MAX_BYTES 330

int facts_call(struct client *client, const struct request *request, struct error *err)
{
	if (client_ask(client, request, NEVER_MS, err) == 0)
		return 0;
	return err->status == STATUS_UNAVAILABLE && !strstr(err->text, "unknown command") ? -1 : 1;
}

/* ---- The list ---- */

/* All that the client needs beside what scripts do, in the form of script_needs. A command that has
 * an argument before its object has it behind a colon. */
static const struct {
	const char *use; /* "look", "needed", or what it is needed for */
	const char *list;
} needs[] = {
	{"look", "nothing: EVALSHA2"},
	{"look", "log: XREVRANGE2"},
	{"needed", "plain: SUBSCRIBE"},
	{"needed", "channel: SUBSCRIBE"},
	{"needed", script_needs},
	{"cluster", "channel: SSUBSCRIBE"},
	{"cluster", "nothing: ASKING CLUSTER|SLOTS"},
	{"replicas", "nothing: WAIT2"},
	{"see", "nothing: INFO CONFIG|GET:SAVE SCAN1"},
};

#define NEEDS (sizeof(needs) / sizeof(needs[0]))

/* ---- What a user may do ---- */

/* ARGV: the objects in script_needs, eight keys and two channels, each with its name; then each
 * list behind "must", or "may" for what some users do without. Returns what the user lacks of these
 * two, in the words of ACL SETUSER: if it may do nothing with an object, that is the key or the
 * channel. Then which commands of "must" the server does not have. */
static const char script_text[] =
	"local check = redis.acl_check_cmd\n"
	"if not check then return {} end\n"
	"local names, denied, is_reached, seen = {}, {}, {nothing = true}, {}\n"
	"local missing, hidden = {must = {}, may = {}}, {must = {}, may = {}}\n"
	"local function add(list, word)\n"
	"  if not seen[word] then seen[word], list[#list + 1] = true, word end\n"
	"end\n"
	"for i = 1, 20, 2 do names[ARGV[i]] = ARGV[i + 1] end\n"
	/* each command of each list, as permissions.lua reads them */
	"for i = 21, #ARGV, 2 do\n"
	"  for object, list in string.gmatch(ARGV[i + 1], '(%l+): ([^\\n]*)') do\n"
	"    for command, argument, more in string.gmatch(list, '([%a|]+):?(%u*)(%d?)') do\n"
	"      local words = {}\n"
	"      for word in string.gmatch(command .. ' ' .. argument, '%a+') do\n"
	"        words[#words + 1] = word\n"
	"      end\n"
	"      words[#words + 1] = names[object]\n"
	"      for _ = 1, tonumber(more) or 0 do words[#words + 1] = '0' end\n"
	"      local is_known, is_allowed = pcall(check, unpack(words))\n"
	"      if is_known and not is_allowed then\n"
	"        denied[#denied + 1] = {ARGV[i], object, '+' .. string.lower(command)}\n"
	"      else\n"
	"        is_reached[object] = true\n"
	"      end\n"
	"      if not is_known then add(hidden[ARGV[i]], words[1]) end\n"
	"    end\n"
	"  end\n"
	"end\n"
	"for i = 1, 20, 2 do\n"
	"  if not is_reached[ARGV[i]] then\n"
	"    add(missing.must, i < 17 and '~' .. ARGV[i + 1] or '&' .. ARGV[18] .. '*')\n"
	"  end\n"
	"end\n"
	"for _, q in ipairs(denied) do\n"
	"  if is_reached[q[2]] then add(missing[q[1]], q[3]) end\n"
	"end\n"
	"return {table.concat(missing.must, ' '), table.concat(missing.may, ' '),\n"
	"  table.concat(hidden.must, ', ')}\n";

static bool is_needed(const char *use, bool is_cluster, const struct options *options)
{
	return strcmp(use, "look") == 0 || strcmp(use, "needed") == 0 ||
	       (strcmp(use, "cluster") == 0 && is_cluster) ||
	       (strcmp(use, "replicas") == 0 && options->replicas > 0);
}

static int ask(const struct facts *facts, const struct options *options,
	       const struct lock_keys *keys, struct error *err)
{
	const bool is_cluster = facts->client->connection.handshake.is_cluster;
	char done[KEY_MAX_BYTES + 2], channel[KEY_MAX_BYTES + 2]; /* all requests; a waiter */
	struct request request = {
		.argv = {"EVAL",         script_text,   "0",       "lock",      keys->name,
			 "state",        keys->state,   "list",    keys->queue, "timeouts",
			 keys->timeouts, "log",         keys->log, "ours",      keys->ours,
			 "holders",      keys->holders, "done",    done,        "plain",
			 keys->channel,  "channel",     channel},
		.argc = 23};

	snprintf(done, sizeof(done), "%s*", keys->done);
	snprintf(channel, sizeof(channel), "%s:0", keys->channel);
	for (size_t i = 0; i < NEEDS; i++) {
		request.argv[request.argc++] =
			is_needed(needs[i].use, is_cluster, options) ? "must" : "may";
		request.argv[request.argc++] = needs[i].list;
	}
	return facts_call(facts->client, &request, err);
}

int permissions_ask(struct facts *facts, const struct options *options, struct error *err)
{
	const struct redisReply *reply;
	struct lock_keys keys;
	int result;

	if (lock_keys_make(&keys, SOME_NAME, err) < 0)
		return -1;
	result = ask(facts, options, &keys, err);
	reply = facts->client->reply;
	if (result == 0 && reply_fits(reply, "sss"))
		snprintf(facts->denied, sizeof(facts->denied), "%s", reply_text(reply, 1));
	return result;
}

/* ---- Findings ---- */

static void report_missing(struct diagnosis *all, const char *user, const char *missing,
			   const char *name)
{
	size_t length = strlen(missing);

	if (length > MISSING_MAX_BYTES)
		for (length = MISSING_MAX_BYTES; length > 0 && missing[length] != ' ';)
			length--; /* no half words */
	find(all, ERROR, "permissions", "The server refuses commands that need it (77).",
	     "give the user what fairlock doctor --acl NAME prints", "user %.80s lacks %.*s%s%.60s",
	     user, (int)length, missing, name ? " for lock " : "", name ? name : "");
}

static void report_answer(struct diagnosis *all, const struct redisReply *reply, const char *user,
			  const char *name)
{
	const char *missing = reply_text(reply, 0), *hidden = reply_text(reply, 2);

	if (*hidden)
		find(all, ERROR, "commands",
		     "Jobs fail (69), waiters wait for too long, or the scripts do not notice a "
		     "restart of the server.",
		     "take rename-command for each of them out of the server's configuration, and "
		     "restart the server",
		     "the server lacks %s", hidden);
	if (*missing && !strchr(missing, '+') && !name) {
		find(all, NOTE, "permissions", "doctor cannot know which names this user may lock.",
		     "name a lock: fairlock doctor NAME", "user %.80s may use some keys only",
		     user);
	} else if (*missing) {
		report_missing(all, user, missing, name);
	} else if (!*hidden) {
		pass(all, "permissions", "user %.80s may do all that is needed%s%.100s", user,
		     name ? " for lock " : "", name ? name : "");
	}
}

static void report_failure_to_ask(struct diagnosis *all, const struct facts *facts,
				  const struct error *err)
{
	if (err->status == STATUS_REFUSED)
		report_missing(all, facts->user, "+eval", NULL);
	else if (facts->grants != GRANTS_NONE) /* else another check tells the same refusal */
		find(all, ERROR, "permissions", "No script runs, so no lock can be taken.",
		     "see the server's log", "%.400s", err->text);
}

/* Returns false when the server cannot be asked. */
static bool check_name(struct diagnosis *all, const struct facts *facts, const char *name)
{
	const struct redisReply *reply;
	struct lock_keys keys;
	struct error err;
	int result = lock_keys_make(&keys, name ? name : SOME_NAME, &err);

	if (result == 0)
		result = ask(facts, all->invocation->options, &keys, &err);
	reply = facts->client->reply;
	if (result == 0 && reply_fits(reply, "sss")) {
		report_answer(all, reply, facts->user, name);
		return true;
	}
	if (result == 0 && reply_fits(reply, "") && reply_count(reply) == 0) {
		find(all, NOTE, "permissions",
		     "A missing permission shows only when a command fails (77).",
		     "compare the user with what fairlock doctor --acl NAME prints",
		     "not known: this server cannot be asked");
		return false;
	}
	if (result == 0)
		reply_nonsense(&err);
	report_failure_to_ask(all, facts, &err);
	return false;
}

void permissions_check(struct diagnosis *all, const struct facts *facts)
{
	const struct invocation *invocation = all->invocation;

	if (invocation->argc == 0)
		check_name(all, facts, NULL);
	for (int i = 0; i < invocation->argc; i++)
		if (!check_name(all, facts, invocation->argv[i]))
			break;
}

/* ---- A user, for redis-cli ---- */

#define RULE_BYTES 1024

/* Adds "+hset" for HSET2, "+pubsub|numsub" for PUBSUB|NUMSUB, unless one of the rules has it. Each
 * begins and ends with a blank. */
static void add_command(char rule[RULE_BYTES], const char *other, const char *command)
{
	const size_t size = strcspn(command, ":; \n" DIGITS), length = strlen(rule);
	char word[40];

	snprintf(word, sizeof(word), " +%.*s ", (int)size, command);
	for (char *c = word; *c; c++)
		*c = (char)tolower((unsigned char)*c);
	if (!strstr(rule, word) && !strstr(other, word))
		snprintf(rule + length - 1, RULE_BYTES - length + 1, "%s", word);
}

/* Adds the commands of a list; or only those before the semicolons. */
static void add_list(char rule[RULE_BYTES], const char *other, const char *list, bool only_looks)
{
	bool is_wanted = true;

	for (; *list; list += *list != '\0') {
		const size_t length = strcspn(list, " ;\n");

		if (length > 0 && list[length - 1] != ':' && is_wanted)
			add_command(rule, other, list);
		list += length;
		is_wanted = *list == '\n' || (is_wanted && !(only_looks && *list == ';'));
	}
}

/* Prints a key as a pattern for itself; a * at the end of NAME stands for any end. A pattern has no
 * blanks, and redis-cli reads quotes in its own way. */
static void print_pattern(const char *kind, const char *key, const char *end, bool is_beginning)
{
	const char *star = is_beginning ? strrchr(key, '*') : NULL;

	printf(" %s", kind);
	for (; *key; key++)
		if (strchr(" \"'", *key))
			putchar('?');
		else
			printf("%s%c", key != star && strchr("*?[\\", *key) ? "\\" : "", *key);
	fputs(end, stdout);
}

int permissions_print(const struct invocation *invocation, const char *name, struct error *err)
{
	const struct server *server = invocation->server;
	bool is_beginning;
	char user[256], look[RULE_BYTES] = " +eval ", take[RULE_BYTES] = " ";
	struct lock_keys keys;
	const char *const looked_at[] = {keys.name, keys.state, keys.queue,  keys.timeouts,
					 keys.log,  keys.ours,  keys.holders};

	if (name && lock_keys_make(&keys, name, err) < 0)
		return -1;
	is_beginning = name && name[strlen(name) - 1] == '*';
	/* the default user may do everything already */
	snprintf(user, sizeof(user), "%s",
		 server->user && strcmp(server->user, "default") != 0 ? server->user : "fairlock");
	tame(user);
	if (server->db != 0)
		add_command(look, "", "SELECT");
	if (!name)
		add_command(look, "", "SCAN");
	for (size_t i = 0; i < NEEDS; i++)
		if (strcmp(needs[i].use, "look") == 0 || needs[i].list == script_needs)
			add_list(look, "", needs[i].list, true);
	for (size_t i = 0; i < NEEDS; i++)
		if (is_needed(needs[i].use, server_is_list(server), invocation->options))
			add_list(take, look, needs[i].list, false);
	printf("ACL SETUSER %s on", user);
	for (size_t i = 0; name && i < sizeof(looked_at) / sizeof(looked_at[0]); i++)
		print_pattern("~", looked_at[i], "", is_beginning);
	printf("%s\nACL SETUSER %s%.*s\nACL SETUSER %s", name ? "" : " ~*", user,
	       (int)strlen(look) - 1, look, user);
	if (name) {
		print_pattern("~", keys.done, "*", is_beginning);
		print_pattern("&", keys.channel, "*", is_beginning);
	}
	printf("%s%.*s\n", name ? "" : " &redisson_lock__channel:*", (int)strlen(take) - 1, take);
	return 0;
}
