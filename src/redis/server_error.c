/* One table: the words by which an error reply is known, its status, and its cause in our words. */
#include "redis/server_error.h"

#include <stdio.h>
#include <string.h>

#include "base/shorten.h"
#include "redis/server.h"

#define SEE_DOCTOR SERVER_ERROR_HINT
#define LACKS_COMMAND "it lacks a command: renamed, or the server is too old" SEE_DOCTOR

/* A cause that depends on the reply, or on who we are. */
typedef void teller(char cause[CAUSE_MAX_BYTES], const struct server *server, const char *text);

bool server_error_is(const char *text, const char *word)
{
	size_t length = strlen(word);

	return strncmp(text, word, length) == 0 && (text[length] == ' ' || text[length] == '\0');
}

/* ---- Causes ---- */

/* So much of a quoted command leaves room for the rest of the message. */
#define UNKNOWN_CHARACTERS 20
#define DENIED_CHARACTERS 31

/* Copies the text between the first two quotes; "" if there is none. */
static void copy_quoted(char *word, size_t size, const char *text)
{
	const char *start = strpbrk(text, "'`");
	const size_t length = start ? strcspn(start + 1, "'`") : 0;

	snprintf(word, size, "%.*s", (int)(length < size ? length : size - 1),
		 start ? start + 1 : "");
}

static void tell_command(char cause[CAUSE_MAX_BYTES], const struct server *server, const char *text)
{
	char command[256], shown[SHORT_MAX_BYTES];

	(void)server;
	copy_quoted(command, sizeof(command), text);
	snprintf(cause, CAUSE_MAX_BYTES, "unknown command %s: renamed, or the server predates 6.2",
		 shorten_to(shown, UNKNOWN_CHARACTERS, command));
}

/* "... has no permissions to run the 'evalsha' command"; not each server names the command. */
static void tell_denied(char cause[CAUSE_MAX_BYTES], const struct server *server, const char *text)
{
	char command[1024], shown[SHORT_MAX_BYTES];

	(void)server;
	copy_quoted(command, sizeof(command), strstr(text, " run ") ? text : "");
	if (*command && !strstr(text, "can't run"))
		snprintf(cause, CAUSE_MAX_BYTES, "this user may not run '%s'" SEE_DOCTOR,
			 shorten_to(shown, DENIED_CHARACTERS, command));
	else
		snprintf(cause, CAUSE_MAX_BYTES,
			 "this user may not run a command, or use a %s" SEE_DOCTOR,
			 strstr(text, "channel") ? "channel" : "key");
}

/* To a user without a password we sent an empty one. */
static void tell_password(char cause[CAUSE_MAX_BYTES], const struct server *server,
			  const char *text)
{
	(void)text;
	snprintf(cause, CAUSE_MAX_BYTES, "it %s %s", server->password ? "refuses" : "wants",
		 server->password_words);
}

static void tell_db(char cause[CAUSE_MAX_BYTES], const struct server *server, const char *text)
{
	(void)text;
	snprintf(cause, CAUSE_MAX_BYTES, "it has no database %d", server->db);
}

/* fairlock sets no maxmemory on a private server. */
static void tell_memory(char cause[CAUSE_MAX_BYTES], const struct server *server, const char *text)
{
	(void)text;
	if (server->kind == SERVER_LOCAL)
		snprintf(cause, CAUSE_MAX_BYTES,
			 "somebody has set maxmemory, which is full" SEE_DOCTOR);
	else
		snprintf(cause, CAUSE_MAX_BYTES, "its memory is full (maxmemory)" SEE_DOCTOR);
}

/* Cuts what a server writes around the words that help: where a script was, which script it was. */
static void tell_unknown(char cause[CAUSE_MAX_BYTES], const struct server *server, const char *text)
{
	static const char place[] = "user_script:";
	char words[256], shown[SHORT_MAX_BYTES];
	char *end;

	(void)server;
	for (const char *at = strstr(text, place); at; at = strstr(at + 1, place)) {
		const char *rest = at + strlen(place);

		rest += strspn(rest, "0123456789: ");
		if (*rest >= 'A')
			text = rest;
	}
	snprintf(words, sizeof(words), "%s", text);
	end = strstr(words, " script: ");
	if (end)
		*end = '\0';
	snprintf(cause, CAUSE_MAX_BYTES, "it answers '%s' (-v shows all)", shorten(shown, words));
}

static void tell_clients(char cause[CAUSE_MAX_BYTES], const struct server *server, const char *text)
{
	(void)text;
	snprintf(cause, CAUSE_MAX_BYTES, "it has too many clients already (%s)",
		 server->kind == SERVER_LOCAL
			 ? "its ulimit -n is its first caller's: see fairlock doctor"
			 : "maxclients");
}

/* ---- The table ---- */

enum place {
	FIRST,    /* the first word of the reply */
	ANYWHERE, /* servers before 7 wrap what a script met into a sentence of their own */
};

