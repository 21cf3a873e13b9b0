/* The tables, and nothing else. */
#include "cli/synonyms.h"

#include "cli/command.h"

enum {
	ALL = COMMAND_ALL,
	WRAP = COMMAND_WRAP,
	ACQUIRE = COMMAND_ACQUIRE,
	RENEW = COMMAND_RENEW,
	RELEASE = COMMAND_RELEASE,
	STATUS = COMMAND_STATUS,
	QUEUE = COMMAND_QUEUE,
	LOG = COMMAND_LOG,
	DOCTOR = COMMAND_DOCTOR,
	TAKE = COMMAND_WRAP | COMMAND_ACQUIRE,
	SHOW = COMMAND_STATUS | COMMAND_QUEUE | COMMAND_LOG,
};

/* clang-format off */
const struct synonym command_synonyms[] = {
	{"run", ALL, "wrap"}, {"exec", ALL, "wrap"}, {"start", ALL, "wrap"}, {"flock", ALL, "wrap"},
	{"sem", ALL, "wrap --slots"}, {"semaphore", ALL, "wrap --slots"},
	{"lock", ALL, "wrap or acquire"}, {"trylock", ALL, "acquire -n"}, {"unlock", ALL, "release"},
	{"break", ALL, "release --force"}, {"steal", ALL, "release --force"},
	{"stop", ALL, "release --stop"}, {"kill", ALL, "release --stop"},
	{"delete", ALL, "release or queue --remove"}, {"cancel", ALL, "release or queue --remove"},
	{"refresh", ALL, "renew"}, {"extend", ALL, "renew"}, {"ls", ALL, "status"},
	{"list", ALL, "status"}, {"ps", ALL, "status"}, {"get", ALL, "status"},
	{"show", ALL, "status"}, {"stat", ALL, "status"}, {"locks", ALL, "status"},
	{"describe", ALL, "status"}, {"info", ALL, "status or doctor"},
	{"top", ALL, "status --watch"}, {"watch", ALL, "status --watch"}, {"waiters", ALL, "queue"},
	{"history", ALL, "log"}, {"logs", ALL, "log"}, {"tail", ALL, "log --follow"},
	{"check", ALL, "doctor"}, {"ping", ALL, "doctor"}, {"man", ALL, "help"},
	{"server", ALL, " it is a service of systemd: see fairlock-server(8)"},
};

/* Of two rows with the same word, the first that is about the command counts. */
const struct synonym option_synonyms[] = {
	{"--timeout", TAKE | RELEASE, "--wait"}, {"-t", TAKE | RELEASE, "--wait"},
	{"--retry", TAKE, "--wait"}, {"--timeout", ALL, "--connect-timeout"},
	{"-t", ALL, "--connect-timeout"}, {"--ttl", TAKE | RENEW, "--lease"},
	{"--nonblock", TAKE, "--no-wait"}, {"--nb", TAKE, "--no-wait"},
	{"--exclusive", TAKE, " it is not needed, locks are exclusive without --shared"},
	{"-x", TAKE, " it is not needed, locks are exclusive without --shared"},
	{"-e", TAKE, " it is not needed, locks are exclusive without --shared"},
	{"--write", TAKE, " it is not needed, locks are exclusive without --shared"},
	{"--read", TAKE, "--shared"}, {"--reader", TAKE, "--shared"}, {"-s", ACQUIRE, "--shared"},
	{"--jobs", TAKE, "--slots"}, {"-j", TAKE, "--slots"}, {"--semaphore", TAKE, "--slots"},
	{"--limit", TAKE, "--slots"}, {"--count", TAKE, "--slots"},
	{"--fg", WRAP, " it is not needed, wrap waits for COMMAND"},
	{"--fair", TAKE, " it is not needed, every lock is fair"},
	{"--blocking", TAKE, " it is not needed, fairlock waits without --no-wait"},
	{"--background", TAKE, " use 'fairlock acquire --while-pid PID' for that"},
	{"--close", TAKE, " it is not needed, COMMAND never inherits the lock"},
	{"-o", TAKE, " it is not needed, COMMAND never inherits the lock"},
	{"--no-fork", WRAP, " wrap must stay beside COMMAND to renew the lease"},
	{"-F", WRAP, " wrap must stay beside COMMAND to renew the lease"},
	{"--unlock", TAKE, " to give a lock back, use 'fairlock release NAME'"},
	{"--dry-run", TAKE, " to look only, use 'fairlock status' or 'fairlock doctor'"},
	{"--max-time", WRAP, "--max-hold"}, {"--every", WRAP, "--once-per"},
	{"--skip", ACQUIRE, " only wrap has it: a script would run without the lock; use -n"},
	{"-p", ACQUIRE, "--while-pid"}, {"--id", ACQUIRE | RENEW | RELEASE, "--owner"},
	{"-f", RELEASE, "--force"}, {"--slots", RELEASE, "--slot"}, {"--clear", QUEUE, "--remove"},
	{"--delete", QUEUE, "--remove"}, {"-i", STATUS | QUEUE, "--watch"},
	{"-w", STATUS | QUEUE, "--watch"}, {"-f", STATUS | QUEUE, "--watch"},
	{"--tail", LOG, "--lines"}, {"-f", LOG, "--follow"}, {"-F", LOG, "--follow"},
	{"-w", LOG, "--follow"}, {"-s", LOG, "--since"}, {"--limit", LOG, "--lines"},
	{"--until", LOG, " log shows all events from --since on"}, {"--graph", LOG, "--plot"},
	{"--all", QUEUE, " it is not needed, queue shows all locks without NAME"},
	{"-a", QUEUE, " it is not needed, queue shows all locks without NAME"},
	{"--all", LOG, " it is not needed, log shows all locks without NAME"},
	{"-a", LOG, " it is not needed, log shows all locks without NAME"},
	{"--no-headers", SHOW, "--noheadings"}, {"-H", SHOW, "--noheadings"},
	{"-n", SHOW, "--noheadings"}, {"--format", SHOW, "--output"}, {"--wide", SHOW, "--output"},
	{"-j", SHOW | ACQUIRE | DOCTOR, "--json"}, {"--host", ALL, "--url redis://HOST:PORT"},
	{"-H", ALL, "--url redis://HOST:PORT"}, {"-p", ALL, "--url redis://HOST:PORT"},
	{"--db", ALL, "--url redis://HOST/DB"}, {"--namespace", ALL, "--url redis://HOST/DB"},
	{"--socket", ALL, "--url unix:PATH"}, {"--tls", ALL, "--url rediss://HOST"},
	{"--user", ALL, "--url redis://USER:@HOST"}, {"--username", ALL, "--url redis://USER:@HOST"},
	{"--cacert", ALL, "--tls-ca"}, {"--cert", ALL, "--tls-cert"}, {"--key", ALL, "--tls-key"},
	{"--insecure", ALL, "--tls-insecure"}, {"-a", ALL, "--password-file"},
	{"--password", ALL, " all users could read it in ps: use --password-file"},
	{"--debug", ALL, "--verbose"},
};
/* clang-format on */

const size_t command_synonym_count = sizeof(command_synonyms) / sizeof(command_synonyms[0]);
const size_t option_synonym_count = sizeof(option_synonyms) / sizeof(option_synonyms[0]);
