/* Reads the sources in turn. The first that sets an option counts. */
#include "cli/args.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/descriptors.h"
#include "base/getent.h"
#include "cli/command.h"
#include "cli/guess.h"

#define SYSTEM_FILE "/etc/fairlock.conf"
#define USER_FILE ".config/fairlock.conf"

#define FILE_MAX_BYTES 65536
#define BYTE_ORDER_MARK "\xef\xbb\xbf" /* some editors write it; it says nothing */
#define BLANKS " \t\r"
#define CI_REPORT_MS 60000
#define SHARED "REDISCLI_AUTH" /* redis-cli(1) reads it, too */

static int no_memory(struct error *err)
{
	return fail(err, STATUS_OS, "cannot copy a setting: out of memory");
}

/* Keeps text, which malloc gave, as long as *settings lives. */
static void keep(struct settings *settings, char *text)
{
	size_t i = 0;

	while (settings->owned[i])
		i++;
	settings->owned[i] = text;
}

static bool is_set(const struct options *options, const char *name)
{
	return options_origin(options, name)->source != 0;
}

/* On the command line, where the user means it for this command. */
static bool is_flag(const struct options *options, const char *name)
{
	return options_origin(options, name)->source == SOURCE_FLAG;
}

/* ---- The environment ---- */

static const char *get_variable(const char *name)
{
	const char *value = getenv(name);

	return value && *value != '\0' ? value : NULL;
}

static int read_environment(struct options *options, unsigned command, struct error *err)
{
	const struct origin origin = {.source = SOURCE_ENVIRONMENT};
	char name[VARIABLE_MAX_BYTES];

	for (const struct option_row *row = option_rows; row->name; row++) {
		const char *value = get_variable(option_variable(row, name));

		if (value && !is_set(options, row->name) &&
		    option_is_for(row, command, SOURCE_ENVIRONMENT) &&
		    options_set(options, row, value, origin, command, err))
			return -1;
	}
	return 0;
}

/* ---- Configuration files ---- */

static char *trim(char *text)
{
	size_t length;

	text += strspn(text, BLANKS);
	length = strlen(text);
	while (length > 0 && strchr(BLANKS, text[length - 1]))
		length--;
	text[length] = '\0';
	return text;
}

/* row: an option that files cannot set, or NULL. */
static int refuse_key(const struct origin *origin, const char *key, const struct option_row *row,
		      struct error *err)
{
	char shown[SHORT_MAX_BYTES], said[NEAREST_SAID_BYTES], cause[sizeof(err->text)];
	struct nearest nearest;

	nearest_begin(&nearest, key);
	for (const struct option_row *other = option_rows; other->name; other++)
		if (other->sources & SOURCE_FILE)
			nearest_try(&nearest, other->name);
	shorten_word(shown, key); /* "password: SECRET=" is a key, too */
	if (row)
		snprintf(cause, sizeof(cause), "a file cannot set --%s", row->name);
	else
		snprintf(cause, sizeof(cause), "there is no key '%s'%s", shown,
			 nearest_say(said, &nearest, ""));
	return options_refuse(row, origin, cause, err);
}

/* Another source may go first, and then nobody else reads this URL. The message names file and
 * line, where the URL can be seen. */
static int check_url(const struct option_row *row, const struct origin *origin, const char *url,
		     struct error *err)
{
	char cause[sizeof(err->text)];
	struct server server;
	const char *words;

	if (server_parse(&server, url, err) == 0) {
		server_free(&server);
		return 0;
	}
	words = strstr(err->text, "': ");
	if (err->status != STATUS_CONFIG || !words)
		return -1;
	snprintf(cause, sizeof(cause), "url: %s", words + strlen("': "));
	return options_refuse(row, origin, cause, err);
}

/* Sets an option if the command has it, and no source that goes first has set it. Of two lines of
 * a file the last one counts. */
