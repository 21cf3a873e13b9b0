/* Reads the sources in turn. The first that sets an option counts. */
#include "cli/settings.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/getent.h"
#include "base/read_file.h"
#include "base/shorten.h"
#include "cli/command.h"
#include "cli/guess.h"
#include "cli/options.h"
#include "redis/password.h"
#include "redis/server_url.h"

#define FILE_MAX_BYTES 65536
#define BYTE_ORDER_MARK "\xef\xbb\xbf" /* some editors write it; it says nothing */
#define LINE_MAX_BYTES 4096

/* One line of a configuration file. */
struct config_line {
	struct origin origin;
	char *text;
};

static int refuse_line(const struct config_line *line, struct error *err, const char *cause)
{
	char where[PATH_MAX + 16];

	snprintf(where, sizeof(where), "%.*s:%u", PATH_MAX, line->origin.path, line->origin.line);
	return fail_about(err, STATUS_CONFIG, "read", where, cause);
}

static char *trim(char *text)
{
	char *end;

	text += strspn(text, " \t\r");
	end = text + strlen(text);
	while (end > text && strchr(" \t\r", end[-1]))
		end--;
	*end = '\0';
	return text;
}

/* If the key is an option that files cannot set, the message says so: it is not misspelled. */
static int refuse_key(const struct config_line *line, const char *key, const struct option_row *row,
		      struct error *err)
{
	char shown[SHORT_MAX_BYTES], cause[SHORT_MAX_BYTES + 80];
	const struct option_row *other;
	struct nearest nearest;

	nearest_begin(&nearest, key);
	for (size_t i = 0; (other = option_at(i)) != NULL; i++)
		if (other->sources & SOURCE_FILE)
			nearest_try(&nearest, other->name);
	shorten_word(shown, key); /* "password: SECRET=" is a key, too */
	if (row)
		snprintf(cause, sizeof(cause), "a file cannot set --%s", row->name);
	else if (*nearest.best)
		snprintf(cause, sizeof(cause), "there is no key '%s', did you mean %s?", shown,
			 nearest.best);
	else
		snprintf(cause, sizeof(cause), "there is no key '%s'", shown);
	return refuse_line(line, err, cause);
}

/* Passwords and names of users may have quotes. */
static bool is_quoted(const struct option_row *row, const char *value)
{
	const size_t length = strlen(value);

	return row->kind != OPTION_TEXT && length > 1 && strchr("'\"", *value) &&
	       value[length - 1] == *value;
}

/* A comment behind a value would be part of it. Texts and paths may have a #. */
static bool has_comment(const struct option_row *row, const char *value)
{
	return row->kind != OPTION_TEXT && row->kind != OPTION_FILE && row->kind != OPTION_REASON &&
	       (*value == '#' || strstr(value, " #") || strstr(value, "\t#"));
}

/* Another source may go first, and then nobody else reads this URL. The message names file and
 * line, where the URL can be seen. */
static int check_url(const struct config_line *line, const char *url, struct error *err)
{
	struct server server;
	struct error whole;
	char cause[sizeof(whole.text)];
	const char *words;

	if (server_parse(&server, url, &whole) == 0) {
		server_free(&server);
		return 0;
	}
	words = strstr(whole.text, "': ");
	if (whole.status != STATUS_CONFIG || !words) {
		*err = whole;
		return -1;
	}
	snprintf(cause, sizeof(cause), "url: %s", words + strlen("': "));
	return refuse_line(line, err, cause);
}

/* Cuts "key = value" in two. Sets both to "" for an empty line or a comment. */
static int split_line(const struct config_line *line, char **key, char **value, struct error *err)
{
	const size_t length = strlen(line->text);
	char *equals;

	if (length > LINE_MAX_BYTES)
		return refuse_line(line, err, "the line is longer than 4096 bytes");
	for (size_t i = 0; i < length; i++) {
		const unsigned char c = (unsigned char)line->text[i];

		if ((c < ' ' && c != '\t' && c != '\r') || c == 0x7f)
			return refuse_line(line, err, "the line has a control character");
	}
	*key = trim(line->text);
	*value = *key + strlen(*key);
	if (**key == '#' || **key == '\0') {
		*key = *value;
		return 0;
	}
	equals = strchr(*key, '=');
	if (equals == NULL)
		return refuse_line(line, err, "the line is not 'key = value'");
	*equals = '\0';
	*value = trim(equals + 1);
	*key = trim(*key);
	return 0;
}

/* Checks a line, and sets its option if the command has it and no source that goes first has set
 * it. */
