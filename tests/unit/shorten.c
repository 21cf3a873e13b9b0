/* Foreign text is cut at 40 characters, never inside one. */
#include "base/shorten.h"

#include <string.h>

#include "check.h"

static const struct {
	const char *text, *shown;
} cases[] = {
	{"", ""},
	{"nightly", "nightly"},
	{"1234567890123456789012345678901234567890", "1234567890123456789012345678901234567890"},
	{"12345678901234567890123456789012345678901", "1234567890123456789012345678901234567..."},
	/* 40 and 41 characters of two bytes */
	{"ääääääääääääääääääääääääääääääääääääääää", "ääääääääääääääääääääääääääääääääääääääää"},
	{"äääääääääääääääääääääääääääääääääääääääää", "äääääääääääääääääääääääääääääääääääää..."},
	/* bytes that are not UTF-8 count as one each */
	{"\xff"
	 "23456789012345678901234567890123456789012",
	 "\xff"
	 "234567890123456789012345678901234567..."},
};

int main(void)
{
	struct tally tally = {0};
	char shown[SHORT_MAX_BYTES];

	for (size_t i = 0; i < COUNT(cases); i++)
		CHECK(&tally, strcmp(shorten(shown, cases[i].text), cases[i].shown) == 0);
	CHECK(&tally, strcmp(shorten_middle(shown, 5, "/a/bc"), "/a/bc") == 0);
	CHECK(&tally, strcmp(shorten_middle(shown, 10, "/tmp/äöü/socket"), "/tm...cket") == 0);
	CHECK(&tally, strcmp(shorten_middle(shown, 10, "ääääääöööööö"), "äää...öööö") == 0);
	CHECK(&tally, strcmp(shorten_word(shown, "--kill-after2"), "--kill-after2") == 0);
	CHECK(&tally, strcmp(shorten_word(shown, "--url:redis://:pw@h"), "--url...") == 0);
	CHECK(&tally, strcmp(shorten_word(shown, "ä"), "...") == 0);
	CHECK(&tally, strcmp(shorten_word(shown, "0123456789012345678901234567890123456789"),
			     "0123456789012345678901234567890123456789") == 0);
	CHECK(&tally, strcmp(shorten_word(shown, "0123456789012345678901234567890123456789:"),
			     "0123456789012345678901234567890123456...") == 0);
	strcpy(shown, "ääääää");
	shorten_end(shown, 6);
	CHECK(&tally, strcmp(shown, "ääääää") == 0);
	shorten_end(shown, 5);
	CHECK(&tally, strcmp(shown, "ää...") == 0);
	return conclude(&tally);
}
