/* Reads the sources in turn. The first that sets an option counts. */
#include "cli/settings.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/descriptors.h"
#include "base/getent.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/guess.h"
#include "redis/password.h"

#define SYSTEM_FILE "/etc/fairlock.conf"
#define USER_FILE ".config/fairlock.conf"
#define VARIABLE_PREFIX "FAIRLOCK_"

#define FILE_MAX_BYTES 65536
#define LINE_MAX_BYTES 4096
#define BYTE_ORDER_MARK "\xef\xbb\xbf" /* some editors write it; it says nothing */
#define BLANKS " \t\r"
#define WHERE_MAX_BYTES 600
#define CI_REPORT_MS 60000

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

/* ---- The environment ---- */

const char *settings_variable(const struct option_row *row, char *name, size_t size)
{
	char *end = stpcpy(name, VARIABLE_PREFIX);

	assert(size > strlen(VARIABLE_PREFIX) + strlen(row->name));
	for (const char *c = row->name; *c; c++) /* small letters and dashes, whatever the locale */
		*end++ = *c == '-' ? '_' : (char)(*c - 'a' + 'A');
	*end = '\0';
	return name;
}

static const char *get_variable(const char *name)
{
	const char *value = getenv(name);

	return value && *value != '\0' ? value : NULL;
}

static int read_environment(struct options *options, unsigned command, struct error *err)
{
	const struct option_row *row;
	char name[64], cause[VALUE_CAUSE_MAX_BYTES];

	for (size_t i = 0; (row = option_at(i)) != NULL; i++) {
		if (options_has(options, row) || !option_is_for(row, command, SOURCE_ENVIRONMENT))
			continue;

		const char *value = get_variable(settings_variable(row, name, sizeof(name)));

		if (!value)
			continue;
		if (options_set(options, row, value, (struct origin){.source = SOURCE_ENVIRONMENT},
				command))
			return fail(err, STATUS_USAGE, "cannot use %s: %s", name,
				    options_refuse(cause, row, value, command));
	}
	return 0;
}

/* ---- Configuration files ---- */

__attribute__((format(printf, 3, 4))) static int refuse_line(const struct origin *origin,
							     struct error *err, const char *format,
							     ...)
{
	char where[PATH_MAX + 16], cause[sizeof(err->text)];
	va_list args;

	va_start(args, format);
	vsnprintf(cause, sizeof(cause), format, args);
	va_end(args);
	snprintf(where, sizeof(where), "%.*s:%u", PATH_MAX, origin->path, origin->line);
	return fail_about(err, STATUS_CONFIG, "read", where, cause);
}

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
	char shown[SHORT_MAX_BYTES];
	const struct option_row *other;
	struct nearest nearest;

	if (row)
		return refuse_line(origin, err, "a file cannot set --%s", row->name);
	nearest_begin(&nearest, key);
	for (size_t i = 0; (other = option_at(i)) != NULL; i++)
		if (other->sources & SOURCE_FILE)
			nearest_try(&nearest, other->name);
	/* "password: SECRET=" is a key, too */
	return refuse_line(origin, err, "there is no key '%s'%s%s%s", shorten_word(shown, key),
			   *nearest.best ? ", did you mean " : "", nearest.best,
			   *nearest.best ? "?" : "");
}

/* Another source may go first, and then nobody else reads this URL. The message names file and
 * line, where the URL can be seen. */
static int check_url(const struct origin *origin, const char *url, struct error *err)
{
	struct server server;
	struct error whole;
	const char *words;

	if (server_parse(&server, url, &whole) == 0) {
		server_free(&server);
		return 0;
	}
	words = strstr(whole.text, "': ");
	if (whole.status == STATUS_CONFIG && words)
		return refuse_line(origin, err, "url: %s", words + strlen("': "));
	*err = whole;
	return -1;
}

/* Refuses quotes around a value, and a comment behind it: they would be part of it. Passwords and
 * names of users may have both; other texts and paths may have a #. */
static int check_value(const struct origin *origin, const struct option_row *row, const char *value,
		       struct error *err)
{
	const size_t length = strlen(value);
	const bool is_text =
		row->kind == OPTION_TEXT || row->kind == OPTION_FILE || row->kind == OPTION_REASON;

