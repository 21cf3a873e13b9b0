/* Checks the permissions of this user. Asks the server instead of trying: it logs each refusal. */
#include <stdio.h>
#include <string.h>

#include "doctor/checks.h"
#include "lock/lock_keys.h"

/* To ask with, where no lock is named. */
#define SOME_NAME "fairlock-doctor"

/* The commands that scripts and client use, and on which keys: the rule in fairlock(1),
 * PERMISSIONS. */
enum object { NOTHING, LOCK, STATE, QUEUE, TIMEOUTS, LOG, PLAIN, CHANNEL, OBJECTS };

static const struct need {
	const char *words; /* separated by line ends, without the object */
	enum object object;
	int more; /* words behind it: from 8.6 on, Redis answers about whole commands only */
} needs[] = {
	{"EVALSHA\nscript\n0", NOTHING, 0},
	{"TIME", NOTHING, 0},
	{"INFO\nserver", NOTHING, 0},
	{"PUBSUB\nNUMSUB", NOTHING, 0},
	{"PUBSUB\nSHARDNUMSUB", NOTHING, 0},
	{"HGETALL", LOCK, 0},
	{"PTTL", LOCK, 0},
	{"PEXPIRE", LOCK, 1},
	{"HSET", LOCK, 2},
	{"HDEL", LOCK, 1},
	{"HINCRBY", LOCK, 2},
	{"DEL", LOCK, 0},
	{"HGET", STATE, 1},
	{"HMGET", STATE, 1},
	{"HSCAN", STATE, 1},
	{"HLEN", STATE, 0},
	{"HEXISTS", STATE, 1},
	{"HSET", STATE, 2},
	{"HDEL", STATE, 1},
	{"HINCRBY", STATE, 2},
	{"PEXPIRE", STATE, 1},
	{"LRANGE", QUEUE, 2},
	{"LLEN", QUEUE, 0},
	{"LINDEX", QUEUE, 1},
	{"RPUSH", QUEUE, 1},
	{"LINSERT", QUEUE, 3},
	{"LPOP", QUEUE, 0},
	{"LREM", QUEUE, 2},
	{"PEXPIREAT", QUEUE, 1},
	{"PERSIST", QUEUE, 0},
	{"ZCARD", TIMEOUTS, 0},
	{"ZSCORE", TIMEOUTS, 1},
	{"ZMSCORE", TIMEOUTS, 1},
	{"ZRANGE", TIMEOUTS, 2},
	{"ZREVRANGE", TIMEOUTS, 2},
	{"ZADD", TIMEOUTS, 2},
	{"ZREM", TIMEOUTS, 1},
	{"PEXPIREAT", TIMEOUTS, 1},
	{"PERSIST", TIMEOUTS, 0},
	{"XADD", LOG, 3},
	{"XREVRANGE", LOG, 2},
	{"PEXPIRE", LOG, 1},
	{"SUBSCRIBE", PLAIN, 0},
	{"PUBLISH", PLAIN, 1},
	{"SPUBLISH", PLAIN, 1},
	{"SUBSCRIBE", CHANNEL, 0},
	{"PUBLISH", CHANNEL, 1},
	{"SPUBLISH", CHANNEL, 1},
	/* from here on: not for all */
	{"XREAD\nSTREAMS", LOG, 1},
	{"SSUBSCRIBE", CHANNEL, 0},
	{"ASKING", NOTHING, 0},
	{"CLUSTER\nSLOTS", NOTHING, 0},
	{"WAIT\n0\n0", NOTHING, 0},
};

#define NEEDS (sizeof(needs) / sizeof(needs[0]))
#define NEEDS_USUAL (NEEDS - 5)
#define TO_FOLLOW NEEDS_USUAL /* what log --follow needs */
/* Commands that want a key or a channel, and can be asked about without: only those may be that
 * take any number of them, of others some servers must not be asked so. Redis 8.6 does not answer
 * that: there, who can reach nothing of a lock is taken for one who lacks the keys. */
#define KEYLESS NEEDS
#define CHANNELLESS (NEEDS + 1)
#define QUESTIONS (NEEDS + 2)

struct asked {
	const char *objects[OBJECTS];
	char channel[KEY_MAX_BYTES + 2]; /* of a waiter */
	char texts[NEEDS][KEY_MAX_BYTES + 32];
	const char *commands[QUESTIONS];
	enum leave leaves[QUESTIONS];
};

