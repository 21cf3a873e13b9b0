/* Durations that are read, and texts that are none. */
#include "base/duration.h"

#include <string.h>

#include "base/duration_guess.h"
#include "check.h"

static const struct {
	const char *text;
	int64_t ms;
} right[] = {
	{"0", 0},
	{"90", 90000},
	{"007", 7000},
	{"0.5", 500},
	{".5", 500},
	{"250ms", 250},
	{"1s", 1000},
	{"2m", 120000},
	{"1.5h", 5400000},
	{"1d", 86400000},
	{"1w", 604800000},
	{"0.5w", 302400000},
	{"1sec", 1000},
	{"5min", 300000},
	{"1w2d3h4min5sec6ms", 788645006},
	{"1min1m1ms1s1sec", 122001},
	{"1h30m", 5400000},
	{"1m1ms", 60001},
	{"1h30m0.25s", 5400250},
	/* no time but zero becomes zero, and nothing is rounded twice */
	{"0.0001", 1},
	{"0.1ms", 1},
	{"0.0000000000000000000000000000001", 1},
	{"0.0000000000000000000000000000000", 0},
	{"1.001", 1001},
	{"0.29", 290},
	{"1.1", 1100},
	{"4.35", 4350},
	{"0.0010000000000000000000000000001", 2},
	/* the longest */
	{"9223372036854775807ms", INT64_MAX},
	{"9223372036854775.807", INT64_MAX},
};

static const char *const wrong[] = {
	"",
	" ",
	".",
	"1.",
	"-1",
	"+1",
	"-0",
	"1 s",
	" 1",
	"1 ",
	"1\n",
	"1h30",
	"30s5",
	"1e3",
	"1E3",
	"inf",
	"nan",
	"0x10",
	"1,5",
	"1.5.5",
	"1.5.5s",
	"s",
	"ms",
	"h1",
	"1hh",
	"1S",
	"1M",
	"1us",
	"1mi",
	"1se",
	"1secs",
	"5mins",
	"5minutes",
	"1min30",
	"1W",
	"1d2",
	"-1w",
	"1.w",
	"15250284452472w",
	"9223372036854775808ms",
	"9223372036854775808",
	"9223372036854775.808",
	"106751991168d",
	"99999999999999999999999999",
	"9223372036854775807ms1ms",
	"9223372036854775806.1ms1ms",
};

/* Texts that are none, and what was meant; NULL: nobody knows. */
static const struct {
	const char *text, *guess;
} guesses[] = {
	{"1h30", "1h30m"},
	{"1d12", "1d12h"},
	{"5m30", "5m30s"},
	{"1min30", "1m30s"},
	{"30s5", "30s5ms"},
	{"1H", "1h"},
	{"5 m", "5m"},
	{" 5m ", "5m"},
	{"5mins", "5m"},
	{"5minutes", "5m"},
	{"1 hour 30 minutes", "1h30m"},
	{"2Days", "2d"},
	{"1,5h", "1.5h"},
	{"3weeks", "3w"},
	{"100msec", "100ms"},
	{"1ms5", NULL},
	{"", NULL},
	{" ", NULL},
	{"-1", NULL},
	{"-1h30", NULL},
	{"+1", NULL},
	{"1e3", NULL},
	{"inf", NULL},
	{"0x10", NULL},
	{"1y", NULL},
	{"1month", NULL},
	{"1.h", NULL},
	{"1h:30", NULL},
	{"99999999999999999999h", NULL},
	{"999999999999w", NULL},
	{"1h1h1h1h1h1h1h1h1h1h1h1h1h1h1h1h1h1h1h1h1h1h1h1h1h1h1h1h1h1h1h5", NULL},
};

static const struct {
	int64_t ms;
	const char *shown;
} fractions[] = {
	{0, "0ms"},        {999, "999ms"},     {1000, "1s"},  {1001, "1.001s"}, {1500, "1.5s"},
	{10250, "10.25s"}, {59999, "59.999s"}, {60001, "1m"}, {90000, "1m30s"}, {5400000, "1h30m"},
};

static void check_fractions(struct tally *tally)
{
	char text[DURATION_MAX_BYTES];

	for (size_t i = 0; i < COUNT(fractions); i++)
		CHECK(tally, strcmp(duration_show_fraction(text, fractions[i].ms),
				    fractions[i].shown) == 0);
}

static void check_guesses(struct tally *tally)
{
	char guess[DURATION_GUESS_BYTES];

	for (size_t i = 0; i < COUNT(guesses); i++) {
		const char *found = duration_guess(guess, guesses[i].text),
			   *expected = guesses[i].guess;
		const bool same = expected ? found && strcmp(found, expected) == 0 : !found;

		if (!same)
			printf("'%s': %s\n", guesses[i].text, found ? found : "none");
		CHECK(tally, same);
	}
}

int main(void)
{
	struct tally tally = {0};

	check_guesses(&tally);
	check_fractions(&tally);

	for (size_t i = 0; i < COUNT(right); i++) {
		int64_t ms = -1;

		if (duration_parse(right[i].text, &ms) || ms != right[i].ms)
			printf("'%s' became %jd\n", right[i].text, (intmax_t)ms);
		CHECK(&tally, ms == right[i].ms);
	}
	for (size_t i = 0; i < COUNT(wrong); i++) {
		int64_t ms = -1;
		int result = duration_parse(wrong[i], &ms);

		if (result == 0)
			printf("'%s' became %jd\n", wrong[i], (intmax_t)ms);
		CHECK(&tally, result == -1);
	}
	return conclude(&tally);
}
