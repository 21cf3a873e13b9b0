/* What this user may do. It is asked, not tried: what a server refuses stands in its ACL log. */
#include <stdio.h>
#include <string.h>

#include "checks.h"
#include "name.h"

/* To ask with, where no lock is named. */
#define SOME_NAME "fairlock-doctor"

/* What the scripts and the client do, with what: the manual's rule in PERMISSIONS. */
enum object { NOTHING, LOCK, STATE, QUEUE, TIMEOUTS, LOG, PLAIN, CHANNEL, OBJECTS };

static const struct need {
	const char *words; /* separated by line ends, without the object */
	enum object object;
} needs[] = {
	{"EVALSHA\nscript\n0", NOTHING},
	{"TIME", NOTHING},
	{"INFO\nserver", NOTHING},
	{"PUBSUB\nNUMSUB", NOTHING},
	{"PUBSUB\nSHARDNUMSUB", NOTHING},
	{"HGETALL", LOCK},
	{"PTTL", LOCK},
	{"PEXPIRE", LOCK},
	{"HSET", LOCK},
	{"HINCRBY", LOCK},
	{"DEL", LOCK},
	{"HGET", STATE},
	{"HMGET", STATE},
	{"HGETALL", STATE},
	{"HKEYS", STATE},
	{"HLEN", STATE},
	{"HEXISTS", STATE},
	{"HSET", STATE},
	{"HDEL", STATE},
	{"HINCRBY", STATE},
	{"PEXPIRE", STATE},
	{"LRANGE", QUEUE},
	{"LLEN", QUEUE},
	{"LINDEX", QUEUE},
	{"RPUSH", QUEUE},
	{"LINSERT", QUEUE},
	{"LPOP", QUEUE},
	{"LREM", QUEUE},
	{"PEXPIREAT", QUEUE},
	{"PERSIST", QUEUE},
	{"ZCARD", TIMEOUTS},
	{"ZSCORE", TIMEOUTS},
	{"ZMSCORE", TIMEOUTS},
	{"ZRANGE", TIMEOUTS},
	{"ZREVRANGE", TIMEOUTS},
	{"ZADD", TIMEOUTS},
	{"ZREM", TIMEOUTS},
	{"PEXPIREAT", TIMEOUTS},
	{"PERSIST", TIMEOUTS},
	{"XADD", LOG},
	{"XREVRANGE", LOG},
	{"PEXPIRE", LOG},
	{"SUBSCRIBE", PLAIN},
	{"PUBLISH", PLAIN},
	{"SPUBLISH", PLAIN},
	{"SUBSCRIBE", CHANNEL},
	{"PUBLISH", CHANNEL},
	{"SPUBLISH", CHANNEL},
	/* from here on: not for all */
	{"XREAD\nSTREAMS", LOG},
	{"SSUBSCRIBE", CHANNEL},
	{"ASKING", NOTHING},
	{"CLUSTER\nSLOTS", NOTHING},
	{"WAIT\n0\n0", NOTHING},
};

#define NEEDS (sizeof(needs) / sizeof(needs[0]))
#define NEEDS_USUAL (NEEDS - 5)
#define TO_FOLLOW NEEDS_USUAL /* what log --follow needs */
/* Commands that want a key or a channel, and can be asked about without: only those may be that
 * take any number of them, of others some servers must not be asked so. */
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

static bool is_needed(size_t need, const struct facts *facts, const struct options *options)
{
	if (need < NEEDS_USUAL)
		return true;
	if (need == NEEDS - 1)
		return options->replicas > 0;
	if (need == TO_FOLLOW)
		return false;
	return strcmp(facts->mode, "cluster") == 0;
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

		snprintf(asked->texts[i], sizeof(asked->texts[i]), "%s%s%s%s", needs[i].words,
			 object ? "\n" : "", object ? object : "", i == TO_FOLLOW ? "\n0" : "");
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
	return asked->leaves[KEYLESS] == MAY && is_shut(asked, LOCK) && is_shut(asked, STATE) &&
	       is_shut(asked, QUEUE) && is_shut(asked, TIMEOUTS) && is_shut(asked, LOG);
}