	if (row->kind != OPTION_TEXT && length > 1 && strchr("'\"", *value) &&
	    value[length - 1] == *value)
		return refuse_line(origin, err, "the value of %s takes no quotes", row->name);
	if (!is_text && (*value == '#' || strstr(value, " #") || strstr(value, "\t#")))
		return refuse_line(origin, err,
				   "the value of %s takes no comment: give it a line of its own",
				   row->name);
	return row->kind == OPTION_URL && *value ? check_url(origin, value, err) : 0;
}

/* Sets an option if the command has it, and no source that goes first has set it. Of two lines of
 * a file the last one counts. */
static int set_key(struct options *options, unsigned command, const struct origin *origin,
		   const char *key, const char *value, struct error *err)
{
	const struct option_row *row = option_named(key);
	char cause[VALUE_CAUSE_MAX_BYTES];
	bool counts;

	if (!row || !(row->sources & SOURCE_FILE))
		return refuse_key(origin, key, row, err);
	if (check_value(origin, row, value, err))
		return -1;
	counts = option_is_for(row, command, SOURCE_FILE) &&
		 (!options_has(options, row) || options_origin(options, row)->path == origin->path);
	if (options_set(counts ? options : NULL, row, value, *origin, command))
		return refuse_line(origin, err, "%s", options_refuse(cause, row, value, command));
	return 0;
}

static int read_line(struct options *options, unsigned command, const struct origin *origin,
		     char *text, size_t length, struct error *err)
{
	char *equals;

	if (length > LINE_MAX_BYTES)
		return refuse_line(origin, err, "the line is longer than %d bytes", LINE_MAX_BYTES);
	for (size_t i = 0; i < length; i++)
		if (((unsigned char)text[i] < ' ' && !(text[i] && strchr(BLANKS, text[i]))) ||
		    text[i] == 0x7f)
			return refuse_line(origin, err, "the line has a control character");
	text = trim(text);
	if (*text == '#' || *text == '\0')
		return 0;
	equals = strchr(text, '=');
	if (!equals)
		return refuse_line(origin, err, "the line is not 'key = value'");
	*equals = '\0';
	return set_key(options, command, origin, trim(text), trim(equals + 1), err);
}

/* Reads a whole file, and closes it. Returns the number of bytes, or -1. */
static ssize_t load(char *text, const char *path, int fd, struct error *err)
{
	const ssize_t length = read_file(fd, text, FILE_MAX_BYTES + 1);
	struct stat status;

	if (length < 0)
		return fail_about(err, STATUS_CONFIG, "read", path,
				  errno == ETIMEDOUT ? "no program wrote into it for 5 s"
						     : strerror(errno));
	if (length > FILE_MAX_BYTES)
		return fail_about(err, STATUS_CONFIG, "read", path,
				  "it is longer than 65536 bytes");
	if (length == 0 && stat(path, &status) == 0 && S_ISFIFO(status.st_mode))
		return fail_about(err, STATUS_CONFIG, "read", path,
				  "no program writes into this pipe");
	return length;
}

/* is_usual: the file may be missing. path must live as long as *settings. */
static int read_config(struct settings *settings, unsigned command, const char *path, bool is_usual,
		       struct error *err)
{
	struct origin origin = {.source = SOURCE_FILE, .path = path};
	const int fd = read_file_open_prompt(path);
	char *text, *end;
	ssize_t length;

