/* Which source of a setting counts: flags, variables, files, passwords. */
#include "cli/settings.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "check.h"
#include "cli/command.h"

/* All trials read this configuration file, not the usual ones. */
static char config[] = "/tmp/fairlock-settings-XXXXXX";
static char secret[] = "/tmp/fairlock-secret-XXXXXX";

static void write_file(const char *path, const char *text)
{
	FILE *file = fopen(path, "w");

	if (file) {
		fputs(text, file);
		fclose(file);
	}
}

/* Merges as "fairlock wrap -u URL" does. */
static int merge(struct settings *settings, const char *url)
{
	struct error err;
	int result;

	settings_init(settings);
	settings->options.url = url;
	settings->options.origins[0].source = SOURCE_FLAG; /* the row of --url is the first */
	settings->options.config = config;
	result = settings_merge(settings, &wrap_command, &err);
	if (result)
		printf("%s\n", err.text);
	return result;
}

static bool password_is(const char *url, const char *expected)
{
	struct settings settings;
	const char *found;
	bool same;

	if (merge(&settings, url))
		return false;
	found = settings.server.password;
	same = expected ? found && strcmp(found, expected) == 0 : found == NULL;
	if (!same)
		printf("password: %s\n", found ? found : "none");
	settings_free(&settings);
	return same;
}

/* Each source of a password counts more than those before it. */
static void check_password(struct tally *tally)
{
	char line[128];

	snprintf(line, sizeof(line), "password-file = %s\n", secret);
	write_file(config, "");
	CHECK(tally, password_is("redis://h", NULL));
	setenv("REDISCLI_AUTH", "shared", 1);
	CHECK(tally, password_is("redis://h", "shared"));
	CHECK(tally, password_is("unix:/x?user=u", "shared"));
	CHECK(tally, password_is("local:", NULL));
	write_file(config, line);
	write_file(secret, "in file \nsecond line\n");
	CHECK(tally, password_is("redis://h", "in file "));
	write_file(secret, "no newline");
	CHECK(tally, password_is("redis://u:@h", "no newline"));
	setenv("FAIRLOCK_PASSWORD", "variable", 1);
	CHECK(tally, password_is("redis://h", "variable"));
	CHECK(tally, password_is("redis://:url@h", "url"));
	unsetenv("FAIRLOCK_PASSWORD");
	unsetenv("REDISCLI_AUTH");
}

static void check_precedence(struct tally *tally)
{
	struct settings settings;
	const struct options *options = &settings.options;

	write_file(config, "lease = 2m\nlease = 1m\nwait = 0\nquiet = true\nmax-queue = 7\n");
	setenv("FAIRLOCK_MAX_QUEUE", "8", 1);
	setenv("FAIRLOCK_VERBOSE", "no", 1);
	setenv("FAIRLOCK_OWNER", "somebody", 1);
	setenv("FAIRLOCK_TOKEN", "5", 1);
	CHECK(tally, merge(&settings, "local:") == 0);
	CHECK(tally, options->lease_ms == 60000 && options->max_queue == 8);
	CHECK(tally, options->wait_ms == 0 && options->no_wait);
	CHECK(tally, options->quiet && !options->verbose);
	CHECK(tally, options->owner == NULL && options->token == -1);
	CHECK(tally, settings.server.kind == SERVER_LOCAL && !options->url_is_flag);
	settings_free(&settings);
}

/* One of each kind, from a file and from a variable. */
static void check_kinds(struct tally *tally)
{
	struct settings settings;
	const struct options *options = &settings.options;

	write_file(config, "min-hold = 50s\nmax-hold = 2h\nonce-per = 1d\nsyslog = yes\n"
			   "replicas = 2\nsignal = INT\nkill-after = 1s\n"
			   "conflict-exit-code = 3\nconnect-timeout = 1s\n");
	setenv("FAIRLOCK_JITTER", "20s", 1);
	setenv("FAIRLOCK_MAX_HOLD", "1h", 1);
	setenv("FAIRLOCK_WATCH", "1s", 1);
	CHECK(tally, merge(&settings, "local:") == 0);
	CHECK(tally, options->min_hold_ms == 50000 && options->max_hold_ms == 3600000);
	CHECK(tally, options->once_per_ms == 86400000 && options->jitter_ms == 20000);
	CHECK(tally, options->syslog && options->replicas == 2 && options->signal == SIGINT);
	CHECK(tally, options->kill_after_ms == 1000);
	CHECK(tally, options->conflict_status == 3 && options->connect_timeout_ms == 1000);
	CHECK(tally, options->watch_ms == 0);
	settings_free(&settings);
}

/* As getenv(3) has it: the first of two counts, and a name that is only similar does not. */
static void check_odd_environment(struct tally *tally)
{
	const char *odd[] = {"FAIRLOCK_",        "FAIRLOCK_LEASE",       "FAIRLOCK_LEASES=1",
			     "FAIRLOCK_LEAS=1",  "FAIRLOCK_lease=1",     "FAIRLOCK_LEASE=1m",
			     "FAIRLOCK_LEASE=?", "FAIRLOCK_WAIT=",       "FAIRLOCK_WAIT=?",
			     "XFAIRLOCK_WAIT=?", "FAIRLOCK_MAX-QUEUE=?", NULL};
	char **before = environ;
	struct settings settings;

	write_file(config, "max-queue = 3\n");
	environ = (char **)odd;
	CHECK(tally, merge(&settings, "local:") == 0);
	CHECK(tally, settings.options.lease_ms == 60000 && settings.options.max_queue == 3);
	CHECK(tally, settings.options.wait_ms == -1);
	settings_free(&settings);
	environ = before;
}

int main(void)
{
	struct tally tally = {0};
	int config_fd = mkstemp(config), secret_fd = mkstemp(secret);

	CHECK(&tally, config_fd >= 0 && secret_fd >= 0);
	clearenv();
	check_password(&tally);
	check_precedence(&tally);
	check_kinds(&tally);
	check_odd_environment(&tally);
	close(config_fd);
	close(secret_fd);
	unlink(config);
	unlink(secret);
	return conclude(&tally);
}
