/* Two tables: of the errors that a server answers, with our words for each; and of the failures to
 * get an answer. Each row has what to do about it. */
#include "redis/server_error.h"

#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "redis/server.h"

/* A quoted command is cut here, so that the rest of the message has room. */
#define UNKNOWN_CHARACTERS 20
#define DENIED_CHARACTERS 31

/* ---- What a server answers ---- */

#define NO_COMMAND "it lacks a command: renamed, or the server is too old"
#define FIND_MASTER                                                                                \
	"name its master in the URL, or the sentinels: redis+sentinel://HOST:PORT/MASTER"
#define CHECK_CLUSTER "see which nodes are down: redis-cli --cluster check HOST:PORT"
#define GIVE_COMMAND                                                                               \
	"take its rename-command out of the server's configuration; Redis 6.2, Valkey 7.2 and "    \
	"later have it"
#define SET_PASSWORD                                                                               \
	"set FAIRLOCK_PASSWORD or --password-file, at least as near as the URL: see Passwords in " \
	"fairlock(1); the settings show which one is used"

/* The first row that fits counts: servers before 7 wrap what a script met into a sentence of their
 * own, and an unknown command is quoted with its arguments. */
static const struct kind {
	const char *word;
	enum status status;
	bool is_own; /* the server itself is in trouble, for a while */
	enum detail {
		NOTHING, /* cause says all */
		HINT,    /* but doctor can tell more */
		COMMAND,
		DENIED,
		PASSWORD,
		CLIENTS,
		DB,
		WORDS, /* its own */
	} detail;
	const char *cause;  /* or words of it, when there is more to say */
	const char *remedy; /* for doctor; NULL: see failures */
} kinds[] = {
	{"unknown command", STATUS_UNAVAILABLE, false, COMMAND, "unknown command", GIVE_COMMAND},
	{"NOPERM", STATUS_REFUSED, false, DENIED, "this user may not run", NULL},
	{"o permissions", STATUS_REFUSED, false, DENIED, "this user may not run", NULL},
	{"The user executing the script can't", STATUS_REFUSED, false, DENIED,
	 "this user may not run", NULL},
	{"DENIED", STATUS_REFUSED, false, NOTHING,
	 "it is in protected mode; give it a password or a bind address",
	 "give the server a password (requirepass) or an address to listen on (bind)"},
	{"NOAUTH", STATUS_REFUSED, false, PASSWORD, "password", SET_PASSWORD},
	{"WRONGPASS", STATUS_REFUSED, false, PASSWORD, "password", SET_PASSWORD},
	{"LOADING", STATUS_UNAVAILABLE, true, NOTHING, "it is still loading its data",
	 "wait until it has read its data: redis-cli INFO persistence says how far it is"},
	{"READONLY", STATUS_UNAVAILABLE, false, HINT, "it is a replica, which takes no writes",
	 FIND_MASTER},
	{"OOM", STATUS_UNAVAILABLE, true, HINT, "its memory is full (maxmemory)",
	 "raise maxmemory, or find out what fills it: redis-cli --bigkeys"},
	{"MISCONF", STATUS_UNAVAILABLE, true, HINT, "it cannot save its data, and takes no writes",
	 "see the server's log: is its disk full?"},
	{"NOREPLICAS", STATUS_UNAVAILABLE, true, HINT,
	 "it has too few replicas (min-replicas-to-write)",
	 "mend the replicas, or lower min-replicas-to-write"},
	{"Hash slot not served", STATUS_UNAVAILABLE, false, HINT,
	 "no node of the cluster has this lock's slot", CHECK_CLUSTER},
	{"CLUSTERDOWN", STATUS_UNAVAILABLE, false, HINT, "the cluster is down", CHECK_CLUSTER},
	{"MASTERDOWN", STATUS_UNAVAILABLE, false, HINT, "it is a replica that has lost its master",
	 FIND_MASTER},
	{"BUSY", STATUS_UNAVAILABLE, true, NOTHING,
	 "it is busy with a long script; SCRIPT KILL may end it",
	 "end the script: redis-cli SCRIPT KILL, or FUNCTION KILL"},
	{"TRYAGAIN", STATUS_UNAVAILABLE, false, NOTHING, "the lock is moving to another node",
	 CHECK_CLUSTER},
	/* the last key of a slot has just gone to another node: as TRYAGAIN */
	{"attempted to access a non local key", STATUS_UNAVAILABLE, false, NOTHING,
	 "the lock is moving to another node", CHECK_CLUSTER},
	{"UNBLOCKED", STATUS_UNAVAILABLE, false, NOTHING, "it has just become a replica",
	 FIND_MASTER},
	{"NOPROTO", STATUS_UNAVAILABLE, false, NOTHING,
	 "it, or a proxy before it, refuses HELLO 3 (RESP3)",
	 "use Redis 6.2 or Valkey 7.2 or later, without a proxy that refuses HELLO 3"},
	{"max number of clients", STATUS_UNAVAILABLE, false, CLIENTS, "too many clients",
	 "raise maxclients, or find out with redis-cli CLIENT LIST whose connections these are"},
	/* a script calls it, or asks whether the user may */
	{"Unknown Redis command", STATUS_UNAVAILABLE, false, HINT, NO_COMMAND, GIVE_COMMAND},
	{"Unknown command called", STATUS_UNAVAILABLE, false, HINT, NO_COMMAND, GIVE_COMMAND},
	{"Invalid command passed to", STATUS_UNAVAILABLE, false, HINT, NO_COMMAND, GIVE_COMMAND},
	{"WRONGTYPE", STATUS_CONFIG, false, NOTHING,
	 "the name is in use by something that is no lock", NULL},
	{"DB index is out of range", STATUS_CONFIG, false, DB, "it has no database", NULL},
	{"invalid DB index", STATUS_CONFIG, false, DB, "it has no database", NULL},
	{"SELECT is not allowed in cluster mode", STATUS_CONFIG, false, NOTHING,
	 "a cluster has database 0 only", NULL},
	{"", STATUS_BUG, false, WORDS, "it answers", NULL},
};

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

