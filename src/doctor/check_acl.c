/* Checks the permissions of this user, and whether rename-command hides a command. Asks the server
 * instead of trying: it logs each refusal. */
#include <assert.h>
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "doctor/checks.h"
#include "lock/lock.h"
#include "redis/script.h"

/* The lock to ask about if the user named none. */
#define SOME_NAME "fairlock-doctor"

/* The object of a command. PLAIN is the lock's channel, CHANNEL that of a waiter. */
enum object {
	NOTHING,
	LOCK,
	STATE,
	LIST,
	TIMEOUTS,
	LOG,
	OURS,
	HOLDERS,
	DONE,
	PLAIN,
	CHANNEL,
	OBJECTS
};

/* Their names in script_needs. */
static const char *const object_names[OBJECTS] = {
	"nothing", "lock",    "state", "list",  "timeouts", "log",
	"ours",    "holders", "done",  "plain", "channel",
};

enum purpose { FOR_ALL, FOR_FOLLOWING, FOR_FOLLOWING_ALL, FOR_CLUSTER, FOR_REPLICAS, TO_COMPARE };

/* All that the client needs beside what scripts do; PERMISSIONS in fairlock(1) lists both. A
 * command is NAME|SUBCOMMAND:ARGUMENT and the number of its words behind the object, because
 * Redis 8.6 and later answer about whole commands only. */
static const struct need {
	enum purpose purpose;
	enum object object;
	const char *commands;
} needs[] = {
	{TO_COMPARE, NOTHING, "HMGET SUBSCRIBE"},
	{TO_COMPARE, LOCK, "GET"}, /* scripts use it for one key only */
	{FOR_ALL, NOTHING, "EVALSHA2"},
	{FOR_ALL, PLAIN, "SUBSCRIBE"},
	{FOR_ALL, CHANNEL, "SUBSCRIBE"},
	{FOR_FOLLOWING, LOG, "XREAD:STREAMS1"},
	{FOR_FOLLOWING_ALL, NOTHING, "CLIENT|TRACKING:ON"},
	{FOR_CLUSTER, CHANNEL, "SSUBSCRIBE"},
	{FOR_CLUSTER, NOTHING, "ASKING CLUSTER|SLOTS"},
	{FOR_REPLICAS, NOTHING, "WAIT2"},
};

/* The first two questions are about commands without the key or channel that they need, to tell a
 * missing key from a missing command. Some servers must not be asked so unless a command takes any
 * number of keys. Redis 8.6 does not answer; there, a user who can reach nothing of a lock counts
 * as one who lacks the keys. */
enum { KEYLESS, CHANNELLESS };

#define QUESTIONS_MAX 100

struct asked {
	const char *objects[OBJECTS];
	char channel[KEY_MAX_BYTES + 2]; /* of a waiter */
	char done[KEY_MAX_BYTES + 2];    /* of all requests */
	size_t count;
	struct question {
		enum purpose purpose;
		enum object object;
		char rule[32]; /* in the words of ACL SETUSER: "+pubsub|numsub" */
		char command[KEY_MAX_BYTES + 32];
	} questions[QUESTIONS_MAX];
	const char *commands[QUESTIONS_MAX];
	enum permission permissions[QUESTIONS_MAX];
};

static bool is_needed(enum purpose purpose, const struct server_info *info,
		      const struct options *options)
{
	return purpose == FOR_ALL ||
	       (purpose == FOR_CLUSTER && strcmp(info->mode, "cluster") == 0) ||
	       (purpose == FOR_REPLICAS && options->replicas > 0);
}