static int set_key(struct options *options, unsigned command, const struct origin *origin,
		   const char *key, const char *value, struct error *err)
{
	const struct option_row *row = option_named(key);
	bool counts;

	if (!row || !(row->sources & SOURCE_FILE))
		return refuse_key(origin, key, row, err);
	if (row->kind == OPTION_URL && *value && check_url(row, origin, value, err))
		return -1;
	/* the variable may be that of a wrap around us */
	if (row->kind == OPTION_URL && is_flag(options, "config") &&
	    options_origin(options, key)->source == SOURCE_ENVIRONMENT &&
	    strcmp(options->url, value) != 0)
		complain("cannot use the url of --config: FAIRLOCK_URL goes before it");
	counts = option_is_for(row, command, SOURCE_FILE) &&
		 (!is_set(options, key) || options_origin(options, key)->path == origin->path);
	return options_set(counts ? options : NULL, row, value, *origin, command, err);
}

static int read_line(struct options *options, unsigned command, const struct origin *origin,
		     char *text, size_t length, struct error *err)
{
	char *equals;

	for (size_t i = 0; i < length; i++)
		if (((unsigned char)text[i] < ' ' && !(text[i] && strchr(BLANKS, text[i]))) ||
		    text[i] == 0x7f)
			return options_refuse(NULL, origin, "the line has a control character",
					      err);
	text = trim(text);
	if (*text == '#' || *text == '\0')
		return 0;
	equals = strchr(text, '=');
	if (!equals)
		return options_refuse(NULL, origin, "the line is not 'key = value'", err);
	*equals = '\0';
	return set_key(options, command, origin, trim(text), trim(equals + 1), err);
}

/* is_usual: the file may be missing. path must live as long as *settings. */
static int read_config(struct settings *settings, unsigned command, const char *path, bool is_usual,
		       struct error *err)
{
	struct origin origin = {.source = SOURCE_FILE, .path = path};
	static char content[FILE_MAX_BYTES + 1]; /* most of it never touched */
	const ssize_t length = read_file(path, content, sizeof(content));
	char *text, *end;

	if (length < 0 && is_usual && (errno == ENOENT || errno == ENOTDIR))
		return 0;
	if (length < 0 || length > FILE_MAX_BYTES)
		return fail_about(err, STATUS_CONFIG, "read", path,
				  length < 0 ? strerror(errno) : "it is longer than 65536 bytes");
	text = malloc((size_t)length + 1);
	if (!text)
		return no_memory(err);
	keep(settings, text);
	end = mempcpy(text, content, (size_t)length);
	if (length >= 3 && memcmp(text, BYTE_ORDER_MARK, 3) == 0)
		text += 3;
	while (text < end) {
		char *newline = memchr(text, '\n', (size_t)(end - text));
		char *stop = newline ? newline : end;

		*stop = '\0';
		origin.line++;
		if (read_line(&settings->options, command, &origin, text, (size_t)(stop - text),
			      err))
			return -1;
		text = stop + 1;
	}
	return 0;
}

static int read_user_file(struct settings *settings, unsigned command, struct error *err)
{
	const char *home = get_variable("HOME");
	char *path, cause[80];

	/* most users are spared a look-up in the password database, which takes longer than all
	 * the rest of this file */
	if (!home)
		home = getent_home(getuid());
	if (!home)
		return 0;
	if (asprintf(&path, "%s/" USER_FILE, home) < 0)
		return no_memory(err);
	keep(settings, path);
	if (read_config(settings, command, path, true, err) == 0)
		return 0;
	/* sudo and su may leave HOME as it was */
	if (access(path, R_OK) < 0 && errno == EACCES && get_variable("HOME")) {
		snprintf(cause, sizeof(cause), "%s; is HOME that of another user?",
			 strerror(EACCES));
		fail_about(err, STATUS_CONFIG, "read", path, cause);
	}
	return -1;
}

static int read_files(struct settings *settings, unsigned command, struct error *err)
{
	if (settings->options.config)
		return read_config(settings, command, settings->options.config, false, err);
	if (read_user_file(settings, command, err))
		return -1;
	return read_config(settings, command, SYSTEM_FILE, true, err);
}

/* ---- Passwords ---- */