static bool is_needed(size_t need, const struct server_info *info, const struct options *options)
{
	if (need < NEEDS_USUAL)
		return true;
	if (need == NEEDS - 1)
		return options->replicas > 0;
	if (need == TO_FOLLOW)
		return false;
	return strcmp(info->mode, "cluster") == 0;
}

static void prepare(struct asked *asked, const struct lock_keys *keys)
{
	snprintf(asked->channel, sizeof(asked->channel), "%s:0", keys->channel);
	asked->objects[LOCK] = keys->name;
	asked->objects[STATE] = keys->state;
	asked->objects[QUEUE] = keys->queue;
	asked->objects[TIMEOUTS] = keys->timeouts;
	asked->objects[LOG] = keys->log;
	asked->objects[PLAIN] = keys->channel;
	asked->objects[CHANNEL] = asked->channel;
	for (size_t i = 0; i < NEEDS; i++) {
		const char *object = asked->objects[needs[i].object];

		snprintf(asked->texts[i], sizeof(asked->texts[i]), "%s%s%s%.*s", needs[i].words,
			 object ? "\n" : "", object ? object : "", 2 * needs[i].more, "\n0\n0\n0");
		asked->commands[i] = asked->texts[i];
	}
	asked->commands[KEYLESS] = "HMGET";
	asked->commands[CHANNELLESS] = "SUBSCRIBE";
}

/* ---- What is missing, in the words of ACL SETUSER ---- */

/* "+pubsub|numsub" for "PUBSUB\nNUMSUB"; the arguments of others do not count. */
static void rule_of(char rule[64], const char *words)
{
	const bool has_subcommand = strncmp(words, "PUBSUB", 6) == 0 ||
				    strncmp(words, "CLUSTER", 7) == 0 ||
				    strncmp(words, "INFO", 4) == 0;
	size_t i = 0;

	rule[i++] = '+';
	for (; *words && i < 63; words++) {
		if (*words == '\n' && !has_subcommand)
			break;
		rule[i++] = *words == '\n'                   ? '|'
			    : *words >= 'A' && *words <= 'Z' ? (char)(*words - 'A' + 'a')
							     : *words;
	}
	rule[i] = '\0';
}

static void add_word(char *text, size_t size, const char *prefix, const char *word)
{
	const size_t length = strlen(text);

	if ((size_t)snprintf(text + length, size - length, "%s%s%s", length ? " " : "", prefix,
			     word) >= size - length)
		text[length] = '\0'; /* rather none than half of one */
}

static bool has_word(const char *text, const char *word)
{
	const size_t length = strlen(word);

	for (; (text = strstr(text, word)) != NULL; text += length)
		if (text[length] == ' ' || text[length] == '\0')
			return true;
	return false;
}

/* The user may run it with something else, so it is this key or channel that is denied. */
static bool may_elsewhere(const struct asked *asked, size_t need)
{
	for (size_t i = 0; i < NEEDS; i++)
		if (asked->leaves[i] == MAY && strcmp(needs[i].words, needs[need].words) == 0)
			return true;
	return false;
}

/* Nothing is allowed with it. */
static bool is_shut(const struct asked *asked, enum object object)
{
	for (size_t i = 0; i < NEEDS; i++)
		if (needs[i].object == object && asked->leaves[i] == MAY)
			return false;
	return true;
}

static bool all_keys_are_shut(const struct asked *asked)
{
	return asked->leaves[KEYLESS] != MAY_NOT && is_shut(asked, LOCK) && is_shut(asked, STATE) &&
	       is_shut(asked, QUEUE) && is_shut(asked, TIMEOUTS) && is_shut(asked, LOG);
}

/* Not one of the commands is missing, but the key or channel itself. */
static bool is_out_of_reach(const struct asked *asked, enum object object)
{
	const bool is_channel = object == PLAIN || object == CHANNEL;

	if (object == NOTHING || !is_shut(asked, object))
		return false;
	if (is_channel ? asked->leaves[CHANNELLESS] != MAY_NOT : all_keys_are_shut(asked))
		return true;
	for (size_t i = 0; i < NEEDS; i++)
		if (needs[i].object == object && may_elsewhere(asked, i))
			return true;
	return false;
}

