/* Small parsers of UTF-8, JSON and metrics, stricter than the programs that will read the output.
 */
#include "valid.h"

#include <regex.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#define MESSAGE_BYTES 1024
#define JSON_DEPTH 32

static const char scalar[] = "^(null|true|false|-?(0|[1-9][0-9]*)([.][0-9]+)?([eE][-+]?[0-9]+)?"
			     "|\"([^\"\\\n]|\\\\([\"\\/bfnrt]|u[0-9a-fA-F]{4}))*\")";
static const char samples[] =
	"^((# (HELP|TYPE) [^\n]*|[a-z_]+([{]lock=\"([^\"\\\n]|\\\\[\"\\n])*\"[}])? [-+.0-9e]+)\n)*$";

/* Returns how many bytes at the beginning of a text match, or -1. regex: static, of this pattern.
 */
static ptrdiff_t match(regex_t *regex, const char *pattern, const char *text)
{
	regmatch_t found;

	if (regex->re_nsub == 0 && regcomp(regex, pattern, REG_EXTENDED) != 0)
		abort();
	return regexec(regex, text, 1, &found, 0) == 0 ? found.rm_eo : -1;
}

/* ---- Characters ---- */

static bool is_control(wchar_t c)
{
	return c < L' ' || (c >= 0x7f && c < 0xa0);
}

static bool is_surrogate(wchar_t c)
{
	return c >= 0xd800 && c < 0xe000;
}

/* Whether there are valid characters only, no controls but these, and none of `not`. */
static bool is_text(const char *text, size_t length, const char *controls, const wchar_t * not )
{
	const char *end = text + length;

	while (text < end) {
		mbstate_t state = {0};
		wchar_t c;
		const size_t taken = mbrtowc(&c, text, (size_t)(end - text), &state);

		if (taken == 0 || taken > (size_t)(end - text) || is_surrogate(c) || c > 0x10ffff)
			return false;
		if ((is_control(c) && (c >= 0x7f || !strchr(controls, (int)c))) || wcschr(not, c))
			return false;
		text += taken;
	}
	return true;
}

bool valid_text(const char *text, size_t length, const char *controls)
{
	return is_text(text, length, controls, L"");
}

bool harmless_text(const char *text, size_t length, const char *controls)
{
	return is_text(text, length, controls,
		       L"\u061c\u200e\u200f\u2028\u2029\u202a\u202b\u202c\u202d\u202e"
		       L"\u2066\u2067\u2068\u2069");
}

bool valid_messages(const char *text, size_t length)
{
	static const char beginning[] = "fairlock: ";
	const char *end = text + length;

	if (!harmless_text(text, length, "\n"))
		return false;
	while (text < end) {
		const char *newline = memchr(text, '\n', (size_t)(end - text));

		if (!newline || newline - text > MESSAGE_BYTES ||
		    strncmp(text, beginning, strlen(beginning)) != 0)
			return false;
		text = newline + 1;
	}
	return true;
}

/* ---- JSON ---- */

static const char *behind_blanks(const char *at)
{
	return at + strspn(at, " \t\r\n");
}

/* These return where the value ends that begins there, or NULL: there is none. */
static const char *behind_scalar(const char *at)
{
	static regex_t regex;
	const ptrdiff_t length = match(&regex, scalar, at);

	return length >= 0 ? at + length : NULL;
}

static const char *behind_value(const char *at, int depth)
{
	const bool is_object = *at == '{';
	const char bracket = is_object ? '}' : ']';

	if (!is_object && *at != '[')
		return behind_scalar(at);
	at = behind_blanks(at + 1);
	if (*at == bracket)
		return at + 1;
	while (at && depth < JSON_DEPTH) {
		if (is_object) {
			at = *at == '"' ? behind_scalar(at) : NULL;
			at = at ? behind_blanks(at) : NULL;
			if (!at || *at++ != ':')
				return NULL;
		}
		at = behind_value(behind_blanks(at), depth + 1);
		at = at ? behind_blanks(at) : NULL;
		if (at && *at == bracket)
			return at + 1;
		at = at && *at == ',' ? behind_blanks(at + 1) : NULL;
	}
	return NULL;
}

bool valid_json(const char *text)
{
	for (text = behind_blanks(text); text && *text;) {
		text = behind_value(text, 0);
		text = text ? behind_blanks(text) : NULL;
	}
	return text != NULL;
}

/* ---- Metrics ---- */

bool valid_metrics(const char *text, size_t length)
{
	static regex_t regex;

	return valid_text(text, length, "\n") && match(&regex, samples, text) == (ptrdiff_t)length;
}
