/* Users know the schemes of other programs, leave the scheme out, or write a path. */
#include "redis/server_url_hint.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#define DIGITS "0123456789"

static const struct {
	const char *typed, *meant;
} schemes[] = {
	{"http://", "redis://"},
	{"https://", "rediss://"},
	{"tcp://", "redis://"},
	{"tls://", "rediss://"},
	{"ssl://", "rediss://"},
	{"redis+tls://", "rediss://"},
	{"redis+ssl://", "rediss://"},
	{"redis+cluster://", "redis://"},
	{"redis-cluster://", "redis://"},
	{"sentinel://", "redis+sentinel://"},
	{"redis-sentinel://", "redis+sentinel://"},
	{"redis+unix://", "unix:"},
	{"redis+socket://", "unix:"},
	{"socket://", "unix:"},
	{"file://", "unix:"},
};

/* The words in front of "://". */
static const char *const words[] = {
	"rediss+sentinel", "redis+sentinel", "valkeys+sentinel", "valkey+sentinel",
	"rediss",          "redis",          "valkeys",          "valkey",
};

static bool begins(const char *text, const char *word)
{
	return strncasecmp(text, word, strlen(word)) == 0;
}

/* "HOST:PORT:DB": other programs take the database so. */
static void mend_db(char *hosts)
{
	char *colon = strchr(hosts, ':'), *last = strrchr(hosts, ':');

	if (colon && last > colon + 1 && strspn(colon + 1, DIGITS) == (size_t)(last - colon - 1) &&
	    last[1] != '\0' && strspn(last + 1, DIGITS) == strlen(last + 1))
		*last = '/';
}

static bool put(char hint[HINT_MAX_BYTES], const char *scheme, const char *rest)
{
	if (*rest == '\0' || snprintf(hint, HINT_MAX_BYTES, "%s%s", scheme, rest) >= HINT_MAX_BYTES)
		return false;
	mend_db(hint + strlen(scheme));
	return true;
}

/* The text behind a lone colon may be a password, unless it looks like an address. */
static bool is_address(const char *text)
{
	const size_t digits = strspn(text, DIGITS ".");

	return begins(text, "localhost") || (digits >= 7 && strchr(":/", text[digits]));
}

/* "redis:/HOST", "REDIS://HOST", "redis//HOST" */
static bool has_known_word(char hint[HINT_MAX_BYTES], const char *url)
{
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		const char *rest = url + strlen(words[i]);
		char scheme[24];

		if (!begins(url, words[i]) || !strchr(":/", *rest) || *rest == '\0')
			continue;
		if (strspn(rest, ":/") > strlen("://"))
			return false;
		if (!strchr(rest, '/') && !is_address(rest + 1))
			return false;
		snprintf(scheme, sizeof(scheme), "%s://", words[i]);
		return put(hint, scheme, rest + strspn(rest, ":/"));
	}
	return false;
}

bool server_url_hint(char hint[HINT_MAX_BYTES], const char *url)
{
	if (strpbrk(url, "@?"))
		return false;
	if (begins(url, "local") &&
	    url[strlen("local") + strspn(url + strlen("local"), ":/")] == '\0')
		return put(hint, "local", ":");
	if (*url == '/' || *url == '.' || (!strchr(url, ':') && strstr(url, ".sock")))
		return put(hint, "unix:", url);
	for (size_t i = 0; i < sizeof(schemes) / sizeof(schemes[0]); i++)
		if (begins(url, schemes[i].typed))
			return put(hint, schemes[i].meant, url + strlen(schemes[i].typed));
	return has_known_word(hint, url) || (!strstr(url, "://") && put(hint, "redis://", url));
}