/* Asks about the command with which text begins. */
static void add_question(struct asked *asked, enum purpose purpose, enum object of,
			 const char *text)
{
	const char *object = asked->objects[of];
	const size_t length = strcspn(text, " 123;\n");
	const int more = isdigit(text[length]) ? text[length] - '0' : 0;
	struct question *question = &asked->questions[asked->count];

	assert(asked->count < QUESTIONS_MAX);
	question->purpose = purpose;
	question->object = of;
	snprintf(question->rule, sizeof(question->rule), "+%.*s", (int)strcspn(text, ": 123;\n"),
		 text);
	for (char *letter = question->rule; *letter; letter++)
		*letter = (char)tolower(*letter);
	snprintf(question->command, sizeof(question->command), "%.*s%s%s%.*s", (int)length, text,
		 object ? "\n" : "", object ? object : "", 2 * more, "\n0\n0\n0");
	for (size_t i = 0; i < length; i++)
		if (strchr("|:", text[i]))
			question->command[i] = '\n';
	asked->commands[asked->count++] = question->command;
}

/* Asks about the commands up to the end of the line. */
static void add_questions(struct asked *asked, enum purpose purpose, enum object object,
			  const char *text)
{
	while (*(text += strspn(text, " ;")) && *text != '\n') {
		add_question(asked, purpose, object, text);
		text += strcspn(text, " ;\n");
	}
}

static void add_script_questions(struct asked *asked)
{
	for (const char *line = script_needs; *line; line += strcspn(line, "\n") + 1) {
		const char *commands = strchr(line, ':') + 1;
		const size_t length = (size_t)(commands - line - 1);

		for (enum object object = NOTHING; object < OBJECTS; object++)
			if (strlen(object_names[object]) == length &&
			    strncmp(object_names[object], line, length) == 0)
				add_questions(asked, FOR_ALL, object, commands);
	}
}

static void prepare(struct asked *asked, const struct lock_keys *keys)
{
	snprintf(asked->done, sizeof(asked->done), "%s*", keys->done);
	snprintf(asked->channel, sizeof(asked->channel), "%s:0", keys->channel);
	asked->objects[LOCK] = keys->name;
	asked->objects[STATE] = keys->state;
	asked->objects[LIST] = keys->queue;
	asked->objects[TIMEOUTS] = keys->timeouts;
	asked->objects[LOG] = keys->log;
	asked->objects[OURS] = keys->ours;
	asked->objects[HOLDERS] = keys->holders;
	asked->objects[DONE] = asked->done;
	asked->objects[PLAIN] = keys->channel;
	asked->objects[CHANNEL] = asked->channel;
	for (size_t i = 0; i < sizeof(needs) / sizeof(needs[0]); i++)
		add_questions(asked, needs[i].purpose, needs[i].object, needs[i].commands);
	add_script_questions(asked);
}

/* ---- What is missing, in the words of ACL SETUSER ---- */

static void add_word(char *text, size_t size, const char *prefix, const char *word)
{
	const size_t length = strlen(text);

	if ((size_t)snprintf(text + length, size - length, "%s%s%s", length ? " " : "", prefix,
			     word) >= size - length)
		text[length] = '\0'; /* no half words */
}

static bool has_word(const char *text, const char *word)
{
	const size_t length = strlen(word);

	for (const char *at = text; (at = strstr(at, word)) != NULL; at += length)
		if ((at == text || at[-1] == ' ') && strchr(" ,", at[length])) /* or the end */
			return true;
	return false;
}

/* Whether the user may run this command on another object. */
static bool may_elsewhere(const struct asked *asked, size_t index)
{
	for (size_t i = 0; i < asked->count; i++)
		if (asked->permissions[i] == IS_ALLOWED && asked->questions[i].object != NOTHING &&
		    strcmp(asked->questions[i].rule, asked->questions[index].rule) == 0)
			return true;
	return false;
}

static bool none_allowed(const struct asked *asked, enum object object)
{
	for (size_t i = 0; i < asked->count; i++)
		if (asked->questions[i].object == object && asked->permissions[i] == IS_ALLOWED)
			return false;
	return true;
}

