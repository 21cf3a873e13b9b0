/* Durations that are read, and texts that are none. */
#include "base/duration.h"

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
	{"5min", 300000},
	{"1w2d", 777600000},
	{"1min5ms", 60005},
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
	"1W",
	"1mi",
	"1mins",
	"1us",
	"1sec",
	"9223372036854775808ms",
	"9223372036854775808",
	"9223372036854775.808",
	"106751991168d",
	"99999999999999999999999999",
	"9223372036854775807ms1ms",
	"9223372036854775806.1ms1ms",
};

int main(void)
{
	struct tally tally = {0};

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