/* How far away the source of an option is; INT_MAX: it is not set. */
static int distance(const struct options *options, const char *name)
{
	const struct origin *origin = options_origin(options, name);

	if (origin->source == SOURCE_FILE && strcmp(origin->path, SYSTEM_FILE) == 0)
		return SOURCE_FILE + 1;
	return origin->source ? (int)origin->source : INT_MAX;
}

/* For messages: a path may be long. */
static const char *show_where(char shown[SHORT_MAX_BYTES], const struct options *options,
			      const char *name)
{
	char where[WHERE_MAX_BYTES];

	return shorten_middle(shown, SHORT_CHARACTERS, options_where(options, name, where));
}

static int copy(const char *text, char **value, struct error *err)
{
	*value = strdup(text);
	return *value ? 0 : no_memory(err);
}

/* COMMAND may look for the same file from another working directory; a keeper does so from /. Links
 * stay in the path, because they may change. */
static int make_absolute(struct settings *settings, const char **path, struct error *err)
{
	char folder[PATH_MAX], *absolute;

	if (!*path || **path == '/')
		return 0;
	if (!getcwd(folder, sizeof(folder)))
		return fail_about(err, STATUS_CONFIG, "use", *path,
				  "the working directory is gone");
	if (asprintf(&absolute, "%s/%s", folder, *path) < 0)
		return no_memory(err);
	keep(settings, absolute);
	*path = absolute;
	return 0;
}

/* A regular file is read again for each connection: *kept is its path. */
static int read_password_file(struct settings *settings, const char *path, char **password,
			      const char **kept, struct error *err)
{
	char text[PASSWORD_MAX_BYTES + 2];
	const char *fault = password_read(path, text);
	struct stat status;
	int failed;

	if (fault)
		return fail_about(err, STATUS_CONFIG, "read password file", path, fault);
	failed = copy(text, password, err);
	explicit_bzero(text, sizeof(text));
	if (failed || stat(path, &status) < 0 || !S_ISREG(status.st_mode))
		return failed;
	*kept = path;
	return make_absolute(settings, kept, err);
}

/* Returns the option that has the password, SHARED, or NULL. A password counts that is as near as
 * the URL, or nearer: one from farther away is for another server. */
static const char *choose_password(const struct settings *settings, const char *shared)
{
	const struct options *options = &settings->options;
	const int url = distance(options, "url"), text = distance(options, "password"),
		  file = distance(options, "password-file");

	if (text <= url && text <= file)
		return "password";
	if (file <= url)
		return "password-file";
	if (settings->server.password)
		return "url";
	return shared && url >= SOURCE_ENVIRONMENT ? SHARED : NULL;
}

static int find_password(struct settings *settings, struct error *err)
{
	struct options *options = &settings->options;
	struct server *server = &settings->server;
	const char *shared = get_variable(SHARED), *name, *fault;
	char from[SHORT_MAX_BYTES] = SHARED, *own = server->password;
	int failed = 0;

	server->password_words = settings->password_words;
	if (server->kind == SERVER_LOCAL)
		return 0;
	name = options->password_from = choose_password(settings, shared);
	if (!name) {
		snprintf(settings->password_words, PASSWORD_WORDS_BYTES,
			 "a password: %s--password-file",
			 distance(options, "url") == SOURCE_FLAG ? "" : "FAIRLOCK_PASSWORD or ");
		return 0;
	}
	if (strcmp(name, SHARED) != 0)
		show_where(from, options, name);
	if (strcmp(name, "password-file") == 0)
		failed = read_password_file(settings, options->password_file, &server->password,
					    &server->password_file, err);
	else if (strcmp(name, "url") != 0)
		failed = copy(strcmp(name, "password") == 0 ? options->password : shared,
			      &server->password, err);
	if (server->password != own)
		free(own);
	if (failed)
		return -1;
	fault = password_fault(server->password);
	snprintf(settings->password_words, PASSWORD_WORDS_BYTES,
		 fault ? "%s, which %s" : "this user, or the password from %s", from, fault);
	return 0;
}