	if (fd < 0 && is_usual && (errno == ENOENT || errno == ENOTDIR))
		return 0;
	if (fd < 0)
		return fail_about(err, STATUS_CONFIG, "read", path, strerror(errno));
	text = malloc(FILE_MAX_BYTES + 1);
	if (!text)
		return no_memory(err);
	keep(settings, text);
	length = load(text, path, fd, err);
	if (length < 0)
		return -1;
	end = text + length;
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

/* $HOME spares most users a look-up in the password database, which takes longer than all the rest
 * of this file. */
static const char *find_home(void)
{
	const char *home = get_variable("HOME");

	return home ? home : getent_home(getuid());
}

static int read_user_file(struct settings *settings, unsigned command, struct error *err)
{
	const char *home = find_home();
	char *path, cause[80];

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
	return read_user_file(settings, command, err) ||
			       read_config(settings, command, SYSTEM_FILE, true, err)
		       ? -1
		       : 0;
}

/* ---- Passwords ---- */

/* How far away the source of an option is; INT_MAX: it is not set. */
static int distance(const struct options *options, const char *name)
{
	const struct origin *origin = options_origin(options, option_named(name));

	if (origin->source == SOURCE_FILE && strcmp(origin->path, SYSTEM_FILE) == 0)
		return SOURCE_FILE + 1;
	return origin->source ? (int)origin->source : INT_MAX;
}

/* For messages: a path may be long. */
static const char *show_where(char shown[SHORT_MAX_BYTES], const struct options *options,
			      const char *name)
{
	char where[WHERE_MAX_BYTES];

	settings_where(options, option_named(name), where, sizeof(where));
	return shorten_middle(shown, SHORT_CHARACTERS, where);
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
	const char *fault = password_read(read_file_open(path), text);
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

/* A password counts that is as near as the URL, or nearer: one from farther away is for another
 * server. */
static enum password_source choose_password(const struct settings *settings, const char *shared)
{
	const struct options *options = &settings->options;
	const int url = distance(options, "url"), text = distance(options, "password"),
		  file = distance(options, "password-file");

	if (text <= url && text <= file)
		return PASSWORD_TEXT;
	if (file <= url)
		return PASSWORD_FILE;
	if (settings->server.password)
		return PASSWORD_URL;
	return shared && url >= SOURCE_ENVIRONMENT ? PASSWORD_SHARED : PASSWORD_NONE;
}

static void tell_refused(char words[PASSWORD_WORDS_BYTES], const char *from, const char *password)
{
	const char *fault = password_fault(password);

	if (fault)
		snprintf(words, PASSWORD_WORDS_BYTES, "%s, which %s", from, fault);
	else
		snprintf(words, PASSWORD_WORDS_BYTES, "this user, or the password from %s", from);
}

/* There may be one that does not count. */
static void tell_missing(char words[PASSWORD_WORDS_BYTES], const struct options *options,
			 const char *shared)
{
	const bool is_text = distance(options, "password") <= distance(options, "password-file");
	const bool is_flag = distance(options, "url") == SOURCE_FLAG;
	char other[SHORT_MAX_BYTES], url[SHORT_MAX_BYTES];

	show_where(other, options, is_text ? "password" : "password-file");
	if (*other || shared)
		snprintf(words, PASSWORD_WORDS_BYTES, "a password: %s is not for %s; use %s",
			 *other ? other : "REDISCLI_AUTH", show_where(url, options, "url"),
			 is_flag ? "--password-file" : "FAIRLOCK_PASSWORD");
	else
		snprintf(words, PASSWORD_WORDS_BYTES, "a password: %s--password-file",
			 is_flag ? "" : "FAIRLOCK_PASSWORD or ");
}

static int find_password(struct settings *settings, struct error *err)
{
	static const char *const names[] = {[PASSWORD_URL] = "url",
					    [PASSWORD_TEXT] = "password",
					    [PASSWORD_FILE] = "password-file"};
	struct options *options = &settings->options;
	struct server *server = &settings->server;
	const char *shared = get_variable("REDISCLI_AUTH");
	char from[SHORT_MAX_BYTES] = "REDISCLI_AUTH", *own = server->password;
	enum password_source source;
	int failed = 0;

	server->password_words = settings->password_words;
	if (server->kind == SERVER_LOCAL)
		return 0;
	source = options->password_source = choose_password(settings, shared);
	if (source == PASSWORD_NONE) {
		tell_missing(settings->password_words, options, shared);
		return 0;
	}
	if (source != PASSWORD_SHARED)
		show_where(from, options, names[source]);
	if (source == PASSWORD_FILE)
		failed = read_password_file(settings, options->password_file, &server->password,
					    &server->password_file, err);
	else if (source != PASSWORD_URL)
		failed = copy(source == PASSWORD_TEXT ? options->password : shared,
			      &server->password, err);
	if (server->password != own)
		free(own);
	if (!failed)
		tell_refused(settings->password_words, from, server->password);
	return failed;
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
	if (options->sentinel_user && copy(options->sentinel_user, &server->sentinel_user, err))
		return -1;
	return read_password_file(settings, options->sentinel_password_file,
				  &server->sentinel_password, &server->sentinel_password_file, err);
}

/* ---- Options that depend on each other ---- */

/* Refuses the value of an option because of what other options say. needed: the option without
 * which it has no effect, because the user means it to have one; or NULL. */
static int refuse(const struct options *options, const char *name, const char *cause,
		  const char *needed, struct error *err)
{
	const struct option_row *row = option_named(name);
	const bool in_file = options_origin(options, row)->source == SOURCE_FILE;
	char where[WHERE_MAX_BYTES], text[80];

	settings_where(options, row, where, sizeof(where));
	snprintf(text, sizeof(text), "%s %s%s%s%s", in_file ? name : "it", cause,
		 needed && !in_file ? "--" : "", needed ? needed : "", needed ? ", too" : "");
	return fail_about(err, in_file ? STATUS_CONFIG : STATUS_USAGE, in_file ? "read" : "use",
			  where, text);
}

/* Refuses --once-ok and --also beside a --once-per that a variable or a file sets. On the command
 * line parse_args refuses them. */
static int check_once_per(const struct options *options, struct error *err)
{
	const struct option_row *row = option_named("once-per");
	char where[WHERE_MAX_BYTES], cause[WHERE_MAX_BYTES + 48];

	if (!options->once_per_ms)
		return 0;
	if (options->once_ok_ms)
		return fail(err, STATUS_USAGE,
			    "cannot use --once-ok: it does not go with --once-per, which %s sets",
			    options_origin(options, row)->source == SOURCE_FILE
				    ? "a configuration file"
				    : "the environment");
	if (!options->also[0])
		return 0;
	settings_where(options, row, where, sizeof(where));
	snprintf(cause, sizeof(cause), "it does not go with the once-per of %s", where);
	return fail_about(err, STATUS_USAGE, "use", "--also", cause);
}

int options_settle(struct options *options, const struct command *command, struct error *err)
{
	const int64_t lease_ms = options->lease_ms ? options->lease_ms : DEFAULT_LEASE_MS;
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
	if (options->supersede && options->no_wait)
		return fail(err, STATUS_USAGE,
			    "cannot use option '--supersede': it does not go with --wait 0");
	if (command->bit == COMMAND_WRAP && options->kill_after_ms > lease_ms / 3)
		return fail(
			err, STATUS_USAGE,
			"cannot use --kill-after: %g s is more than a third of the lease (%g s)",
			(double)options->kill_after_ms / 1000, (double)lease_ms / 1000);
	if (options->while_pid && options->lease_ms > RENEWED_LEASE_MAX_MS)
		return refuse(options, "lease", "is at most 1d with --while-pid", NULL, err);
	if (options->tls_files.key && !options->tls_files.cert)
		return refuse(options, "tls-key", "needs ", "tls-cert", err);
	if (options->sentinel_user && !options->sentinel_password_file)
		return refuse(options, "sentinel-user", "needs ", "sentinel-password-file", err);
	return check_once_per(options, err);
}

/* ---- All of it ---- */

static int find_tls_files(struct settings *settings, struct error *err)
{
	struct tls_files *files = &settings->server.tls_files;

	if (!settings->server.tls)
		return 0;
	*files = settings->options.tls_files;
	return make_absolute(settings, &files->ca, err) ||
			       make_absolute(settings, &files->cert, err) ||
			       make_absolute(settings, &files->key, err)
		       ? -1
		       : 0;
}

void settings_init(struct settings *settings)
{
	memset(settings, 0, sizeof(*settings));
	options_init(&settings->options);
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
	if (server_parse(&settings->server, options->url ? options->url : "local:", err) ||
	    find_tls_files(settings, err) || find_password(settings, err))
		return -1;
	return find_sentinel_password(settings, err);
}

const char *settings_where(const struct options *options, const struct option_row *row, char *text,
			   size_t size)
{
	const struct origin *origin = options_origin(options, row);

	text[0] = '\0';
	if (origin->source == SOURCE_FLAG)
		snprintf(text, size, "--%s", row->name);
	else if (origin->source == SOURCE_ENVIRONMENT)
		settings_variable(row, text, size);
	else if (origin->source == SOURCE_FILE)
		snprintf(text, size, "%.480s:%u", origin->path, origin->line);
	return text;
}

void settings_free(struct settings *settings)
{
	server_free(&settings->server);
	options_free(&settings->options);
	for (size_t i = 0; i < sizeof(settings->owned) / sizeof(settings->owned[0]); i++)
		free(settings->owned[i]);
}