static void list_objects(char *text, size_t size, const struct asked *asked)
{
	char rule[KEY_MAX_BYTES + 2];

	for (enum object object = LOCK; object <= LOG; object++)
		if (is_out_of_reach(asked, object))
			add_word(text, size, "~", asked->objects[object]);
	snprintf(rule, sizeof(rule), "%s*", asked->objects[PLAIN]);
	if (is_out_of_reach(asked, PLAIN) || is_out_of_reach(asked, CHANNEL))
		add_word(text, size, "&", rule);
}

static void list_missing(char *text, size_t size, const struct asked *asked,
			 const struct server_info *info, const struct options *options)
{
	char rule[64];

	text[0] = '\0';
	list_objects(text, size, asked);
	for (size_t i = 0; i < NEEDS; i++) {
		if (asked->leaves[i] != MAY_NOT || !is_needed(i, info, options) ||
		    is_out_of_reach(asked, needs[i].object))
			continue;
		rule_of(rule, needs[i].words);
		if (!has_word(text, rule))
			add_word(text, size, "", rule);
	}
}

/* ---- Findings ---- */

static const char *user_of(const struct server_info *info)
{
	const char *user = info->client->connection.server->user;

	return user ? user : "default";
}

static void lacks(struct findings *report, const struct server_info *info, const char *name,
		  const char *missing)
{
	finding_explain(findings_add(report, SEVERITY_ERROR, "permissions",
				     "user %.80s lacks %.330s%s%.60s", user_of(info), missing,
				     name ? " for lock " : "", name ? name : ""),
			"Commands that need it are refused (77).",
			"ACL SETUSER %.80s, with these words; see PERMISSIONS in fairlock(1)",
			user_of(info));
}

static void cannot_follow(struct findings *report, const struct server_info *info, const char *name)
{
	finding_explain(findings_add(report, SEVERITY_NOTE, "permissions",
				     "user %.80s cannot follow the log%s%.100s", user_of(info),
				     name ? " of lock " : "", name ? name : ""),
			"log --follow is refused (77).", "ACL SETUSER %.80s +xread", user_of(info));
}

static void is_limited(struct findings *report, const struct server_info *info)
{
	finding_explain(findings_add(report, SEVERITY_NOTE, "permissions",
				     "user %.80s may use some keys only", user_of(info)),
			"Which names can be locks is not known from here.",
			"name a lock, to have it checked: fairlock doctor NAME");
}

static void is_mute(struct findings *report)
{
	finding_explain(findings_add(report, SEVERITY_NOTE, "permissions",
				     "not known: this server cannot be asked"),
			"What is missing shows when a command is refused (77).",
			"compare with PERMISSIONS in fairlock(1)");
}

static void cannot_ask(struct findings *report, const struct server_info *info,
		       const struct error *err)
{
	if (err->status == STATUS_REFUSED)
		lacks(report, info, NULL, "+eval");
	else
		finding_explain(
			findings_add(report, SEVERITY_ERROR, "permissions", "%.400s", err->text),
			"No script runs, and so no lock can be taken.", "see the server's log");
}

/* Returns false when nobody can be asked. */
static bool check_name(struct findings *report, const struct server_info *info,
		       const struct options *options, const char *name)
{
	struct lock_keys keys;
	struct asked asked = {0};
	struct error err;
	char missing[331];

	if (lock_keys_make(&keys, name ? name : SOME_NAME, &err) < 0)
		return true;
	prepare(&asked, &keys);
	switch (server_info_may(info->client, QUESTIONS, asked.commands, asked.leaves, &err)) {
	case 0:
		break;
	case 1:
		is_mute(report);
		return false;
	default:
		cannot_ask(report, info, &err);
		return false;
	}
	list_missing(missing, sizeof(missing), &asked, info, options);
	if (!*missing)
		findings_add(report, SEVERITY_OK, "permissions",
			     "user %.80s may do all that is needed%s%.100s", user_of(info),
			     name ? " for lock " : "", name ? name : "");
	else if (!name && all_keys_are_shut(&asked))
		is_limited(report, info);
	else
		lacks(report, info, name, missing);
	if (!*missing && asked.leaves[TO_FOLLOW] == MAY_NOT)
		cannot_follow(report, info, name);
	return true;
}

void check_user(struct findings *report, const struct server_info *info,
		const struct options *options, char *const *names, int count)
{
	for (int i = 0; i < (count > 0 ? count : 1); i++)
		if (!check_name(report, info, options, count > 0 ? names[i] : NULL))
			break;
}