void server_error_read(struct server_error *meaning, const struct server *server, const char *text)
{
	const struct kind *kind = kinds;
	char *cause = meaning->cause, shown[SHORT_MAX_BYTES];

	while (!strstr(text, kind->word))
		kind++;
	meaning->status = kind->status;
	meaning->is_own = kind->is_own;
	switch (kind->detail) {
	case NOTHING:
	case HINT:
		snprintf(cause, CAUSE_MAX_BYTES, "%s%s", kind->cause,
			 kind->detail == HINT ? SERVER_ERROR_HINT : "");
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
	case CLIENTS:
		snprintf(cause, CAUSE_MAX_BYTES, "it has too many clients already (%s)",
			 server->kind == SERVER_LOCAL
				 ? "its ulimit -n is its first caller's: see fairlock doctor"
				 : "maxclients");
		break;
	case DB:
		snprintf(cause, CAUSE_MAX_BYTES, "it has no database %d", server->db);
		break;
	case WORDS:
		tell_words(cause, text);
		break;
	}
}

/* ---- What to do about a failure ---- */

/* Failures without an answer of the server, known by words of ours or of the C library. A row
 * without a remedy has that of the next row. The last row of a status stands for all its other
 * failures. */
static const struct failure {
	enum status status;
	const char *words;
	const char *remedy; /* %s: the host, or the socket */
} failures[] = {
	{STATUS_UNAVAILABLE, "is installed",
	 "install the package redis-server or valkey-server, or name a server: FAIRLOCK_URL, or "
	 "url in fairlock.conf"},
	{STATUS_UNAVAILABLE, "has locked its folder",
	 "give each host a machine-id of its own (systemd-machine-id-setup), or name a server: "
	 "FAIRLOCK_URL, or url in fairlock.conf"},
	{STATUS_UNAVAILABLE, "server.log",
	 "see server.log in its folder, whether the disk is full, and redis-server --version"},
	{STATUS_UNAVAILABLE, "no sentinel",
	 "mend host and port in the URL, or write redis://HOST:PORT for a server without "
	 "sentinels"},
	{STATUS_UNAVAILABLE, "is a sentinel", NULL},
	{STATUS_UNAVAILABLE, "knows no such master",
	 "write redis+sentinel://HOST:PORT/MASTER; the masters: "
	 "redis-cli -p 26379 SENTINEL MASTERS"},
	{STATUS_UNAVAILABLE, "certificate", NULL},
	{STATUS_UNAVAILABLE, "TLS",
	 "compare the URL (redis:// is without TLS, rediss:// with it), --tls-ca, and the host "
	 "name in the certificate"},
	{STATUS_UNAVAILABLE, "No address", NULL},
	{STATUS_UNAVAILABLE, "name",
	 "check the spelling of the host name, and this host's resolver: getent hosts %s"},
	{STATUS_UNAVAILABLE, "Connection refused",
	 "start the server on %s, or mend host and port in the URL: nothing listens there"},
	{STATUS_UNAVAILABLE, "No such file",
	 "start the server, or mend the path in the URL: its setting unixsocket has the path"},
	{STATUS_UNAVAILABLE, "Permission denied",
	 "let this user write to %s: add it to the group of the socket and its folder, or change "
	 "unixsocketperm"},
	{STATUS_UNAVAILABLE, "it is a replica", FIND_MASTER},
	{STATUS_UNAVAILABLE, "node", CHECK_CLUSTER},
	{STATUS_UNAVAILABLE, "no reply",
	 "see whether the server hangs: is its process stopped, is the host out of memory, did "
	 "somebody say CLIENT PAUSE?"},
	{STATUS_UNAVAILABLE, "No route", NULL},
	{STATUS_UNAVAILABLE, "unreachable", NULL},
	{STATUS_UNAVAILABLE, "timed out",
	 "see whether %s is the right address, the host is up, and no firewall is in between"},
	{STATUS_UNAVAILABLE, "", "see the server's log, and where the URL comes from (Settings)"},
	{STATUS_REFUSED, "certificate",
	 "give a certificate that the server trusts: --tls-cert and --tls-key"},
	{STATUS_REFUSED, "",
	 "give the user what fairlock doctor --acl NAME prints; fairlock doctor NAME says what is "
	 "missing for a lock"},
	{STATUS_CONFIG, "list of hosts",
	 "write the master alone, redis://HOST, or the sentinels that watch it: "
	 "redis+sentinel://S1,S2,S3/MASTER"},
	{STATUS_CONFIG, "", "mend the URL; see in the settings where it comes from"},
	{STATUS_BUG, "", "see what listens there: it may be no Redis, or want TLS (rediss://)"},
};

static const char *find_remedy(enum status status, const char *cause)
{
	const struct failure *failure = failures;

	for (const struct kind *kind = kinds; *kind->word; kind++)
		if (kind->remedy && kind->status == status && strstr(cause, kind->cause))
			return kind->remedy;
	while (failure->status != status || !strcasestr(cause, failure->words))
		if (++failure == failures + sizeof(failures) / sizeof(failures[0]))
			return "see the message";
	while (!failure->remedy)
		failure++;
	return failure->remedy;
}

const char *server_error_remedy(char remedy[REMEDY_MAX_BYTES], const struct error *err,
				const struct server *server)
{
	const char *place = server->kind == SERVER_UNIX ? server->path
			    : server->seed_count > 0    ? server->seeds[0].host
							: "this host";
	/* the name of the server must not decide */
	const char *cause = strstr(err->text, ": ");
	const char *text = find_remedy(err->status, cause ? cause : err->text);
	const char *gap = strstr(text, "%s");

	if (!gap)
		snprintf(remedy, REMEDY_MAX_BYTES, "%s", text);
	else
		snprintf(remedy, REMEDY_MAX_BYTES, "%.*s%.200s%s", (int)(gap - text), text, place,
			 gap + 2);
	return remedy;
}
