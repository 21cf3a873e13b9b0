/* One table: the words by which an error reply is known, its status, and its cause in our words. */
#include "redis/server_error.h"

#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "redis/server.h"

/* So much of a quoted command leaves room for the rest of the message. */
#define UNKNOWN_CHARACTERS 20
#define DENIED_CHARACTERS 31

#define LACKS_COMMAND "it lacks a command: renamed, or the server is too old" SERVER_ERROR_HINT

bool server_error_is(const char *text, const char *word)
{
	size_t length = strlen(word);

	return strncmp(text, word, length) == 0 && (text[length] == ' ' || text[length] == '\0');
}

/* ---- The table ---- */

/* The first row that fits counts: servers before 7 wrap what a script met into a sentence of their
 * own, and an unknown command is quoted with its arguments. */
static const struct kind {
	const char *word;
	enum status status;
	bool is_own; /* the server itself is in trouble, for a while */
	enum detail {
		NOTHING, /* cause says all */
		COMMAND,
		DENIED,
		PASSWORD,
		MEMORY,
		CLIENTS,
		DB,
		WORDS, /* its own */
	} detail;
	const char *cause;
} kinds[] = {
	{"unknown command", STATUS_UNAVAILABLE, false, COMMAND, NULL},
	{"NOPERM", STATUS_REFUSED, false, DENIED, NULL},
	{"o permissions", STATUS_REFUSED, false, DENIED, NULL},
	{"The user executing the script can't", STATUS_REFUSED, false, DENIED, NULL},
	{"NOAUTH", STATUS_REFUSED, false, PASSWORD, NULL},
	{"WRONGPASS", STATUS_REFUSED, false, PASSWORD, NULL},
	{"DENIED", STATUS_REFUSED, false, NOTHING,
	 "it is in protected mode; give it a password or a bind address"},
	{"LOADING", STATUS_UNAVAILABLE, true, NOTHING, "it is still loading its data"},
	{"READONLY", STATUS_UNAVAILABLE, false, NOTHING,
	 "it is a replica, which takes no writes" SERVER_ERROR_HINT},
	{"OOM", STATUS_UNAVAILABLE, true, MEMORY, NULL},
	{"MISCONF", STATUS_UNAVAILABLE, true, NOTHING,
	 "it cannot save its data, and takes no writes" SERVER_ERROR_HINT},
	{"NOREPLICAS", STATUS_UNAVAILABLE, true, NOTHING,
	 "it has too few replicas (min-replicas-to-write)" SERVER_ERROR_HINT},
	{"Hash slot not served", STATUS_UNAVAILABLE, false, NOTHING,
	 "no node of the cluster has this lock's slot" SERVER_ERROR_HINT},
	{"CLUSTERDOWN", STATUS_UNAVAILABLE, false, NOTHING,
	 "the cluster is down" SERVER_ERROR_HINT},
	{"MASTERDOWN", STATUS_UNAVAILABLE, false, NOTHING,
	 "it is a replica that has lost its master" SERVER_ERROR_HINT},
	{"BUSY", STATUS_UNAVAILABLE, true, NOTHING,
	 "it is busy with a long script; SCRIPT KILL may end it"},
	{"TRYAGAIN", STATUS_UNAVAILABLE, false, NOTHING, "the lock is moving to another node"},
	/* the last key of a slot has just gone to another node: as TRYAGAIN */
	{"attempted to access a non local key", STATUS_UNAVAILABLE, false, NOTHING,
	 "the lock is moving to another node"},
	{"UNBLOCKED", STATUS_UNAVAILABLE, false, NOTHING, "it has just become a replica"},
	{"NOPROTO", STATUS_UNAVAILABLE, false, NOTHING,
	 "it, or a proxy before it, refuses HELLO 3 (RESP3)"},
	{"max number of clients", STATUS_UNAVAILABLE, false, CLIENTS, NULL},
	/* a script calls it, or asks whether the user may */
	{"Unknown Redis command", STATUS_UNAVAILABLE, false, NOTHING, LACKS_COMMAND},
	{"Unknown command called", STATUS_UNAVAILABLE, false, NOTHING, LACKS_COMMAND},
	{"Invalid command passed to", STATUS_UNAVAILABLE, false, NOTHING, LACKS_COMMAND},
	{"WRONGTYPE", STATUS_CONFIG, false, NOTHING,
	 "the name is in use by something that is no lock"},
	{"DB index is out of range", STATUS_CONFIG, false, DB, NULL},
	{"invalid DB index", STATUS_CONFIG, false, DB, NULL},
	{"SELECT is not allowed in cluster mode", STATUS_CONFIG, false, NOTHING,
	 "a cluster has database 0 only"},
	{"", STATUS_BUG, false, WORDS, NULL},
};

