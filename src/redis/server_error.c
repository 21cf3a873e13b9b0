#include "redis/server_error.h"

#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

bool server_error_is(const char *text, const char *word)
{
	size_t length = strlen(word);

	return strncmp(text, word, length) == 0 && (text[length] == ' ' || text[length] == '\0');
}

/* Servers before 7 wrap what a script met into a sentence of their own, so some words are looked
 * for anywhere. */
enum status server_error_status(const char *text)
{
	static const struct {
		const char *words;
		bool first; /* stands at the beginning */
		enum status status;
	} kinds[] = {
		{"LOADING", true, STATUS_UNAVAILABLE},
		{"READONLY", true, STATUS_UNAVAILABLE},
		{"OOM", true, STATUS_UNAVAILABLE},
		{"MISCONF", true, STATUS_UNAVAILABLE},
		{"CLUSTERDOWN", true, STATUS_UNAVAILABLE},
		{"MASTERDOWN", true, STATUS_UNAVAILABLE},
		{"NOREPLICAS", true, STATUS_UNAVAILABLE},
		{"BUSY", true, STATUS_UNAVAILABLE},
		{"TRYAGAIN", true, STATUS_UNAVAILABLE},
		{"UNBLOCKED", true, STATUS_UNAVAILABLE},
		/* the last key of a slot has just gone to another node: as TRYAGAIN */
		{"attempted to access a non local key", false, STATUS_UNAVAILABLE},
		{"NOPROTO", true, STATUS_UNAVAILABLE},
		{"max number of clients", false, STATUS_UNAVAILABLE},
		{"unknown command", false, STATUS_UNAVAILABLE},
		{"OOM command not allowed", false, STATUS_UNAVAILABLE},
		{"READONLY You can't write", false, STATUS_UNAVAILABLE},
		{"-MISCONF ", false, STATUS_UNAVAILABLE},
		{"-NOREPLICAS ", false, STATUS_UNAVAILABLE},
		{"NOAUTH", true, STATUS_REFUSED},
		{"WRONGPASS", true, STATUS_REFUSED},
		{"NOPERM", true, STATUS_REFUSED},
		{"no permissions", false, STATUS_REFUSED},
		{"No permissions", false, STATUS_REFUSED},
		{"The user executing the script can't", false, STATUS_REFUSED},
		{"WRONGTYPE", false, STATUS_CONFIG},
		{"DB index is out of range", false, STATUS_CONFIG},
		{"invalid DB index", false, STATUS_CONFIG},
		{"SELECT is not allowed in cluster mode", false, STATUS_CONFIG},
	};

	for (size_t i = 0; i < COUNT(kinds); i++)
		if (kinds[i].first ? server_error_is(text, kinds[i].words)
				   : strstr(text, kinds[i].words) != NULL)
			return kinds[i].status;
	return STATUS_BUG;
}

bool server_error_is_own(const char *text)
{
	static const char *const words[] = {"LOADING ", "BUSY ", "OOM ", "MISCONF ", "NOREPLICAS "};

	for (size_t i = 0; i < COUNT(words); i++)
		if (strstr(text, words[i]))
			return true;
	return false;
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
