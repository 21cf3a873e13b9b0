/* The kind of a failure shows in its status and in a few words of its cause, as the C library or
 * the server says them. A failure of no known kind gets the last remedy of its status. */
#include "doctor/remedies.h"

#include <stdio.h>
#include <string.h>

#define WORDS_MOST 5

static const struct kind {
	enum status status;
	const char *words[WORDS_MOST]; /* any of them; none: any failure with this status */
	const char *remedy;            /* %s: the host, or the socket */
} kinds[] = {
	{STATUS_UNAVAILABLE,
	 {"is installed"},
	 "install the package redis-server or valkey-server, or name a server: FAIRLOCK_URL, or url "
	 "in fairlock.conf"},
	{STATUS_UNAVAILABLE,
	 {"has locked its folder"},
	 "give each host a machine-id of its own (systemd-machine-id-setup), or name a server: "
	 "FAIRLOCK_URL, or url in fairlock.conf"},
	{STATUS_UNAVAILABLE,
	 {"server.log"},
	 "see server.log in its folder, whether the disk is full, and redis-server --version"},
	{STATUS_UNAVAILABLE,
	 {"no sentinel"},
	 "mend host and port in the URL, or write redis://HOST:PORT for a server without sentinels"},
	{STATUS_UNAVAILABLE,
	 {"is a sentinel"},
	 "write redis+sentinel://HOST:PORT/MASTER; the masters: redis-cli -p 26379 SENTINEL MASTERS"},
	{STATUS_UNAVAILABLE,
	 {"knows no such master"},
	 "compare the master's name in the URL with the sentinels': redis-cli -p 26379 SENTINEL MASTERS"},
	{STATUS_UNAVAILABLE,
	 {"certificate", "TLS", "rediss"},
	 "compare the URL (redis:// is without TLS, rediss:// with it), --tls-ca, and the host name in "
	 "the certificate"},
	{STATUS_UNAVAILABLE,
	 {"Name ", "name resolution", "its name", "No address"},
	 "check the spelling of the host name, and this host's resolver: getent hosts %s"},
	{STATUS_UNAVAILABLE,
	 {"Connection refused"},
	 "start the server on %s, or mend host and port in the URL: nothing listens there"},
	{STATUS_UNAVAILABLE,
	 {"No such file"},
	 "start the server, or mend the path in the URL: its setting unixsocket has the path"},
	{STATUS_UNAVAILABLE,
	 {"Permission denied"},
	 "let this user write to %s: add it to the group of the socket and its folder, or change unixsocketperm"},
	{STATUS_UNAVAILABLE,
	 {"LOADING", "loading"},
	 "wait until it has read its data: redis-cli INFO persistence says how far it is"},
	{STATUS_UNAVAILABLE,
	 {"BUSY", "busy"},
	 "end the script: redis-cli SCRIPT KILL, or FUNCTION KILL"},
	{STATUS_UNAVAILABLE,
	 {"number of clients", "many clients"},
	 "raise maxclients, or find out with redis-cli CLIENT LIST whose connections these are"},
	{STATUS_UNAVAILABLE,
	 {"OOM", "memory"},
	 "raise maxmemory, or find out what fills it: redis-cli --bigkeys"},
	{STATUS_UNAVAILABLE,
	 {"MISCONF", "disk", "snapshot", "save its data"},
	 "see the server's log: is its disk full?"},
	{STATUS_UNAVAILABLE,
	 {"NOREPLICAS", "replicas"},
	 "mend the replicas, or lower min-replicas-to-write"},
	{STATUS_UNAVAILABLE,
	 {"READONLY", "replica", "read only", "read-only"},
	 "name its master in the URL, or the sentinels: redis+sentinel://HOST:PORT/MASTER"},
	{STATUS_UNAVAILABLE,
	 {"cluster", "CLUSTERDOWN", "slot", "moving to another node"},
	 "see which nodes are down: redis-cli --cluster check HOST:PORT"},
	{STATUS_UNAVAILABLE,
	 {"unknown command", "lacks a command"},
	 "take its rename-command out of the server's configuration; Redis 6.2, Valkey 7.2 and later "
	 "have it"},
	{STATUS_UNAVAILABLE,
	 {"HELLO", "NOPROTO"},
	 "use Redis 6.2 or Valkey 7.2 or later, without a proxy that refuses HELLO 3"},
	{STATUS_UNAVAILABLE,
	 {"no reply"},
	 "see whether the server hangs: is its process stopped, is the host out of memory, did somebody "
	 "say CLIENT PAUSE?"},
	{STATUS_UNAVAILABLE,
	 {"timed out", "No route", "unreachable", "in time"},
	 "see whether %s is the right address, the host is up, and no firewall is in between"},
	{STATUS_UNAVAILABLE,
	 {NULL},
	 "see the server's log, and where the URL comes from (Settings)"},
	{STATUS_REFUSED,
	 {"protected", "DENIED"},
	 "give the server a password (requirepass) or an address to listen on (bind)"},
	{STATUS_REFUSED,
	 {"certificate"},
	 "give a certificate that the server trusts: --tls-cert and --tls-key"},
	{STATUS_REFUSED,
	 {"password", "WRONGPASS", "NOAUTH"},
	 "set FAIRLOCK_PASSWORD or --password-file, at least as near as the URL: see Passwords in "
	 "fairlock(1); the settings show which one is used"},
	{STATUS_REFUSED,
	 {NULL},
	 "give the user what PERMISSIONS in fairlock(1) lists; fairlock doctor NAME says what is "
	 "missing for a lock"},
	{STATUS_CONFIG,
	 {"list of hosts"},
	 "write the master alone, redis://HOST, or the sentinels that watch it: "
	 "redis+sentinel://S1,S2,S3/MASTER"},
	{STATUS_CONFIG, {NULL}, "mend the URL; see in the settings where it comes from"},
	{STATUS_BUG, {NULL}, "see what listens there: it may be no Redis, or want TLS (rediss://)"},
};

static bool has_any(const char *text, const char *const words[WORDS_MOST])
{
	if (!words[0])
		return true;
	for (int i = 0; i < WORDS_MOST && words[i]; i++)
		if (strstr(text, words[i]))
			return true;
	return false;
}

static const char *place_of(const struct server *server)
{
	if (server->kind == SERVER_UNIX)
		return server->path;
	return server->seed_count > 0 ? server->seeds[0].host : "this host";
}

void remedy_write(char *text, size_t size, const struct error *err, const struct server *server)
{
	/* the name of the server must not decide */
	const char *cause = strstr(err->text, ": ");
	const char *format = "see the message";
	const char *place;

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (kinds[i].status == err->status &&
		    has_any(cause ? cause : err->text, kinds[i].words)) {
			format = kinds[i].remedy;
			break;
		}
	place = strstr(format, "%s");
	if (!place)
		snprintf(text, size, "%s", format);
	else
		snprintf(text, size, "%.*s%.200s%s", (int)(place - format), format,
			 place_of(server), place + 2);
}
