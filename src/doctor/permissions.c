/* Checks the permissions of this user, and whether rename-command hides a command. A script asks
 * the server instead of trying: it logs each refusal. */
#include <stdio.h>
#include <string.h>

#include "doctor/checks.h"
#include "lock/lock.h"
#include "redis/reply.h"
#include "redis/script.h"

/* The lock to ask about if the user named none. */
#define SOME_NAME "fairlock-doctor"

#define MISSING_MAX_BYTES 330

/* All that the client needs beside what scripts do, in the form of script_needs; PERMISSIONS in
 * fairlock(1) lists both. A command that has an argument before its object has it behind a colon.
 *
 * A command without the key or channel that it needs tells a missing key from a missing command.
 * Some servers must not be asked so unless a command takes any number of keys. Redis 8.6 does not
 * answer; there, a user who can reach nothing of a lock counts as one who lacks the keys. */
static const struct {
	const char *use; /* as the script has it; or "cluster", "replicas": what it is needed for */
	const char *list;
} needs[] = {
	{"compare", "nothing: HMGET SUBSCRIBE"},
	{"compare", "lock: GET"}, /* scripts use it for one key only */
	{"needed", "nothing: EVALSHA2"},
	{"needed", "plain: SUBSCRIBE"},
	{"needed", "channel: SUBSCRIBE"},
	{"cluster", "channel: SSUBSCRIBE"},
	{"cluster", "nothing: ASKING CLUSTER|SLOTS"},
	{"replicas", "nothing: WAIT2"},
	{"needed", script_needs},
};

/* ARGV: the objects in script_needs, eight keys and two channels, each with its name; then each
 * list behind its use: "compare"; "option", which some need; or any other word. Returns what the
 * user lacks, in the words of ACL SETUSER; which needed commands the server does not have under
 * their names; which others; and 1 if the user has no key of the lock. */
static const char script_text[] =
	"local check = redis.acl_check_cmd\n"
	"if not check then return {} end\n"
	"local names, questions, has_no_key = {}, {}, 1\n"
	"local is_reached, is_run, is_denied, is_barred = {nothing = true}, {}, {}, {}\n"
	"for i = 1, 20, 2 do names[ARGV[i]] = ARGV[i + 1] end\n"
	/* each command of each list, as permissions.lua reads them */
	"for i = 21, #ARGV, 2 do\n"
	"  for object, list in string.gmatch(ARGV[i + 1], '(%l+): ([^\\n]*)') do\n"
	"    for command, argument, more in string.gmatch(list, '([%a|]+):?(%u*)(%d?)') do\n"
	"      local words, q = {}, {use = ARGV[i], object = object}\n"
	"      q.rule = '+' .. string.lower(command)\n"
	"      for word in string.gmatch(command .. ' ' .. argument, '%a+') do\n"
	"        words[#words + 1] = word\n"
	"      end\n"
	"      words[#words + 1] = names[object]\n"
	"      for _ = 1, tonumber(more) or 0 do words[#words + 1] = '0' end\n"
	"      local is_known, is_allowed = pcall(check, unpack(words))\n"
	"      q.is_hidden, q.is_denied, q.name = not is_known, is_known and not is_allowed, words[1]\n"
	"      questions[#questions + 1] = q\n"
	"      if is_known and is_allowed then\n"
	"        is_reached[object] = true\n"
	"        is_run[q.rule] = is_run[q.rule] or object ~= 'nothing'\n"
	"      elseif q.is_denied and object == 'nothing' then\n"
	"        is_denied[q.rule] = true\n"
	"      end\n"
	"    end\n"
	"  end\n"
	"end\n"
	/* An object is barred if the user lacks the key or channel itself, not one of the commands:
	 * it may run none on it, but it may run one without it, or on another object. */
	"for i = 1, 16, 2 do\n"
	"  if is_reached[ARGV[i]] or is_denied['+hmget'] then has_no_key = 0 end\n"
	"end\n"
	"for i = 1, 20, 2 do\n"
	"  is_barred[ARGV[i]] = i < 17 and has_no_key == 1 or i > 16 and not is_denied['+subscribe']\n"
	"end\n"
	"for _, q in ipairs(questions) do\n"
	"  is_barred[q.object] = is_barred[q.object] or is_run[q.rule]\n"
	"end\n"
	"for object in pairs(is_reached) do is_barred[object] = false end\n"
	/* each word once */
	"local missing, hidden, others, seen = {}, {}, {}, {}\n"
	"local function add(list, word)\n"
	"  if not seen[word] then seen[word], list[#list + 1] = true, word end\n"
	"end\n"
	"for i = 1, 20, 2 do\n"
	"  if is_barred[ARGV[i]] then\n"
	"    add(missing, i < 17 and '~' .. ARGV[i + 1] or '&' .. ARGV[18] .. '*')\n"
	"  end\n"
	"end\n"
	"for _, q in ipairs(questions) do\n"
	"  local is_needed = q.use ~= 'compare' and q.use ~= 'option'\n"
	"  if q.is_denied and is_needed and not is_barred[q.object] then add(missing, q.rule) end\n"
	"  if q.is_hidden and is_needed then add(hidden, q.name) end\n"
	"end\n"
	"for _, q in ipairs(questions) do\n"
	"  if q.is_hidden and q.use ~= 'compare' then add(others, q.name) end\n"
	"end\n"
	"return {table.concat(missing, ' '), table.concat(hidden, ', '), table.concat(others, ', '),\n"
	"  has_no_key}\n";