static const struct kind *find_kind(const char *text)
{
	const struct kind *kind = kinds;

	while (!strstr(text, kind->word))
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

/* Shows the text between the first two quotes; "" if there is none. */
static const char *show_quoted(char shown[SHORT_MAX_BYTES], size_t characters, const char *text)
{
	const char *start = strpbrk(text, "'`");
	const size_t length = start ? strcspn(start + 1, "'`") : 0;
	char words[1024];

	snprintf(words, sizeof(words), "%.*s", (int)(length < sizeof(words) ? length : 0),
		 start ? start + 1 : "");
	return shorten_to(shown, characters, words);
}

/* "... has no permissions to run the 'evalsha' command"; not each server names the command. */
static void tell_denied(char cause[CAUSE_MAX_BYTES], const char *text)
{
	char shown[SHORT_MAX_BYTES];

	show_quoted(shown, DENIED_CHARACTERS, strstr(text, " run ") ? text : "");
	if (*shown && !strstr(text, "can't run"))
		snprintf(cause, CAUSE_MAX_BYTES, "this user may not run '%s'" SERVER_ERROR_HINT,
			 shown);
	else
		snprintf(cause, CAUSE_MAX_BYTES,
			 "this user may not run a command, or use a %s" SERVER_ERROR_HINT,
			 strstr(text, "channel") ? "channel" : "key");
}

/* Cuts what a server writes around the words that help: where a script was, which script it was. */
static void tell_words(char cause[CAUSE_MAX_BYTES], const char *text)
{
	static const char place[] = "user_script:";
	char words[256], shown[SHORT_MAX_BYTES];
	char *end;

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

const char *server_error_cause(char cause[CAUSE_MAX_BYTES], const struct server *server,
			       const char *text)
{
	const struct kind *kind = find_kind(text);
	const bool is_local = server->kind == SERVER_LOCAL;
	char shown[SHORT_MAX_BYTES];

	switch (kind->detail) {
	case NOTHING:
		snprintf(cause, CAUSE_MAX_BYTES, "%s", kind->cause);
		break;
	case COMMAND:
		snprintf(cause, CAUSE_MAX_BYTES,
			 "unknown command %s: renamed, or the server predates 6.2",
			 show_quoted(shown, UNKNOWN_CHARACTERS, text));
		break;
	case DENIED:
		tell_denied(cause, text);
		break;
	case PASSWORD: /* to a user without a password we sent an empty one */
		snprintf(cause, CAUSE_MAX_BYTES, "it %s %s", server->password ? "refuses" : "wants",
			 server->password_words);
		break;
	case MEMORY: /* fairlock sets no maxmemory on a private server */
		snprintf(cause, CAUSE_MAX_BYTES, "%s" SERVER_ERROR_HINT,
			 is_local ? "somebody has set maxmemory, which is full"
				  : "its memory is full (maxmemory)");
		break;
	case CLIENTS:
		snprintf(cause, CAUSE_MAX_BYTES, "it has too many clients already (%s)",
			 is_local ? "its ulimit -n is its first caller's: see fairlock doctor"
				  : "maxclients");
		break;
	case DB:
		snprintf(cause, CAUSE_MAX_BYTES, "it has no database %d", server->db);
		break;
	case WORDS:
		tell_words(cause, text);
		break;
	}
	return cause;
}

bool server_error_redirects(const char *text, const struct endpoint *here, struct endpoint *to)
{
	const char *slot = strchr(text, ' '), *place = slot ? strchr(slot + 1, ' ') : NULL;
	const char *colon = place ? strrchr(++place, ':') : NULL; /* IPv6 has some of its own */
	struct endpoint found = *here;
	const size_t length = colon ? (size_t)(colon - place) : 0;

	if (!colon || length >= sizeof(found.host) || !endpoint_set_port(&found, colon + 1))
		return false;
	if (length > 0 && strncmp(place, "?", length) != 0)
		snprintf(found.host, sizeof(found.host), "%.*s", (int)length, place);
	*to = found;
	return true;
}
