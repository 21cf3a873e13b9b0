/* Parses each form of URL by hand, so that no error quotes a password. */
#include "redis/server.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/descriptors.h"
#include "base/text.h"

#define SERVER_PORT 6379
#define SENTINEL_PORT 26379
#define SHOWN_MAX_BYTES 256

#define LETTERS "abcdefghijklmnopqrstuvwxyz"
#define CAPITALS "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
#define SCHEME_BYTES LETTERS DIGITS "+-."
#define HOST_BYTES LETTERS CAPITALS DIGITS "-._"
#define IPV6_BYTES HOST_BYTES ":%"

/* A URL in a shell command ends before one of these. */
#define BLANKS " \t\n'\""

#define BYTE_ORDER_MARK "\xef\xbb\xbf"

/* One URL on its way into *server. */
struct parse {
	const char *url;
	struct server *server;
	struct error *err;
};

/* Fails with the URL and the cause. A malformed URL may have its password anywhere between the
 * scheme and the last @, in a query, or (without an @) behind a colon that no slash follows: these
 * are not shown. */
static int refuse(struct parse *parse, const char *cause)
{
	const char *url = parse->url, *at = strrchr(url, '@');
	const size_t letters = strspn(url, SCHEME_BYTES);
	const size_t head = url[letters] == ':' ? letters + 1 : 0;
	const char *tail = at ? at : url + head;
	const size_t length = at || *tail == '/' || head == 0 ? strcspn(tail, at ? "?" : ":?") : 0;
	char text[SHOWN_MAX_BYTES], shown[SHORT_MAX_BYTES];

	snprintf(text, sizeof(text), "%.*s%s%.*s%s", (int)head, url, at ? "..." : "", (int)length,
		 tail, tail[length] != '\0' ? "..." : "");
	return fail(parse->err, STATUS_CONFIG, "cannot use URL '%s': %s",
		    shorten_middle(shown, SHORT_CHARACTERS, text), cause);
}

static int out_of_memory(struct parse *parse)
{
	return fail(parse->err, STATUS_OS, "cannot read the URL: %s", strerror(ENOMEM));
}

static int copy(struct parse *parse, const char *text, size_t length, char **value)
{
	*value = strndup(text, length);
	if (*value)
		return 0;
	out_of_memory(parse);
	return -1; /* said here, where the analyzer sees it */
}

/* Decodes percent escapes into a new string; an empty text becomes NULL. */
static int decode(struct parse *parse, const char *text, size_t length, char **value)
{
	char *out;

	free(*value);
	*value = NULL;
	if (length == 0)
		return 0;
	if (copy(parse, text, length, value))
		return -1;
	out = *value;
	for (const char *in = out; *in != '\0'; in++, out++) {
		long code = (unsigned char)*in;

		if (*in == '%') {
			code = isxdigit((unsigned char)in[1]) && isxdigit((unsigned char)in[2])
				       ? strtol((char[]){in[1], in[2], '\0'}, NULL, 16)
				       : 0;
			if (code == 0)
				return refuse(parse,
					      "a % needs two hexadecimal digits; write % as %25");
			in += 2;
		}
		*out = (char)code;
	}
	*out = '\0';
	return 0;
}

/* A number of digits only, at most max. */
static int parse_number(const char *text, size_t length, int max, int *value)
{
	int64_t number;

	if (length == 0 || length > 10 || number_parse(text, length, &number) || number > max)
		return -1;
	*value = (int)number;
	return 0;
}

static int parse_db(struct parse *parse, const char *text, size_t length)
{
	if (parse_number(text, length, INT_MAX, &parse->server->db))
		return refuse(parse, "the database is not a number");
	return 0;
}

/* Parses the part before the @. A word alone is refused: some programs take it for a user, others
 * for a password, and a password would be shown. */
static int parse_user(struct parse *parse, const char *text, size_t length)
{
	const char *colon = memchr(text, ':', length);
	size_t user_length;

	if (colon == NULL)
		return refuse(parse, "write USER:PASSWORD, USER: or :PASSWORD before the @");
	user_length = (size_t)(colon - text);
	if (decode(parse, text, user_length, &parse->server->user))
		return -1;
	return decode(parse, colon + 1, length - user_length - 1, &parse->server->password);
}