static bool no_key_allowed(const struct asked *asked)
{
	return asked->permissions[KEYLESS] != IS_DENIED && none_allowed(asked, LOCK) &&
	       none_allowed(asked, STATE) && none_allowed(asked, LIST) &&
	       none_allowed(asked, TIMEOUTS) && none_allowed(asked, LOG) &&
	       none_allowed(asked, OURS) && none_allowed(asked, HOLDERS) &&
	       none_allowed(asked, DONE);
}

/* The user lacks the key or channel itself, not one of the commands. */
static bool is_out_of_reach(const struct asked *asked, enum object object)
{
	const bool is_channel = object == PLAIN || object == CHANNEL;

	if (object == NOTHING || !none_allowed(asked, object))
		return false;
	if (is_channel ? asked->permissions[CHANNELLESS] != IS_DENIED : no_key_allowed(asked))
		return true;
	for (size_t i = 0; i < asked->count; i++)
		if (asked->questions[i].object == object && may_elsewhere(asked, i))
			return true;
	return false;
}

static void list_objects(char *text, size_t size, const struct asked *asked)
{
	char pattern[KEY_MAX_BYTES + 2];

	for (enum object object = LOCK; object <= DONE; object++)
		if (is_out_of_reach(asked, object))
			add_word(text, size, "~", asked->objects[object]);
	snprintf(pattern, sizeof(pattern), "%s*", asked->objects[PLAIN]);
	if (is_out_of_reach(asked, PLAIN) || is_out_of_reach(asked, CHANNEL))
		add_word(text, size, "&", pattern);
}

static void list_missing(char *text, size_t size, const struct asked *asked,
			 const struct server_info *info, const struct options *options)
{
	text[0] = '\0';
	list_objects(text, size, asked);
	for (size_t i = 0; i < asked->count; i++) {
		const struct question *question = &asked->questions[i];

		if (asked->permissions[i] == IS_DENIED &&
		    is_needed(question->purpose, info, options) &&
		    !is_out_of_reach(asked, question->object) && !has_word(text, question->rule))
			add_word(text, size, "", question->rule);
	}
}

static bool may_follow(const struct asked *asked)
{
	for (size_t i = 0; i < asked->count; i++)
		if (asked->questions[i].purpose == FOR_FOLLOWING &&
		    asked->permissions[i] == IS_DENIED)
			return false;
	return true;
}

/* ---- Commands that the server does not have under their names ---- */

/* Lists the names of those that fairlock needs here, or those that only options need. */
static void list_hidden(char *text, size_t size, const struct asked *asked, bool needed,
			const struct server_info *info, const struct options *options)
{
	text[0] = '\0';
	for (size_t i = 0; i < asked->count; i++) {
		const struct question *question = &asked->questions[i];
		const enum purpose purpose = question->purpose;
		const size_t length = strlen(text);
		char name[32];

		if (asked->permissions[i] != IS_UNKNOWN || purpose == TO_COMPARE ||
		    (purpose == FOR_CLUSTER && !is_needed(purpose, info, options)) ||
		    is_needed(purpose, info, options) != needed)
			continue;
		snprintf(name, sizeof(name), "%.*s", (int)strcspn(question->command, "\n"),
			 question->command);
		if (!has_word(text, name))
			snprintf(text + length, size - length, "%s%s", length ? ", " : "", name);
	}
}

static bool check_hidden(struct findings *findings, const struct server_info *info,
			 const struct options *options, const struct asked *asked)
{
	static const char remedy[] = "take rename-command for each of them out of the server's "
				     "configuration, and restart the server";
	char needed[400], others[64];

	list_hidden(needed, sizeof(needed), asked, true, info, options);
	list_hidden(others, sizeof(others), asked, false, info, options);
	if (*needed) {
		findings_add(findings, SEVERITY_ERROR, "commands", "the server lacks %s", needed);
		findings_explain(findings,
				 "Jobs fail (69), waiters wait for too long, or the scripts do not "
				 "notice a restart of the server.",
				 "%s", remedy);
	}
	if (*others) {
		findings_add(findings, SEVERITY_NOTE, "commands", "the server lacks %s", others);
		findings_explain(findings,
				 "--replicas needs WAIT, log --follow needs XREAD: they fail (69).",
				 "%s", remedy);
	}
	return *needed;
}