/* Not one of the commands is missing, but the key or channel itself. */
static bool is_out_of_reach(const struct asked *asked, enum object object)
{
	const bool is_channel = object == PLAIN || object == CHANNEL;

	if (object == NOTHING || !is_shut(asked, object))
		return false;
	if (is_channel ? asked->leaves[CHANNELLESS] == MAY : all_keys_are_shut(asked))
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
			 const struct facts *facts, const struct options *options)
{
	char rule[64];

	text[0] = '\0';
	list_objects(text, size, asked);
	for (size_t i = 0; i < NEEDS; i++) {
		if (asked->leaves[i] != MAY_NOT || !is_needed(i, facts, options) ||
		    is_out_of_reach(asked, needs[i].object))
			continue;
		rule_of(rule, needs[i].words);
		if (!has_word(text, rule))
			add_word(text, size, "", rule);
	}
}

/* ---- Findings ---- */

static const char *user_of(const struct facts *facts)
{
	const char *user = facts->client->link.server->user;

	return user ? user : "default";
}

static void lacks(struct report *report, const struct facts *facts, const char *name,
		  const char *missing)
{
	finding_explain(report_add(report, SEVERITY_ERROR, "permissions",
				   "user %.80s lacks %.330s%s%.60s", user_of(facts), missing,
				   name ? " for lock " : "", name ? name : ""),
			"Commands that need it are refused (77).",
			"ACL SETUSER %.80s, with these words; see PERMISSIONS in fairlock(1)",
			user_of(facts));
}

static void cannot_follow(struct report *report, const struct facts *facts, const char *name)
{
	finding_explain(report_add(report, SEVERITY_NOTE, "permissions",
				   "user %.80s cannot follow the log%s%.100s", user_of(facts),
				   name ? " of lock " : "", name ? name : ""),
			"log --follow is refused (77).", "ACL SETUSER %.80s +xread",
			user_of(facts));
}

static void is_limited(struct report *report, const struct facts *facts)
{
	finding_explain(report_add(report, SEVERITY_NOTE, "permissions",
				   "user %.80s may use some keys only", user_of(facts)),
			"Which names can be locks is not known from here.",
			"name a lock, to have it checked: fairlock doctor NAME");
}

static void is_mute(struct report *report)
{
	finding_explain(report_add(report, SEVERITY_NOTE, "permissions",
				   "not known: this server cannot be asked"),
			"What is missing shows when a command is refused (77).",
			"compare with PERMISSIONS in fairlock(1)");
}

static void cannot_ask(struct report *report, const struct facts *facts, const struct error *err)
{
	if (err->status == STATUS_REFUSED)
		lacks(report, facts, NULL, "+eval");
	else
		finding_explain(
			report_add(report, SEVERITY_ERROR, "permissions", "%.400s", err->text),
			"No script runs, and so no lock can be taken.", "see the server's log");
}

/* Returns false when nobody can be asked. */
static bool check_name(struct report *report, const struct facts *facts,
		       const struct options *options, const char *name)
{
	struct lock_keys keys;
	struct asked asked = {0};
	struct error err;
	char missing[331];

	if (name_keys(&keys, name ? name : SOME_NAME, &err) < 0)
		return true;
	prepare(&asked, &keys);
	switch (facts_may(facts->client, QUESTIONS, asked.commands, asked.leaves, &err)) {
	case 0:
		break;
	case 1:
		is_mute(report);
		return false;
	default:
		cannot_ask(report, facts, &err);
		return false;
	}
	list_missing(missing, sizeof(missing), &asked, facts, options);
	if (!*missing)
		report_add(report, SEVERITY_OK, "permissions",
			   "user %.80s may do all that is needed%s%.100s", user_of(facts),
			   name ? " for lock " : "", name ? name : "");
	else if (!name && all_keys_are_shut(&asked))
		is_limited(report, facts);
	else
		lacks(report, facts, name, missing);
	if (!*missing && asked.leaves[TO_FOLLOW] == MAY_NOT)
		cannot_follow(report, facts, name);
	return true;
}

void check_user(struct report *report, const struct facts *facts, const struct options *options,
		char *const *names, int count)
{
	for (int i = 0; i < (count > 0 ? count : 1); i++)
		if (!check_name(report, facts, options, count > 0 ? names[i] : NULL))
			break;
}