/* HOST, HOST:PORT, [IPV6] or [IPV6]:PORT. */
static int parse_seed(struct parse *parse, const char *text, size_t length)
{
	struct endpoint *seed = &parse->server->seeds[parse->server->seed_count];
	const bool bracket = text[0] == '[';
	const char *host = text + bracket, *end = text + length, *after;
	const size_t host_length = strspn(host, bracket ? IPV6_BYTES : HOST_BYTES);
	int port = parse->server->kind == SERVER_SENTINEL ? SENTINEL_PORT : SERVER_PORT;

	after = host + host_length;
	if (host_length == 0 || (bracket && !memchr(host, ':', host_length)) ||
	    (bracket && *after++ != ']') || (after < end && *after != ':'))
		return refuse(parse, "write each host as HOST, HOST:PORT or [IPV6]:PORT");
	if (after < end &&
	    (parse_number(after + 1, (size_t)(end - after - 1), 65535, &port) || port == 0))
		return refuse(parse, "the port is not a number from 1 to 65535");
	if (host_length >= sizeof(seed->host))
		return refuse(parse, "the host's name is too long");
	memcpy(seed->host, host, host_length);
	seed->host[host_length] = '\0';
	seed->port = (uint16_t)port;
	parse->server->seed_count++;
	return 0;
}

/* Sets *rest to what follows the hosts. */
static int parse_seeds(struct parse *parse, const char *text, const char **rest)
{
	const char *const end = text + strcspn(text, "/");
	size_t commas = 0, length;

	for (const char *at = text; at < end; at++)
		commas += *at == ',';
	*rest = end;
	parse->server->seeds = calloc(commas + 1, sizeof(struct endpoint));
	if (parse->server->seeds == NULL)
		return out_of_memory(parse);
	for (; text <= end; text += length + 1) {
		length = strcspn(text, ",/");
		if (parse_seed(parse, text, length))
			return -1;
	}
	return 0;
}

/* [[USER]:PASSWORD@]HOST[:PORT][,HOST[:PORT]...], for sentinels /MASTER, and [/DB]. */
static int parse_network(struct parse *parse, const char *text)
{
	const char *at = strrchr(text, '@'), *rest;
	size_t length;

	/* with a user at each host of a list, the last host alone would count */
	if (at && memchr(text, ',', (size_t)(at - text)))
		return refuse(
			parse,
			"write USER:PASSWORD@ once, before the first host, and %2C for a comma in it");
	if (at && parse_user(parse, text, (size_t)(at - text)))
		return -1;
	if (parse_seeds(parse, at ? at + 1 : text, &rest))
		return -1;
	if (parse->server->kind == SERVER_SENTINEL) {
		length = *rest ? strcspn(rest + 1, "/") : 0;
		if (length == 0)
			return refuse(parse, "add /MASTER, the name of the master");
		if (decode(parse, rest + 1, length, &parse->server->master))
			return -1;
		rest += 1 + length;
	}
	return *rest && rest[1] ? parse_db(parse, rest + 1, strlen(rest + 1)) : 0;
}

/* db=N&user=U, of a unix socket. */
static int parse_query(struct parse *parse, const char *text)
{
	for (;;) {
		size_t length = strcspn(text, "&");
		int failed;

		if (strncmp(text, "db=", 3) == 0)
			failed = parse_db(parse, text + 3, length - 3);
		else if (strncmp(text, "user=", 5) == 0)
			failed = decode(parse, text + 5, length - 5, &parse->server->user);
		else
			failed = refuse(parse, "only db=N and user=U may follow the ?");
		if (failed)
			return -1;
		if (text[length] == '\0')
			return 0;
		text += length + 1;
	}
}