static const struct kind {
	const char *word;
	enum place place;
	enum status status;
	bool is_own;       /* the server itself is in trouble, for a while */
	const char *cause; /* NULL: tell says it */
	teller *tell;
} kinds[] = {
	{"LOADING", FIRST, STATUS_UNAVAILABLE, true, "it is still loading its data", NULL},
	{"READONLY", FIRST, STATUS_UNAVAILABLE, false,
	 "it is a replica, which takes no writes" SEE_DOCTOR, NULL},
	{"OOM", FIRST, STATUS_UNAVAILABLE, true, NULL, tell_memory},
	{"MISCONF", FIRST, STATUS_UNAVAILABLE, true,
	 "it cannot save its data, and takes no writes" SEE_DOCTOR, NULL},
	{"NOREPLICAS", FIRST, STATUS_UNAVAILABLE, true,
	 "it has too few replicas (min-replicas-to-write)" SEE_DOCTOR, NULL},
	{"Hash slot not served", ANYWHERE, STATUS_UNAVAILABLE, false,
	 "no node of the cluster has this lock's slot" SEE_DOCTOR, NULL},
	{"CLUSTERDOWN", FIRST, STATUS_UNAVAILABLE, false, "the cluster is down" SEE_DOCTOR, NULL},
	{"MASTERDOWN", FIRST, STATUS_UNAVAILABLE, false,
	 "it is a replica that has lost its master" SEE_DOCTOR, NULL},
	{"BUSY", FIRST, STATUS_UNAVAILABLE, true,
	 "it is busy with a long script; SCRIPT KILL may end it", NULL},
	{"TRYAGAIN", FIRST, STATUS_UNAVAILABLE, false, "the lock is moving to another node", NULL},
	/* the last key of a slot has just gone to another node: as TRYAGAIN */
	{"attempted to access a non local key", ANYWHERE, STATUS_UNAVAILABLE, false,
	 "the lock is moving to another node", NULL},
	{"UNBLOCKED", FIRST, STATUS_UNAVAILABLE, false, "it has just become a replica", NULL},
	{"NOPROTO", FIRST, STATUS_UNAVAILABLE, false,
	 "it, or a proxy before it, refuses HELLO 3 (RESP3)", NULL},
	{"max number of clients", ANYWHERE, STATUS_UNAVAILABLE, false, NULL, tell_clients},
	{"unknown command", ANYWHERE, STATUS_UNAVAILABLE, false, NULL, tell_command},
	/* a script calls it, or asks whether the user may */
	{"Unknown Redis command", ANYWHERE, STATUS_UNAVAILABLE, false, LACKS_COMMAND, NULL},
	{"Unknown command called", ANYWHERE, STATUS_UNAVAILABLE, false, LACKS_COMMAND, NULL},
	{"Invalid command passed to", ANYWHERE, STATUS_UNAVAILABLE, false, LACKS_COMMAND, NULL},
	{"OOM command not allowed", ANYWHERE, STATUS_UNAVAILABLE, true, NULL, tell_memory},
	{"READONLY You can't write", ANYWHERE, STATUS_UNAVAILABLE, false,
	 "it is a replica, which takes no writes" SEE_DOCTOR, NULL},
	{"-MISCONF ", ANYWHERE, STATUS_UNAVAILABLE, true,
	 "it cannot save its data, and takes no writes" SEE_DOCTOR, NULL},
	{"-NOREPLICAS ", ANYWHERE, STATUS_UNAVAILABLE, true,
	 "it has too few replicas (min-replicas-to-write)" SEE_DOCTOR, NULL},
	{"NOAUTH", FIRST, STATUS_REFUSED, false, NULL, tell_password},
	{"WRONGPASS", FIRST, STATUS_REFUSED, false, NULL, tell_password},
	{"DENIED", FIRST, STATUS_REFUSED, false,
	 "it is in protected mode; give it a password or a bind address", NULL},
	{"NOPERM", FIRST, STATUS_REFUSED, false, NULL, tell_denied},
	{"no permissions", ANYWHERE, STATUS_REFUSED, false, NULL, tell_denied},
	{"No permissions", ANYWHERE, STATUS_REFUSED, false, NULL, tell_denied},
	{"The user executing the script can't", ANYWHERE, STATUS_REFUSED, false, NULL, tell_denied},
	{"WRONGTYPE", ANYWHERE, STATUS_CONFIG, false,
	 "the name is in use by something that is no lock", NULL},
	{"DB index is out of range", ANYWHERE, STATUS_CONFIG, false, NULL, tell_db},
	{"invalid DB index", ANYWHERE, STATUS_CONFIG, false, NULL, tell_db},
	{"SELECT is not allowed in cluster mode", ANYWHERE, STATUS_CONFIG, false,
	 "a cluster has database 0 only", NULL},
	{"", ANYWHERE, STATUS_BUG, false, NULL, tell_unknown},
};

static const struct kind *find_kind(const char *text)
{
	const struct kind *kind = kinds;

	while (kind->place == FIRST ? !server_error_is(text, kind->word)
				    : !strstr(text, kind->word))
		kind++;
	return kind;
}

enum status server_error_status(const char *text)
{
	return find_kind(text)->status;
}

bool server_error_is_own(const char *text)
{
	return find_kind(text)->is_own;
}

const char *server_error_cause(char cause[CAUSE_MAX_BYTES], const struct server *server,
			       const char *text)
{
	const struct kind *kind = find_kind(text);

	if (kind->tell)
		kind->tell(cause, server, text);
	else
		snprintf(cause, CAUSE_MAX_BYTES, "%s", kind->cause);
	return cause;
}

bool server_error_redirects(const char *text, const struct endpoint *here, struct endpoint *to)
{
	const char *place, *colon;
	struct endpoint found = *here;
	size_t length;

	if (!server_error_is(text, "MOVED") && !server_error_is(text, "ASK"))
		return false;
	place = strchr(text, ' ');
	place = place ? strchr(place + 1, ' ') : NULL;
	colon = place ? strrchr(++place, ':') : NULL; /* an IPv6 address has some of its own */
	if (!colon)
		return false;
	length = (size_t)(colon - place);
	if (length >= sizeof(found.host) || !endpoint_set_port(&found, colon + 1))
		return false;
	if (length > 0 && strncmp(place, "?", length) != 0) {
		memcpy(found.host, place, length);
		found.host[length] = '\0';
	}
	*to = found;
	return true;
}