static int read_line(struct options *options, const struct options *before, unsigned command,
		     const struct config_line *line, struct error *err)
{
	const struct option_row *row;
	char *key = line->text, *value = line->text, cause[VALUE_CAUSE_MAX_BYTES];
	bool counts;

	if (split_line(line, &key, &value, err))
		return -1;
	if (*key == '\0' && *value == '\0')
		return 0;
	row = option_named(key);
	if (row == NULL || !(row->sources & SOURCE_FILE))
		return refuse_key(line, key, row, err);
	if (is_quoted(row, value)) {
		snprintf(cause, sizeof(cause), "the value of %s takes no quotes", key);
		return refuse_line(line, err, cause);
	}
	if (has_comment(row, value)) {
		snprintf(cause, sizeof(cause),
			 "the value of %s takes no comment: give it a line of its own", key);
		return refuse_line(line, err, cause);
	}
	if (row->kind == OPTION_URL && *value && check_url(line, value, err))
		return -1;
	counts = options_takes(before, row, command, SOURCE_FILE);
	if (options_set(counts ? options : NULL, row, value, line->origin, command))
		return refuse_line(line, err, options_refuse(cause, row, value, command));
	return 0;
}

/* text ends with a NUL behind length. */
static int read_lines(struct options *options, unsigned command, const char *path, char *text,
		      size_t length, struct error *err)
{
	/* so that the last line about an option counts */
	const struct options before = *options;
	const bool has_mark = length >= 3 && memcmp(text, BYTE_ORDER_MARK, 3) == 0;
	struct config_line line = {{SOURCE_FILE, path, 0}, text + (has_mark ? 3 : 0)};
	char *end = text + length;

	while (line.text < end) {
		char *newline = memchr(line.text, '\n', (size_t)(end - line.text));
		char *stop = newline ? newline : end;

		*stop = '\0';
		line.origin.line++;
		if (line.text + strlen(line.text) < stop)
			return refuse_line(&line, err, "the line has a control character");
		if (read_line(options, &before, command, &line, err))
			return -1;
		line.text = stop + 1;
	}
	return 0;
}

/* Why an empty file, or one that cannot be read, is no configuration; NULL: it is an empty one. */
static const char *find_fault(const char *path, ssize_t length)
{
	struct stat status;

	if (length < 0)
		return errno == ETIMEDOUT ? "no program wrote into it for 5 s" : strerror(errno);
	return length == 0 && stat(path, &status) == 0 && S_ISFIFO(status.st_mode)
		       ? "no program writes into this pipe"
		       : NULL;
}

/* Reads the file into *text, with the path behind it, and closes fd. Stands apart from
 * config_file_read so that the buffer takes stack only if there is a file, and not under those who
 * parse the lines: each page of it costs time. */
static ssize_t load(int fd, const char *path, char **text, struct error *err)
{
	char buffer[FILE_MAX_BYTES + 1];
	ssize_t length = read_file(fd, buffer, sizeof(buffer));
	const char *fault = length <= 0 ? find_fault(path, length) : NULL;

	if (fault)
		return fail_about(err, STATUS_CONFIG, "read", path, fault);
	if (length > FILE_MAX_BYTES)
		return fail_about(err, STATUS_CONFIG, "read", path,
				  "it is longer than 65536 bytes");
	*text = malloc((size_t)length + 1 + strlen(path) + 1);
	if (*text == NULL)
		return fail_about(err, STATUS_OS, "read", path, strerror(errno));
	memcpy(*text, buffer, (size_t)length);
	(*text)[length] = '\0';
	strcpy(*text + length + 1, path);
	return length;
}

static int config_file_read(struct options *options, unsigned command, const char *path,
			    bool may_miss, char **text, struct error *err)
{
	int fd = read_file_open_prompt(path);
	ssize_t length;

	if (fd < 0 && may_miss && (errno == ENOENT || errno == ENOTDIR))
		return 0;
	length = load(fd, path, text, err);
	if (length < 0 || !*text)
		return -1;
	/* the origins of options point to the path */
	return read_lines(options, command, *text + length + 1, *text, (size_t)length, err);
}

#define SYSTEM_FILE "/etc/fairlock.conf"
#define USER_FILE ".config/fairlock.conf"
#define VARIABLE_PREFIX "FAIRLOCK_"

const char *settings_variable(const struct option_row *row, char *name, size_t size)
{
	int length = snprintf(name, size, VARIABLE_PREFIX "%s", row->name);

	for (int i = 0; i < length; i++) {
		if (name[i] >= 'a' && name[i] <= 'z') /* whatever the locale */
			name[i] = (char)(name[i] - 'a' + 'A');
		else if (name[i] == '-')
			name[i] = '_';
	}
	return name;
}

