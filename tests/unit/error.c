/* A message that is too long is cut at a character, and keeps its cause. */
#include "base/error.h"

#include <stdio.h>
#include <string.h>

#include "base/shorten.h"
#include "base/utf8.h"
#include "check.h"

#define LONG "𝄞"

/* Whether each byte belongs to a character. */
static bool is_whole(const char *text)
{
	while (*text) {
		uint32_t code;
		const size_t length = utf8_decode(text, &code);

		if (length == 0)
			return false;
		text += length;
	}
	return true;
}

/* `count` of these characters. */
static const char *many(char text[2048], size_t count)
{
	*text = '\0';
	while (count-- > 0)
		strcat(text, LONG);
	return text;
}

static void check_lengths(struct tally *tally)
{
	struct error err;
	char object[2048];

	for (size_t count = 110; count < 200; count++) {
		fail(&err, STATUS_OS, "cannot read %s", many(object, count));
		CHECK(tally, is_whole(err.text));
		fail_about(&err, STATUS_OS, "read", many(object, count), "Permission denied");
		CHECK(tally, is_whole(err.text) && !strchr(err.text, '?'));
		CHECK(tally, strstr(err.text, ": Permission denied") != NULL);
		CHECK(tally, count_characters(err.text) <= MESSAGE_CHARACTERS);
	}
}

static const struct {
	const char *text, *cut;
} cases[] = {
	{"", ""},           {"a", "a"},     {"aä", "aä"},
	{"a\xc3", "a"},     {LONG, LONG},   {"a\xf0\x9d\x84", "a"},
	{"a\xf0\x9d", "a"}, {"a\xf0", "a"}, {"äö\xe2\x82", "äö"},
};

int main(void)
{
	struct tally tally = {0};

	check_lengths(&tally);
	for (size_t i = 0; i < COUNT(cases); i++) {
		char text[16];

		strcpy(text, cases[i].text);
		utf8_cut_end(text);
		CHECK(&tally, strcmp(text, cases[i].cut) == 0);
	}
	return conclude(&tally);
}
