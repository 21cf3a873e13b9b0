/* Small parsers of UTF-8, JSON and metrics, stricter than the programs that will read the output.
 */
#include "valid.h"

#include <stdlib.h>
#include <string.h>

#define MESSAGE_BYTES 1024
#define JSON_DEPTH 32

/* ---- Characters ---- */

/* Returns how many bytes follow the first byte of a character, and sets the bounds of the second,
 * by the table of the Unicode standard. -1: no character begins so. */
static int tail_of(unsigned char first, unsigned char *low, unsigned char *high)
{
	*low = first == 0xe0 ? 0xa0 : first == 0xf0 ? 0x90 : 0x80;
	*high = first == 0xed ? 0x9f : first == 0xf4 ? 0x8f : 0xbf;
	if (first < 0x80)
		return 0;
	if (first < 0xc2 || first > 0xf4)
		return -1;
	return first < 0xe0 ? 1 : first < 0xf0 ? 2 : 3;
}

/* Returns the length of the first character; 0 if it is none. */
static size_t character(const char *text, const char *end)
{
	const unsigned char *bytes = (const unsigned char *)text;
	unsigned char low, high;
	const int tail = tail_of(bytes[0], &low, &high);

	if (tail < 0 || tail >= end - text)
		return 0;
	for (int i = 1; i <= tail; i++) {
		if (bytes[i] < low || bytes[i] > high)
			return 0;
		low = 0x80;
		high = 0xbf;
	}
	return (size_t)tail + 1;
}

bool valid_text(const char *text, size_t length, const char *controls)
{
	const char *end = text + length;

	while (text < end) {
		const unsigned char *bytes = (const unsigned char *)text;
		const size_t taken = character(text, end);
		const bool is_control = bytes[0] < ' ' || bytes[0] == 0x7f ||
					(bytes[0] == 0xc2 && taken == 2 && bytes[1] < 0xa0);

		if (taken == 0 || (is_control && (*text == '\0' || !strchr(controls, *text))))
			return false;
		text += taken;
	}
	return true;
}

bool harmless_text(const char *text, size_t length, const char *controls)
{
	static const char *const turns[] = {
		"\u061c", "\u200e", "\u200f", "\u2028", "\u2029", "\u202a", "\u202b",
		"\u202c", "\u202d", "\u202e", "\u2066", "\u2067", "\u2068", "\u2069",
	};

	for (size_t i = 0; i < sizeof(turns) / sizeof(turns[0]); i++)
		if (memmem(text, length, turns[i], strlen(turns[i])))
			return false;
	return valid_text(text, length, controls);
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

struct json {
	const char *at, *end;
	int depth;
};

static void skip_blanks(struct json *json)
{
	while (json->at < json->end && strchr(" \t\r\n", *json->at) && *json->at)
		json->at++;
}

static bool take(struct json *json, const char *word)
{
	const size_t length = strlen(word);

	if ((size_t)(json->end - json->at) < length || memcmp(json->at, word, length) != 0)
		return false;
	json->at += length;
	return true;
}

static size_t take_digits(struct json *json)
{
	const char *begin = json->at;

	while (json->at < json->end && *json->at >= '0' && *json->at <= '9')
		json->at++;
	return (size_t)(json->at - begin);
}

static bool take_number(struct json *json)
{
	const char *begin;
	size_t digits;

	take(json, "-");
	begin = json->at;
	digits = take_digits(json);
	if (digits == 0 || (digits > 1 && *begin == '0'))
		return false;
	if (take(json, ".") && take_digits(json) == 0)
		return false;
	if (!take(json, "e") && !take(json, "E"))
		return true;
	if (!take(json, "+"))
		take(json, "-");
	return take_digits(json) > 0;
}

static bool take_escape(struct json *json)
{
	if (json->at == json->end)
		return false;
	if (*json->at == 'u') {
		json->at++;
		for (int i = 0; i < 4; i++, json->at++)
			if (json->at == json->end || *json->at == '\0' ||
			    !strchr("0123456789abcdefABCDEF", *json->at))
				return false;
		return true;
	}
	return *json->at != '\0' && strchr("\"\\/bfnrt", *json->at++);
}

static bool take_string(struct json *json)
{
	if (!take(json, "\""))
		return false;
	while (json->at < json->end && *json->at != '"') {
		const size_t length = character(json->at, json->end);

		if (length == 0 || (unsigned char)*json->at < ' ')
			return false;
		if (*json->at != '\\') {
			json->at += length;
			continue;
		}
		json->at++;
		if (!take_escape(json))
			return false;
	}
	return take(json, "\"");
}

static bool take_value(struct json *json);

/* The members of an object, or the elements of an array, behind its first bracket. */
static bool take_members(struct json *json, bool have_names, const char *bracket)
{
	skip_blanks(json);
	if (take(json, bracket))
		return true;
	for (;;) {
		skip_blanks(json);
		if (have_names) {
			if (!take_string(json))
				return false;
			skip_blanks(json);
			if (!take(json, ":"))
				return false;
		}
		if (!take_value(json))
			return false;
		skip_blanks(json);
		if (take(json, bracket))
			return true;
		if (!take(json, ","))
			return false;
	}
}

static bool take_value(struct json *json)
{
	bool result;

	skip_blanks(json);
	if (json->at == json->end || ++json->depth > JSON_DEPTH)
		return false;
	if (take(json, "{"))
		result = take_members(json, true, "}");
	else if (take(json, "["))
		result = take_members(json, false, "]");
	else if (*json->at == '"')
		result = take_string(json);
	else
		result = take(json, "null") || take(json, "true") || take(json, "false") ||
			 take_number(json);
	json->depth--;
	return result;
}

bool valid_json(const char *text, size_t length)
{
	struct json json = {.at = text, .end = text + length};

	for (skip_blanks(&json); json.at < json.end; skip_blanks(&json))
		if (!take_value(&json))
			return false;
	return true;
}

/* ---- Metrics ---- */

/* lock="..."} behind the brace */
static const char *skip_label(const char *text)
{
	static const char name[] = "lock=\"";

	if (strncmp(text, name, strlen(name)) != 0)
		return NULL;
	for (text += strlen(name); *text && *text != '"'; text++)
		if (*text == '\\' && (*++text == '\0' || !strchr("\\\"n", *text)))
			return NULL;
	return strncmp(text, "\"} ", 3) == 0 ? text + 2 : NULL;
}

static bool is_sample(const char *line)
{
	const size_t name = strspn(line, "abcdefghijklmnopqrstuvwxyz_");
	const char *rest = line + name;
	char *end;

	if (name == 0)
		return false;
	if (*rest == '{')
		rest = skip_label(rest + 1);
	if (!rest || *rest != ' ' || rest[1] == '\0')
		return false;
	strtod(rest + 1, &end);
	return *end == '\0';
}

bool valid_metrics(const char *text, size_t length)
{
	char *copy = strndup(text, length), *rest = NULL;
	bool result = copy && valid_text(text, length, "\n");

	for (char *line = result ? strtok_r(copy, "\n", &rest) : NULL; line && result;
	     line = strtok_r(NULL, "\n", &rest))
		result = strncmp(line, "# HELP ", 7) == 0 || strncmp(line, "# TYPE ", 7) == 0 ||
			 is_sample(line);
	free(copy);
	return result;
}