static int find_sentinel_password(struct settings *settings, struct error *err)
{
	const struct options *options = &settings->options;
	struct server *server = &settings->server;

	if (server->kind != SERVER_SENTINEL ||
	    distance(options, "sentinel-password-file") > distance(options, "url"))
		return 0;
	server->sentinel_from =
		show_where(settings->sentinel_from, options, "sentinel-password-file");
	server->sentinel_user = options->sentinel_user;
	return read_password_file(settings, options->sentinel_password_file,
				  &server->sentinel_password, &server->sentinel_password_file, err);
}

/* ---- Options that depend on each other ---- */

static int refuse(const struct options *options, const char *name, const char *cause,
		  struct error *err)
{
	return options_refuse(option_named(name), options_origin(options, name), cause, err);
}

/* Options that have no effect without others. A default for all jobs may have none, but for one of
 * the server's. */
static const struct {
	char name[16];
	unsigned commands;
	char needed[24], or_needed[8];
} needs[] = {
	{"token", COMMAND_RELEASE, "force", ""},
	{"wait", COMMAND_RELEASE, "stop", ""},
	{"slot", COMMAND_RELEASE, "stop", "force"},
	{"max-hold", COMMAND_ACQUIRE, "while-pid", ""},
	{"tls-key", COMMAND_ALL, "tls-cert", ""},
	{"sentinel-user", COMMAND_ALL, "sentinel-password-file", ""},
};

static int check_needs(const struct options *options, unsigned command, struct error *err)
{
	char cause[64];

	for (size_t i = 0; i < sizeof(needs) / sizeof(needs[0]); i++) {
		const char *name = needs[i].name, *other = needs[i].or_needed;
		const bool counts = needs[i].commands == COMMAND_ALL ? is_set(options, name)
								     : is_flag(options, name);

		if (!(needs[i].commands & command) || !counts || is_set(options, needs[i].needed) ||
		    (*other && is_set(options, other)))
			continue;
		snprintf(cause, sizeof(cause), "it needs --%s%s%s, too", needs[i].needed,
			 *other ? " or --" : "", other);
		return refuse(options, name, cause, err);
	}
	return 0;
}

/* Options that exclude others on the command line. */
static const struct {
	char name[12], excluded[8][20];
} exclusions[] = {
	{"json", {"raw"}},
	{"shared", {"slots"}},
	{"also", {"slots", "shared", "once-per", "once-ok", "supersede"}},
	{"slot", {"owner"}},
	{"once-ok", {"once-per"}},
	{"forget-run", {"force", "owner"}},
	{"skip", {"wait", "conflict-exit-code"}},
	{"supersede", {"no-wait", "skip", "slots", "shared"}},
	{"stop", {"force", "token", "forget-run"}},
	/* The format is fixed. */
	{"acl", {"json", "quiet"}},
	{"prometheus", {"watch", "json", "raw", "noheadings", "output", "quiet", "sort"}},
	/* A screen is for people, and has no end. */
	{"watch", {"json", "raw", "remove"}},
	/* Figures and drawings have no columns, and an end. */
	{"plot", {"stats", "json", "follow", "raw", "noheadings", "output", "sort", "lines"}},
	{"stats", {"follow", "raw", "noheadings", "output", "sort", "lines"}},
	/* Lines that come later cannot stand before those that were printed. */
	{"follow", {"sort"}},
};

static int check_exclusions(const struct options *options, struct error *err)
{
	char cause[64];

	for (size_t i = 0; i < sizeof(exclusions) / sizeof(exclusions[0]); i++) {
		const char *name = exclusions[i].name, (*excluded)[20] = exclusions[i].excluded;

		for (size_t k = 0; is_flag(options, name) && k < 8 && *excluded[k]; k++) {
			if (!is_flag(options, excluded[k]))
				continue;
			snprintf(cause, sizeof(cause), "it does not go with --%s", name);
			return refuse(options, excluded[k], cause, err);
		}
	}
	if (is_flag(options, "no-wait") && is_flag(options, "wait") && options->wait_ms > 0)
		return refuse(options, "wait", "it does not go with --no-wait", err);
	return 0;
}