/* Makes the path absolute: COMMAND may look for the same socket from another working directory. */
static int set_path(struct parse *parse, const char *text, size_t length)
{
	char folder[PATH_MAX], path[sizeof(((struct sockaddr_un *)0)->sun_path)];
	int written;

	if (text[0] == '/')
		written = snprintf(path, sizeof(path), "%.*s", (int)length, text);
	else if (getcwd(folder, sizeof(folder)))
		written = snprintf(path, sizeof(path), "%s/%.*s", folder, (int)length, text);
	else
		return refuse(parse, "the path is relative and the working directory is gone");
	if (written < 0 || (size_t)written >= sizeof(path))
		return refuse(parse, "the path is too long for a socket");
	if (password_fault(path)) /* somebody has pasted it, as with a URL */
		return refuse(parse, "the path ends with a blank or a line break");
	return copy(parse, path, (size_t)written, &parse->server->path);
}

/* unix://USER:PASSWORD@/PATH, as other programs have it. A path is shown. */
static bool has_password(const char *url)
{
	const char *slashes = strstr(url, "://");
	const char *user = slashes ? slashes + 3 : "";
	const size_t length = strcspn(user, "/?");
	const char *colon = memchr(user, ':', length);

	return colon && memchr(colon, '@', length - (size_t)(colon - user));
}

static int parse_unix(struct parse *parse, const char *text)
{
	const size_t length = strcspn(text, "?");

	if (length == 0)
		return refuse(parse, "the path of the socket is missing");
	if (*text == '~')
		return refuse(parse, "the shell does not expand ~ there; write the whole path");
	if (has_password(parse->url))
		return refuse(parse,
			      "a unix: URL has no place for a password; use --password-file");
	if (set_path(parse, text, length))
		return -1;
	return text[length] == '?' ? parse_query(parse, text + length + 1) : 0;
}

static const struct scheme {
	const char *prefix;
	enum server_kind kind;
	bool tls;
} schemes[] = {
	{"local:", SERVER_LOCAL, false},
	{"unix:", SERVER_UNIX, false},
	{"redis://", SERVER_TCP, false},
	{"rediss://", SERVER_TCP, true},
	{"redis+sentinel://", SERVER_SENTINEL, false},
	{"rediss+sentinel://", SERVER_SENTINEL, true},
	{"valkey://", SERVER_TCP, false},
	{"valkeys://", SERVER_TCP, true},
	{"valkey+sentinel://", SERVER_SENTINEL, false},
	{"valkeys+sentinel://", SERVER_SENTINEL, true},
};
#define SCHEMES (sizeof(schemes) / sizeof(schemes[0]))

/* The label is the URL as it was written, without its password, and with the whole path of a
 * socket: it leads to the same server. */
static int make_label(struct parse *parse, const char *scheme)
{
	const struct server *server = parse->server;
	const char *text = parse->url + strlen(scheme), *at = strrchr(text, '@');
	int length;

	if (server->kind == SERVER_UNIX)
		length = asprintf(&parse->server->label, "%s%s%s", scheme, server->path,
				  text + strcspn(text, "?"));
	else
		length = asprintf(&parse->server->label, "%s%.*s%s%s", scheme,
				  server->user ? (int)strcspn(text, ":") : 0, text,
				  server->user ? ":@" : "", at ? at + 1 : text);
	return length < 0 ? out_of_memory(parse) : 0;
}

static int parse_scheme(struct parse *parse, const struct scheme *scheme)
{
	const char *text = parse->url + strlen(scheme->prefix);
	int result;

	parse->server->kind = scheme->kind;
	parse->server->tls = scheme->tls;
	if (scheme->kind == SERVER_LOCAL)
		result = *text ? refuse(parse, "nothing may follow local:") : 0;
	else if (scheme->kind == SERVER_UNIX)
		result = parse_unix(parse, text);
	else
		result = parse_network(parse, text);
	if (result == 0)
		result = make_label(parse, scheme->prefix);
	if (result < 0)
		server_free(parse->server);
	return result;
}

