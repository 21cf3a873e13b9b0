/* Cuts a file into lines, and lines into keys and values, in place. */
#include "cli/config_file.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/read_file.h"
#include "base/shorten.h"
#include "cli/nearest.h"
#include "cli/options.h"
#include "redis/server.h"

#define FILE_MAX_BYTES 65536
#define BYTE_ORDER_MARK "\xef\xbb\xbf" /* some editors write it; it says nothing */
#define LINE_MAX_BYTES 4096
#define WHERE_MAX_BYTES (PATH_MAX + 16)

/* One line of a configuration file. */
struct config_line {
	struct origin origin;
	char *text;
};

static int refuse(const struct config_line *line, struct error *err, const char *cause)
{
	char where[WHERE_MAX_BYTES];

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
	return refuse(line, err, cause);
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
	return refuse(line, err, cause);
}

/* Cuts "key = value" in two. Sets both to "" for an empty line or a comment. */
static int split_line(const struct config_line *line, char **key, char **value, struct error *err)
{
	const size_t length = strlen(line->text);
	char *equals;

	if (length > LINE_MAX_BYTES)
		return refuse(line, err, "the line is longer than 4096 bytes");
	for (size_t i = 0; i < length; i++) {
		const unsigned char c = (unsigned char)line->text[i];

		if ((c < ' ' && c != '\t' && c != '\r') || c == 0x7f)
			return refuse(line, err, "the line has a control character");
	}
	*key = trim(line->text);
	*value = *key + strlen(*key);
	if (**key == '#' || **key == '\0') {
		*key = *value;
		return 0;
	}
	equals = strchr(*key, '=');
	if (equals == NULL)
		return refuse(line, err, "the line is not 'key = value'");
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
		return refuse(line, err, cause);
	}
	if (has_comment(row, value)) {
		snprintf(cause, sizeof(cause),
			 "the value of %s takes no comment: give it a line of its own", key);
		return refuse(line, err, cause);
	}
	if (row->kind == OPTION_URL && *value && check_url(line, value, err))
		return -1;
	counts = options_takes(before, row, command, SOURCE_FILE);
	if (options_set(counts ? options : NULL, row, value, line->origin, command))
		return refuse(line, err, options_refuse(cause, row, value, command));
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
			return refuse(&line, err, "the line has a control character");
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

int config_file_read(struct options *options, unsigned command, const char *path, bool may_miss,
		     char **text, struct error *err)
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