/* --once-per may be a default, and then --once-ok and --also cannot do what it asks for. */
static int check_once_per(const struct options *options, struct error *err)
{
	const bool is_also = options->also[0] != NULL;
	char where[WHERE_MAX_BYTES], cause[WHERE_MAX_BYTES + 48];

	if (!options->once_per_ms || (!is_also && !options->once_ok_ms))
		return 0;
	snprintf(cause, sizeof(cause), "it does not go with the once-per of %s",
		 options_where(options, "once-per", where));
	return fail_about(err, STATUS_USAGE, "use", is_also ? "--also" : "--once-ok", cause);
}

static int check_together(const struct options *options, const struct command *command,
			  struct error *err)
{
	const int64_t lease_ms = options->lease_ms ? options->lease_ms : DEFAULT_LEASE_MS;

	if (check_needs(options, command->bit, err) || check_exclusions(options, err) ||
	    check_once_per(options, err))
		return -1;
	if (is_flag(options, "max-hold") && is_flag(options, "min-hold") &&
	    options->max_hold_ms < options->min_hold_ms)
		return refuse(options, "max-hold", "it is less than --min-hold", err);
	if (options->supersede && options->no_wait)
		return refuse(options, "supersede", "it does not go with --wait 0", err);
	if (command->bit == COMMAND_WRAP && options->kill_after_ms > lease_ms / 3)
		return refuse(options, "kill-after", "it is more than a third of the lease", err);
	if (options->while_pid && options->lease_ms > RENEWED_LEASE_MAX_MS)
		return refuse(options, "lease", "it is at most 1d with --while-pid", err);
	return 0;
}

int options_settle(struct options *options, const struct command *command, struct error *err)
{
	const char *ci = getenv("CI");

	/* a job of CI that prints nothing looks as if it hung */
	if (!options->report_ms && ci && strcmp(ci, "true") == 0)
		options->report_ms = CI_REPORT_MS;
	if (options->skip) {
		options->no_wait = options->quiet = true;
		options->conflict_status = STATUS_OK;
	}
	if (options->wait_ms == 0)
		options->no_wait = true;
	return check_together(options, command, err);
}

/* ---- All of it ---- */

static int find_tls_files(struct settings *settings, struct error *err)
{
	struct tls_files *files = &settings->server.tls_files;
	const char **const paths[] = {&files->ca, &files->cert, &files->key};

	if (!settings->server.tls)
		return 0;
	*files = settings->options.tls_files;
	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++)
		if (make_absolute(settings, paths[i], err))
			return -1;
	return 0;
}

void settings_init(struct settings *settings)
{
	*settings = (struct settings){
		.options =
			{
				.connect_timeout_ms = 5000,
				.wait_ms = -1,
				.conflict_status = STATUS_NOT_OBTAINED,
				.max_queue = -1,
				.signal = SIGTERM,
				.kill_after_ms = -1,
				.token = -1,
				.lines = -1,
			},
	};
}

int settings_merge(struct settings *settings, const struct command *command, struct error *err)
{
	struct options *options = &settings->options;
	const struct tls_files *files = &options->tls_files;
	const unsigned bit =
		command->shows_options ? (unsigned)COMMAND_ALL : (unsigned)command->bit;

	options->tls_is_flag = files->ca || files->cert || files->key || files->insecure;
	if (read_environment(options, bit, err) || read_files(settings, bit, err) ||
	    options_settle(options, command, err))
		return -1;
	options->url_is_flag |=
		is_flag(options, "config") && options_origin(options, "url")->source == SOURCE_FILE;
	if (server_parse(&settings->server, options->url ? options->url : "local:", err) ||
	    find_tls_files(settings, err) || find_password(settings, err))
		return -1;
	return find_sentinel_password(settings, err);
}

void settings_free(struct settings *settings)
{
	server_free(&settings->server);
	free(settings->options.url_copy);
	for (size_t i = 0; i < sizeof(settings->owned) / sizeof(settings->owned[0]); i++)
		free(settings->owned[i]);
}