int server_parse(struct server *server, const char *url, struct error *err)
{
	struct parse parse = {url, server, err};
	const char *fault = password_fault(url);
	char cause[40];

	memset(server, 0, sizeof(*server));
	server->password_words = "this user, or the password from its URL";
	if (fault) {
		snprintf(cause, sizeof(cause), "it %s", fault);
		return refuse(&parse, cause);
	}
	for (size_t i = 0; i < SCHEMES; i++)
		if (strncmp(url, schemes[i].prefix, strlen(schemes[i].prefix)) == 0)
			return parse_scheme(&parse, &schemes[i]);
	return refuse(&parse, "begin with redis://, rediss://, redis+sentinel://, unix: or local:");
}

/* ---- Passwords. Editors and shells add to a secret what nobody sees. ---- */

const char *password_read(const char *path, char text[PASSWORD_MAX_BYTES + 2])
{
	const ssize_t length = read_file(path, text, PASSWORD_MAX_BYTES + 1);
	size_t line, mark;

	if (length < 0)
		return strerror(errno);
	text[length] = '\0';
	mark = strncmp(text, BYTE_ORDER_MARK, strlen(BYTE_ORDER_MARK)) ? 0
								       : strlen(BYTE_ORDER_MARK);
	memmove(text, text + mark, (size_t)length + 1 - mark);
	line = strcspn(text, "\n");
	if (line > PASSWORD_MAX_BYTES - mark)
		return "its first line is longer than 4096 bytes";
	if (line < (size_t)length - mark && text[line] == '\0')
		return "its first line has a NUL byte";
	if (line > 0 && text[line - 1] == '\r')
		line--;
	text[line] = '\0';
	return line > 0 ? NULL : "its first line is empty";
}

const char *password_fault(const char *text)
{
	const size_t length = strlen(text);

	if (length > 0 && text[length - 1] == '\n')
		return "ends with a line break";
	if (length > 0 && text[length - 1] == '\r')
		return "ends with a carriage return";
	if (length > 0 && text[length - 1] == ' ')
		return "ends with a blank";
	return strstr(text, BYTE_ORDER_MARK) ? "has a byte order mark" : NULL;
}

/* The password before the last @ of so many bytes behind "://"; NULL: there is none. */
static const char *find_secret(const char *user, size_t room, size_t *length)
{
	const char *at = memrchr(user, '@', room);
	const char *colon = at ? memchr(user, ':', (size_t)(at - user)) : NULL;
	const char *secret = colon ? colon + 1 : user;

	*length = at ? (size_t)(at - secret) : 0;
	return *length > 0 ? secret : NULL;
}

/* Whether what ends here is http or https: the path behind such a host may have an @. */
static bool is_web_at(const char *text, const char *end)
{
	const size_t length = (size_t)(end - text);

	return (length >= 4 && strncmp(end - 4, "http", 4) == 0) ||
	       (length >= 5 && strncmp(end - 5, "https", 5) == 0);
}

/* In a word that begins with the URL, or with --url=, the password may have blanks. */
const char *password_find(const char *text, size_t *length)
{
	const size_t word = strcspn(text, BLANKS);
	const char *secret = NULL;

	for (const char *slashes = text; !secret && (slashes = strstr(slashes, "://")); slashes++) {
		const char *user = slashes + strlen("://");
		const size_t in_word =
			(size_t)(slashes - text) < word ? strlen(user) : strcspn(user, BLANKS);
		const size_t room = is_web_at(text, slashes) ? strcspn(user, "/" BLANKS) : in_word;

		secret = find_secret(user, room, length);
	}
	return secret;
}

void server_hide_password(char *url)
{
	const char *scheme_end = strstr(url, "://"), *user = scheme_end ? scheme_end + 3 : url;
	size_t length;
	const char *secret = find_secret(user, strlen(user), &length);

	if (secret)
		memset(url + (secret - url), '*', length);
}

bool server_is_list(const struct server *server)
{
	return server->kind == SERVER_TCP && server->seed_count > 1;
}

const char *server_shown(const struct server *server)
{
	return server->kind == SERVER_LOCAL ? "the private server" : server->label;
}

void server_free(struct server *server)
{
	free(server->seeds);
	free(server->master);
	free(server->path);
	free(server->user);
	free(server->password);
	free(server->sentinel_password);
	free(server->label);
	memset(server, 0, sizeof(*server));
}
