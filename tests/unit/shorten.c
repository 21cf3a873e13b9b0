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

#define TEN "0123456789"
#define FIFTY TEN TEN TEN TEN TEN

/* Of a path the end is kept. */
static const struct {
	const char *text, *shown;
} paths[] = {
	{"", ""},
	{"/etc/fairlock.conf", "/etc/fairlock.conf"},
	{FIFTY TEN, FIFTY TEN},
	{"/" FIFTY TEN, "...3456789" FIFTY},
	/* the cut would fall into the two bytes of a character */
	{"1234\xc3\xa4" FIFTY "123456", "..." FIFTY "123456"},
};

int main(void)
{
	struct tally tally = {0};
	char shown[SHORT_MAX_BYTES], path[SHORT_PATH_BYTES];

	for (size_t i = 0; i < COUNT(paths); i++) {
		const char *short_path = shorten_path(path, paths[i].text);

		if (strcmp(short_path, paths[i].shown) != 0)
			printf("%s\n", short_path);
		CHECK(&tally, strcmp(short_path, paths[i].shown) == 0);
	}

	for (size_t i = 0; i < COUNT(cases); i++)
		CHECK(&tally, strcmp(shorten(shown, cases[i].text), cases[i].shown) == 0);
	return conclude(&tally);
}
