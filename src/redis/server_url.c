/* Parses each form of URL by hand, so that no error quotes a password. */
#include "redis/server_url.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/number.h"
#include "base/shorten.h"
#include "redis/password.h"
#include "redis/server_url_hint.h"

#define SERVER_PORT 6379
#define SENTINEL_PORT 26379
#define SHOWN_MAX_BYTES 256

#define DIGITS "0123456789"
#define LETTERS "abcdefghijklmnopqrstuvwxyz"
#define CAPITALS "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
#define SCHEME_BYTES LETTERS DIGITS "+-."
#define HOST_BYTES LETTERS CAPITALS DIGITS "-._"
#define IPV6_BYTES HOST_BYTES ":%"

/* One URL on its way into *server. */
struct parse {
	const char *url;
	struct server *server;
	struct error *err;
	int default_port;
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

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
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
		int high, low;

		*out = *in;
		if (*in != '%')
			continue;
		high = hex_digit(in[1]);
		low = high < 0 ? -1 : hex_digit(in[2]);
		if (low < 0 || high + low == 0)
			return refuse(parse, "a % needs two hexadecimal digits; write % as %25");
		*out = (char)(high << 4 | low);
		in += 2;
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
	int port = parse->default_port;

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

static int parse_seeds(struct parse *parse, const char *text, const char *end)
{
	size_t commas = 0;

	for (const char *at = text; at < end; at++)
		commas += *at == ',';
	parse->server->seeds = calloc(commas + 1, sizeof(struct endpoint));
	if (parse->server->seeds == NULL)
		return out_of_memory(parse);
	for (;;) {
		const char *comma = memchr(text, ',', (size_t)(end - text));

		if (parse_seed(parse, text, (size_t)((comma ? comma : end) - text)))
			return -1;
		if (comma == NULL)
			return 0;
		text = comma + 1;
	}
}

/* [[USER]:PASSWORD@]HOST[:PORT][,HOST[:PORT]...]; sets *rest to what follows. */
static int parse_authority(struct parse *parse, const char *text, const char **rest)
{
	const char *at = strrchr(text, '@'), *hosts = at ? at + 1 : text;

	*rest = hosts + strcspn(hosts, "/");
	/* with a user at each host of a list, the last host alone would count */
	if (at && memchr(text, ',', (size_t)(at - text)))
		return refuse(
			parse,
			"write USER:PASSWORD@ once, before the first host, and %2C for a comma in it");
	if (at && parse_user(parse, text, (size_t)(at - text)))
		return -1;
	return parse_seeds(parse, hosts, *rest);
}

/* [/DB] */
static int parse_db_path(struct parse *parse, const char *text)
{
	if (text[0] == '\0' || text[1] == '\0')
		return 0;
	return parse_db(parse, text + 1, strlen(text + 1));
}

static int parse_tcp(struct parse *parse, const char *text)
{
	const char *rest;

	parse->server->kind = SERVER_TCP;
	if (parse_authority(parse, text, &rest))
		return -1;
	return parse_db_path(parse, rest);
}

/* AUTHORITY/MASTER[/DB] */
static int parse_sentinel(struct parse *parse, const char *text)
{
	const char *rest;
	size_t length;

	parse->server->kind = SERVER_SENTINEL;
	parse->default_port = SENTINEL_PORT;
	if (parse_authority(parse, text, &rest))
		return -1;
	length = *rest ? strcspn(rest + 1, "/") : 0;
	if (length == 0)
		return refuse(parse, "add /MASTER, the name of the master");
	if (decode(parse, rest + 1, length, &parse->server->master))
		return -1;
	return parse_db_path(parse, rest + 1 + length);
}

static int parse_secure_tcp(struct parse *parse, const char *text)
{
	parse->server->tls = true;
	return parse_tcp(parse, text);
}

static int parse_secure_sentinel(struct parse *parse, const char *text)
{
	parse->server->tls = true;
	return parse_sentinel(parse, text);
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
	const char *fault;
	char cause[60];
	int written;

	if (text[0] == '/')
		written = snprintf(path, sizeof(path), "%.*s", (int)length, text);
	else if (getcwd(folder, sizeof(folder)))
		written = snprintf(path, sizeof(path), "%s/%.*s", folder, (int)length, text);
	else
		return refuse(parse, "the path is relative and the working directory is gone");
	if (written < 0 || (size_t)written >= sizeof(path))
		return refuse(parse, "the path is too long for a socket");
	fault = password_fault(path);
	if (fault) { /* the label, a URL that ends with the path, would be refused for that */
		snprintf(cause, sizeof(cause), "the path %s", fault);
		return refuse(parse, cause);
	}
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

	parse->server->kind = SERVER_UNIX;
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

static int parse_local(struct parse *parse, const char *text)
{
	parse->server->kind = SERVER_LOCAL;
	return *text == '\0' ? 0 : refuse(parse, "nothing may follow local:");
}

static const struct scheme {
	const char *prefix;
	int (*parse)(struct parse *parse, const char *text);
} schemes[] = {
	{"local:", parse_local},
	{"unix:", parse_unix},
	{"redis://", parse_tcp},
	{"rediss://", parse_secure_tcp},
	{"redis+sentinel://", parse_sentinel},
	{"rediss+sentinel://", parse_secure_sentinel},
	{"valkey://", parse_tcp},
	{"valkeys://", parse_secure_tcp},
	{"valkey+sentinel://", parse_sentinel},
	{"valkeys+sentinel://", parse_secure_sentinel},
};

const char *server_scheme_at(size_t index)
{
	return index < sizeof(schemes) / sizeof(schemes[0]) ? schemes[index].prefix : NULL;
}

static const struct scheme *find_scheme(const char *url)
{
	for (size_t i = 0; i < sizeof(schemes) / sizeof(schemes[0]); i++) {
		if (strncmp(url, schemes[i].prefix, strlen(schemes[i].prefix)) == 0)
			return &schemes[i];
	}
	return NULL;
}

static int make_label(struct parse *parse, const struct scheme *scheme)
{
	parse->server->label = server_label(parse->server, scheme->prefix);
	return parse->server->label ? 0 : out_of_memory(parse);
}

static int parse_url(struct server *server, const char *url, struct error *err)
{
	struct parse parse = {url, server, err, SERVER_PORT};
	const struct scheme *scheme = find_scheme(url);
	const char *fault = password_fault(url);
	char cause[40];

	memset(server, 0, sizeof(*server));
	server->password_words = "this user, or the password from its URL";
	if (fault) {
		snprintf(cause, sizeof(cause), "it %s", fault);
		return refuse(&parse, cause);
	}
	if (scheme == NULL)
		return refuse(&parse, "begin with redis://, rediss://, redis+sentinel://, "
				      "unix: or local:");
	if (scheme->parse(&parse, url + strlen(scheme->prefix)) || make_label(&parse, scheme)) {
		server_free(server);
		return -1;
	}
	return 0;
}

int server_parse(struct server *server, const char *url, struct error *err)
{
	char hint[HINT_MAX_BYTES], shown[SHORT_MAX_BYTES];
	struct error ignored;

	if (parse_url(server, url, err) == 0)
		return 0;
	if (!server_url_hint(hint, url) || parse_url(server, hint, &ignored))
		return -1;
	server_free(server);
	return fail(err, STATUS_CONFIG, "cannot use URL '%s': did you mean %s?",
		    shorten(shown, url), hint);
}

void server_hide_password(char *url)
{
	char *scheme_end = strstr(url, "://"), *at = strrchr(url, '@');
	char *user = scheme_end ? scheme_end + 3 : url, *colon;

	if (at == NULL || at < user)
		return;
	colon = memchr(user, ':', (size_t)(at - user));
	for (char *secret = colon ? colon + 1 : user; secret < at; secret++)
		*secret = '*';
}