static int ask(const struct facts *facts, const struct options *options,
	       const struct lock_keys *keys, struct error *err)
{
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
	for (size_t i = 0; i < sizeof(needs) / sizeof(needs[0]); i++) {
		const char *use = needs[i].use;

		if (strcmp(use, "cluster") == 0 && strcmp(facts->mode, "cluster") != 0)
			continue;
		if (strcmp(use, "replicas") == 0 && options->replicas == 0)
			use = "option";
		request.argv[request.argc++] = use;
		request.argv[request.argc++] = needs[i].list;
	}
	return facts_call(facts->client, &request, err);
}

/* ---- Findings ---- */

static void report_hidden(struct findings *found, const char *needed, const char *others)
{
	static const char remedy[] = "take rename-command for each of them out of the server's "
				     "configuration, and restart the server";

	if (*needed) {
		find(found, ERROR, "commands", "the server lacks %s", needed);
		advise(found,
		       "Jobs fail (69), waiters wait for too long, or the scripts do not notice a "
		       "restart of the server.",
		       "%s", remedy);
	}
	if (*others) {
		find(found, NOTE, "commands", "the server lacks %s", others);
		advise(found, "--replicas needs WAIT: it fails (69).", "%s", remedy);
	}
}

static void report_missing(struct findings *found, const char *user, const char *missing,
			   const char *name)
{
	size_t length = strlen(missing);

	if (length > MISSING_MAX_BYTES)
		for (length = MISSING_MAX_BYTES; length > 0 && missing[length] != ' ';)
			length--; /* no half words */
	find(found, ERROR, "permissions", "user %.80s lacks %.*s%s%.60s", user, (int)length,
	     missing, name ? " for lock " : "", name ? name : "");
	advise(found, "The server refuses commands that need it (77).",
	       "ACL SETUSER %.80s with the words above; see PERMISSIONS in fairlock(1)", user);
}

static void report_answer(struct findings *found, const struct redisReply *reply, const char *user,
			  const char *name)
{
	const char *missing = reply_text(reply, 0), *hidden = reply_text(reply, 1);
	const bool has_no_key = reply_number(reply, 3);

	report_hidden(found, hidden, reply_text(reply, 2));
	if (*missing && has_no_key && !name) {
		find(found, NOTE, "permissions", "user %.80s may use some keys only", user);
		advise(found, "doctor cannot know which names this user may lock.",
		       "name a lock: fairlock doctor NAME");
	} else if (*missing) {
		report_missing(found, user, missing, name);
	} else if (!*hidden) {
		find(found, OK, "permissions", "user %.80s may do all that is needed%s%.100s", user,
		     name ? " for lock " : "", name ? name : "");
	}
}

static void report_too_old(struct findings *found)
{
	find(found, NOTE, "permissions", "not known: this server cannot be asked");
	advise(found, "A missing permission shows only when a command fails (77).",
	       "compare the user with PERMISSIONS in fairlock(1)");
}

static void report_failed(struct findings *found, const struct facts *facts,
			  const struct error *err)
{
	if (err->status == STATUS_REFUSED) {
		report_missing(found, facts->user, "+eval", NULL);
	} else if (facts->grants != GRANTS_NONE) { /* else another check tells the same refusal */
		find(found, ERROR, "permissions", "%.400s", err->text);
		advise(found, "No script runs, so no lock can be taken.", "see the server's log");
	}
}

bool check_permissions(struct findings *found, const struct facts *facts,
		       const struct options *options, const char *name)
{
	const struct redisReply *reply;
	struct lock_keys keys;
	struct error err;

	if (lock_keys_make(&keys, name ? name : SOME_NAME, &err) < 0)
		return true;
	if (ask(facts, options, &keys, &err) < 0) {
		report_failed(found, facts, &err);
		return false;
	}
	reply = facts->client->reply;
	if (reply_fits(reply, "sssi")) {
		report_answer(found, reply, facts->user, name);
		return true;
	}
	if (reply_fits(reply, "") && reply_count(reply) == 0) {
		report_too_old(found);
	} else {
		reply_nonsense(&err);
		report_failed(found, facts, &err);
	}
	return false;
}