/* ---- Findings ---- */

static void report_missing(struct findings *findings, const struct server_info *info,
			   const char *name, const char *missing)
{
	findings_add(findings, SEVERITY_ERROR, "permissions", "user %.80s lacks %.330s%s%.60s",
		     info->user, missing, name ? " for lock " : "", name ? name : "");
	findings_explain(findings, "The server refuses commands that need it (77).",
			 "ACL SETUSER %.80s with the words above; see PERMISSIONS in fairlock(1)",
			 info->user);
}

static void report_limited(struct findings *findings, const struct server_info *info)
{
	findings_add(findings, SEVERITY_NOTE, "permissions", "user %.80s may use some keys only",
		     info->user);
	findings_explain(findings, "doctor cannot know which names this user may lock.",
			 "name a lock: fairlock doctor NAME");
}

static void report_answers(struct findings *findings, const struct server_info *info,
			   const struct options *options, const char *name,
			   const struct asked *asked)
{
	const bool is_hidden = check_hidden(findings, info, options, asked);
	char missing[331];

	list_missing(missing, sizeof(missing), asked, info, options);
	if (*missing) {
		if (!name && no_key_allowed(asked))
			report_limited(findings, info);
		else
			report_missing(findings, info, name, missing);
		return;
	}
	if (is_hidden)
		return;
	findings_add(findings, SEVERITY_OK, "permissions",
		     "user %.80s may do all that is needed%s%.100s", info->user,
		     name ? " for lock " : "", name ? name : "");
	if (may_follow(asked))
		return;
	findings_add(findings, SEVERITY_NOTE, "permissions",
		     "user %.80s cannot follow the log%s%.100s", info->user,
		     name ? " of lock " : "", name ? name : "");
	findings_explain(findings, "The server refuses log --follow (77).",
			 "ACL SETUSER %.80s +xread", info->user);
}

static void report_too_old(struct findings *findings)
{
	findings_add(findings, SEVERITY_NOTE, "permissions",
		     "not known: this server cannot be asked");
	findings_explain(findings, "A missing permission shows only when a command fails (77).",
			 "compare the user with PERMISSIONS in fairlock(1)");
}

static void report_failed(struct findings *findings, const struct server_info *info,
			  const struct error *err)
{
	if (err->status == STATUS_REFUSED) {
		report_missing(findings, info, NULL, "+eval");
		return;
	}
	if (info->grants == GRANTS_NONE)
		return; /* the same refusal: check_server has told it */
	findings_add(findings, SEVERITY_ERROR, "permissions", "%.400s", err->text);
	findings_explain(findings, "No script runs, so no lock can be taken.",
			 "see the server's log");
}

/* Returns false when the server cannot be asked. */
static bool check_name(struct findings *findings, const struct server_info *info,
		       const struct options *options, const char *name)
{
	struct lock_keys keys;
	struct asked asked = {0};
	struct error err;
	int result;

	if (lock_keys_make(&keys, name ? name : SOME_NAME, &err) < 0)
		return true;
	prepare(&asked, &keys);
	result = server_info_ask_permissions(info->client, asked.count, asked.commands,
					     asked.permissions, &err);
	if (result == 0)
		report_answers(findings, info, options, name, &asked);
	else if (result > 0)
		report_too_old(findings);
	else
		report_failed(findings, info, &err);
	return result == 0;
}

void check_user(struct findings *findings, const struct server_info *info,
		const struct options *options, char *const *names, int count)
{
	if (count == 0)
		check_name(findings, info, options, NULL);
	for (int i = 0; i < count && check_name(findings, info, options, names[i]); i++)
		;
}
