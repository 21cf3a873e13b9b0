/* Reads the sources in turn. The first that sets an option counts. */
#include "cli/settings.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/getent.h"
#include "base/shorten.h"
#include "cli/command.h"
#include "cli/config_file.h"
#include "cli/read_file.h"

#define SYSTEM_FILE "/etc/fairlock.conf"
#define USER_FILE ".config/fairlock.conf"
#define VARIABLE_PREFIX "FAIRLOCK_"
#define PASSWORD_MAX_BYTES 4096

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

/* The fault of the first line of a password file; NULL: nothing. */
static const char *find_fault(const char *text, size_t length, size_t line)
{
	if (line == 0)
		return "its first line is empty";
	if (line > PASSWORD_MAX_BYTES)
		return "its first line is longer than 4096 bytes";
	return line < length && text[line] == '\0' ? "its first line has a NUL byte" : NULL;
}

static int read_password_file(const char *path, char **password, struct error *err)
{
	char text[PASSWORD_MAX_BYTES + 2];
	const ssize_t length = read_file(read_file_open(path), text, sizeof(text) - 1);
	const char *fault = length < 0 ? strerror(errno) : NULL;
	size_t line = 0;
	int failed;

	if (!fault) {
		text[length] = '\0';
		line = strcspn(text, "\n");
		fault = find_fault(text, (size_t)length, line);
	}
	if (fault)
		return fail_about(err, STATUS_CONFIG, "read password file", path, fault);
	text[line] = '\0';
	failed = copy(text, password, err);
	explicit_bzero(text, sizeof(text));
	return failed;
}

static int find_password(struct server *server, struct options *options, bool file_is_flag,
			 struct error *err)
{
	const char *shared = get_variable("REDISCLI_AUTH");

	if (server->kind == SERVER_LOCAL)
		return 0;
	if (server->password) {
		options->password_source = PASSWORD_URL;
		return 0;
	}
	if (options->password && !file_is_flag) {
		options->password_source = PASSWORD_TEXT;
		server->password_from =
			options_origin(options, option_named("password"))->source == SOURCE_FILE
				? "a configuration file"
				: "FAIRLOCK_PASSWORD";
		return copy(options->password, &server->password, err);
	}
	if (options->password_file) {
		options->password_source = PASSWORD_FILE;
		server->password_from = "the password file";
		return read_password_file(options->password_file, &server->password, err);
	}
	if (!shared)
		return 0;
	options->password_source = PASSWORD_SHARED;
	server->password_from = "REDISCLI_AUTH";
	return copy(shared, &server->password, err);
}

static int find_sentinel_password(struct server *server, const struct options *options,
				  struct error *err)
{
	if (server->kind != SERVER_SENTINEL || !options->sentinel_password_file)
		return 0;
	if (options->sentinel_user && copy(options->sentinel_user, &server->sentinel_user, err))
		return -1;
	return read_password_file(options->sentinel_password_file, &server->sentinel_password, err);
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

#define WHERE_MAX_BYTES 600

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
		if (make_absolute(paths[i], &settings->tls_paths[i], err))
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
	const bool file_is_flag = options->password_file != NULL;

	options->tls_is_flag = has_tls_files(&options->tls_files);
	if (read_environment(options, bit, err) || read_files(settings, bit, err) ||
	    options_settle(options, command, err) || check_pairs(options, err))
		return -1;
	if (server_parse(&settings->server, options->url ? options->url : "local:", err) ||
	    find_tls_files(settings, err) ||
	    find_password(&settings->server, options, file_is_flag, err))
		return -1;
	return find_sentinel_password(&settings->server, options, err);
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
	for (size_t i = 0; i < sizeof(settings->tls_paths) / sizeof(settings->tls_paths[0]); i++)
		free(settings->tls_paths[i]);
}