/* Finds the row that an entry of the environment (NAME=VALUE, behind the prefix) may be for. It may
 * be the entry of another variable, such as FAIRLOCK_lease: read_variable looks for the right
 * one. */
static const struct option_row *find_variable(const char *entry)
{
	char name[sizeof(((struct option_row *)0)->name)] = "";

	for (size_t i = 0; i < sizeof(name) - 1 && entry[i] && entry[i] != '='; i++)
		name[i] = entry[i] == '_' ? '-' : (char)(entry[i] | 0x20);
	return option_named(name);
}

static const char *get_variable(const char *name)
{
	const char *value = getenv(name);

	return value && *value != '\0' ? value : NULL;
}

static int read_variable(struct options *options, const struct option_row *row, unsigned command,
			 struct error *err)
{
	char name[64], cause[VALUE_CAUSE_MAX_BYTES];
	const char *value = get_variable(settings_variable(row, name, sizeof(name)));

	if (!value)
		return 0;
	if (options_set(options, row, value, (struct origin){.source = SOURCE_ENVIRONMENT},
			command))
		return fail(err, STATUS_USAGE, "cannot use %s: %s", name,
			    options_refuse(cause, row, value, command));
	return 0;
}

/* Goes through the environment once, and not for each option, because most jobs set none there. */
static int read_environment(struct options *options, unsigned command, struct error *err)
{
	for (char **entry = environ; entry && *entry; entry++) {
		const struct option_row *row = NULL;

		if (strncmp(*entry, VARIABLE_PREFIX, strlen(VARIABLE_PREFIX)) == 0)
			row = find_variable(*entry + strlen(VARIABLE_PREFIX));
		if (row && options_takes(options, row, command, SOURCE_ENVIRONMENT) &&
		    read_variable(options, row, command, err))
			return -1;
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

/* sudo and su may leave HOME as it was. */
static int ask_whose_home(const char *path, struct error *err)
{
	char cause[80];

	if (access(path, R_OK) == 0 || errno != EACCES || !get_variable("HOME"))
		return -1;
	snprintf(cause, sizeof(cause), "%s; is HOME that of another user?", strerror(errno));
	return fail_about(err, STATUS_CONFIG, "read", path, cause);
}

static int read_files(struct settings *settings, unsigned command, struct error *err)
{
	struct options *options = &settings->options;
	const char *home;
	char path[PATH_MAX];

	if (options->config)
		return config_file_read(options, command, options->config, false,
					&settings->files[0], err);
	home = find_home();
	if (home && (size_t)snprintf(path, sizeof(path), "%s/" USER_FILE, home) < sizeof(path) &&
	    config_file_read(options, command, path, true, &settings->files[0], err))
		return ask_whose_home(path, err);
	return config_file_read(options, command, SYSTEM_FILE, true, &settings->files[1], err);
}

static int copy(const char *text, char **value, struct error *err)
{
	*value = strdup(text);
	return *value ? 0 : fail(err, STATUS_OS, "cannot copy a setting: out of memory");
}

/* COMMAND may look for the same file from another working directory; a keeper does so from /. Links
 * stay in the path, because they may change. */
static int make_absolute(const char **path, char **absolute, struct error *err)
{
	char folder[PATH_MAX];

	if (!*path || **path == '/')
		return 0;
	if (!getcwd(folder, sizeof(folder)))
		return fail_about(err, STATUS_CONFIG, "use", *path,
				  "the working directory is gone");
	if (asprintf(absolute, "%s/%s", folder, *path) < 0) {
		*absolute = NULL;
		return fail(err, STATUS_OS, "cannot copy a setting: out of memory");
	}
	*path = *absolute;
	return 0;
}

/* ---- Passwords ---- */

#define WHERE_MAX_BYTES 600
#define NOWHERE INT_MAX

/* How far away the source of an option is; NOWHERE: it is not set. */
static int distance(const struct options *options, const char *name)
{
	const struct origin *origin = options_origin(options, option_named(name));

	if (origin->source == SOURCE_FILE && strcmp(origin->path, SYSTEM_FILE) == 0)
		return SOURCE_FILE + 1;
	return origin->source ? (int)origin->source : NOWHERE;
}

/* For messages: a path may be long. */
static const char *show_where(char shown[SHORT_MAX_BYTES], const struct options *options,
			      const char *name)
{
	char where[WHERE_MAX_BYTES];

	settings_where(options, option_named(name), where, sizeof(where));
	return shorten_middle(shown, SHORT_CHARACTERS, where);
}

/* A regular file is read again for each connection: *kept is its path. */
static int read_password_file(const char *path, char **password, const char **kept, char **absolute,
			      struct error *err)
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
	return make_absolute(kept, absolute, err);
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
	struct options *options = &settings->options;
	struct server *server = &settings->server;
	const char *shared = get_variable("REDISCLI_AUTH"), *text = options->password;
	char from[SHORT_MAX_BYTES], *own = server->password;
	int failed = 0;

	server->password_words = settings->password_words;
	if (server->kind == SERVER_LOCAL)
		return 0;
	options->password_source = choose_password(settings, shared);
	switch (options->password_source) {
	case PASSWORD_NONE:
		tell_missing(settings->password_words, options, shared);
		return 0;
	case PASSWORD_URL:
		show_where(from, options, "url");
		break;
	case PASSWORD_FILE:
		show_where(from, options, "password-file");
		failed = read_password_file(options->password_file, &server->password,
					    &server->password_file, &settings->paths[3], err);
		break;
	case PASSWORD_SHARED:
		text = shared;
		strcpy(from, "REDISCLI_AUTH");
		failed = copy(text, &server->password, err);
		break;
	case PASSWORD_TEXT:
		show_where(from, options, "password");
		failed = copy(text, &server->password, err);
		break;
	}
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
	return read_password_file(options->sentinel_password_file, &server->sentinel_password,
				  &server->sentinel_password_file, &settings->paths[4], err);
}

/* ---- Options that depend on each other ---- */

/* Refuses the value of an option because of what other options say. */
static int refuse(const struct options *options, const char *name, const char *cause,
		  struct error *err)
{
	const struct option_row *row = option_named(name);
	const bool in_file = options_origin(options, row)->source == SOURCE_FILE;
	char where[WHERE_MAX_BYTES], text[80];

	settings_where(options, row, where, sizeof(where));
	snprintf(text, sizeof(text), "%s %s", in_file ? name : "it", cause);
	return fail_about(err, in_file ? STATUS_CONFIG : STATUS_USAGE, in_file ? "read" : "use",
			  where, text);
}

/* Refuses an option that has no effect without another one, because the user means it to have
 * one. */
static int refuse_alone(const struct options *options, const char *name, const char *needed,
			struct error *err)
{
	const bool in_file = options_origin(options, option_named(name))->source == SOURCE_FILE;
	char cause[60];

	snprintf(cause, sizeof(cause), "needs %s%s, too", in_file ? "" : "--", needed);
	return refuse(options, name, cause, err);
}

/* On the command line parse_args refuses it. */
static int check_also(const struct options *options, struct error *err)
{
	char where[WHERE_MAX_BYTES], cause[WHERE_MAX_BYTES + 48];

	if (!options->also[0] || !options->once_per_ms)
		return 0;
	settings_where(options, option_named("once-per"), where, sizeof(where));
	snprintf(cause, sizeof(cause), "it does not go with the once-per of %s", where);
	return fail_about(err, STATUS_USAGE, "use", "--also", cause);
}

static int check_pairs(const struct options *options, struct error *err)
{
	if (options->tls_files.key && !options->tls_files.cert)
		return refuse_alone(options, "tls-key", "tls-cert", err);
	if (options->sentinel_user && !options->sentinel_password_file)
		return refuse_alone(options, "sentinel-user", "sentinel-password-file", err);
	if (options->while_pid && options->lease_ms > RENEWED_LEASE_MAX_MS)
		return refuse(options, "lease", "is at most 1d with --while-pid", err);
	return check_also(options, err);
}

static int find_tls_files(struct settings *settings, struct error *err)
{
	struct tls_files *files = &settings->server.tls_files;
	const char **paths[] = {&files->ca, &files->cert, &files->key};

	if (!settings->server.tls)
		return 0;
	*files = settings->options.tls_files;
	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++)
		if (make_absolute(paths[i], &settings->paths[i], err))
			return -1;
	return 0;
}

static bool has_tls_files(const struct tls_files *files)
{
	return files->ca || files->cert || files->key || files->insecure;
}

void settings_init(struct settings *settings)
{
	memset(settings, 0, sizeof(*settings));
	options_init(&settings->options);
}

int settings_merge(struct settings *settings, const struct command *command, struct error *err)
{
	struct options *options = &settings->options;
	const unsigned bit =
		command->shows_options ? (unsigned)COMMAND_ALL : (unsigned)command->bit;

	options->tls_is_flag = has_tls_files(&options->tls_files);
	if (read_environment(options, bit, err) || read_files(settings, bit, err) ||
	    options_settle(options, command, err) || check_pairs(options, err))
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
	for (size_t i = 0; i < sizeof(settings->files) / sizeof(settings->files[0]); i++)
		free(settings->files[i]);
	for (size_t i = 0; i < sizeof(settings->paths) / sizeof(settings->paths[0]); i++)
		free(settings->paths[i]);
}
