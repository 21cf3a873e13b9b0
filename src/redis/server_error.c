/* The words by which errors are known, one list for each status. */
#include "redis/server_error.h"

#include <string.h>

bool server_error_is(const char *text, const char *word)
{
	size_t length = strlen(word);

	return strncmp(text, word, length) == 0 && (text[length] == ' ' || text[length] == '\0');
}

static bool is_any(const char *text, const char *const *words)
{
	while (*words && !server_error_is(text, *words))
		words++;
	return *words;
}

static bool contains_any(const char *text, const char *const *words)
{
	while (*words && !strstr(text, *words))
		words++;
	return *words;
}

/* Servers before 7 wrap what a script met into a sentence of their own, so some words are looked
 * for anywhere. */
enum status server_error_status(const char *text)
{
	static const char *const away[] = {"LOADING",     "READONLY",   "OOM",        "MISCONF",
					   "CLUSTERDOWN", "MASTERDOWN", "NOREPLICAS", "BUSY",
					   "TRYAGAIN",    "UNBLOCKED",  "NOPROTO",    NULL};
	static const char *const away_anywhere[] = {
		"max number of clients", "unknown command", "OOM command not allowed",
		"READONLY You can't write", "-MISCONF ", "-NOREPLICAS ",
		/* the last key of a slot has just gone to another node: as TRYAGAIN */
		"attempted to access a non local key", NULL};
	static const char *const refused[] = {"NOAUTH", "WRONGPASS", "NOPERM", NULL};
	static const char *const refused_anywhere[] = {"no permissions", "No permissions",
						       "The user executing the script can't", NULL};
	static const char *const misused[] = {"WRONGTYPE", "DB index is out of range",
					      "invalid DB index",
					      "SELECT is not allowed in cluster mode", NULL};

	if (is_any(text, away) || contains_any(text, away_anywhere))
		return STATUS_UNAVAILABLE;
	if (is_any(text, refused) || contains_any(text, refused_anywhere))
		return STATUS_REFUSED;
	return contains_any(text, misused) ? STATUS_CONFIG : STATUS_BUG;
}

bool server_error_is_own(const char *text)
{
	static const char *const words[] = {"LOADING ", "BUSY ",       "OOM ",
					    "MISCONF ", "NOREPLICAS ", NULL};

	return contains_any(text, words);
}

bool server_error_redirects(const char *text, const struct endpoint *here, struct endpoint *to)
{
	const char *place, *colon;
	struct endpoint found = *here;
	size_t length;

	if (!server_error_is(text, "MOVED") && !server_error_is(text, "ASK"))
		return false;
	place = strchr(text, ' ');
	place = place ? strchr(place + 1, ' ') : NULL;
	colon = place ? strrchr(++place, ':') : NULL; /* an IPv6 address has some of its own */
	if (!colon)
		return false;
	length = (size_t)(colon - place);
	if (length >= sizeof(found.host) || !endpoint_set_port(&found, colon + 1))
		return false;
	if (length > 0 && strncmp(place, "?", length) != 0) {
		memcpy(found.host, place, length);
		found.host[length] = '\0';
	}
	*to = found;
	return true;
}
