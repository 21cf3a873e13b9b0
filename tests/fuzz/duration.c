/* Fuzzes durations.
 *
 * For: base/clock.c base/text.c */
#include "base/clock.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "parts/fuzz.h"

static const struct {
	const char *name;
	int64_t ms;
} units[] = {{"d", 86400000}, {"h", 3600000}, {"m", 60000}, {"s", 1000}, {"ms", 1}};

#define UNITS (sizeof(units) / sizeof(units[0]))

static int64_t read(const char *text)
{
	int64_t ms = -1;

	HOLDS(duration_parse(text, &ms) == 0);
	return ms;
}

/* Returns the smaller of the two units that duration_show prints; it drops the rest. */
static int64_t shown_unit(int64_t ms)
{
	size_t i = 0;

	while (i < UNITS - 1 && ms < units[i].ms)
		i++;
	return i < 3 ? units[i + 1].ms : units[i].ms;
}

/* duration_show drops less than one unit, and its text is shown as itself. */
static void check_shown(int64_t ms)
{
	char text[DURATION_MAX_BYTES], again[DURATION_MAX_BYTES];
	const int64_t shown = read(duration_show(text, ms));

	HOLDS(strlen(text) < DURATION_MAX_BYTES - 1);
	HOLDS(shown <= ms && ms - shown < shown_unit(ms));
	HOLDS(strcmp(duration_show(again, shown), text) == 0);
}

static void check_exact(int64_t ms)
{
	char text[64];

	snprintf(text, sizeof(text), "%" PRId64 "ms", ms);
	HOLDS(read(text) == ms);
	snprintf(text, sizeof(text), "%" PRId64 ".%03ds", ms / 1000, (int)(ms % 1000));
	HOLDS(read(text) == ms);
}

/* A sum is the sum of its terms, in any order; a bare number is no term. */
static void check_sum(const char *text, int64_t ms)
{
	const bool is_bare = text[strspn(text, "0123456789.")] == '\0';
	const size_t size = strlen(text) + 8;
	char *sum = malloc(size);
	int64_t more = 0;

	if (!sum)
		abort();
	snprintf(sum, size, "%s5ms", text);
	if (is_bare && text[strlen(text) - 1] != '.') {
		/* 1 and 15ms are well-formed by themselves */
		snprintf(sum, size, "5ms%s", text);
		HOLDS(duration_parse(sum, &more) < 0);
	} else if (ms <= INT64_MAX - 5) {
		HOLDS(read(sum) == ms + 5);
		snprintf(sum, size, "5ms%s", text);
		HOLDS(read(sum) == ms + 5);
	} else {
		HOLDS(duration_parse(sum, &more) < 0);
	}
	free(sum);
}

/* A duration has no sign, exponent or blank. */
static bool has_its_form(const char *text)
{
	return *text && text[strspn(text, "0123456789.mshdwinec")] == '\0';
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = fuzz_text(data, size);
	int64_t ms = -1;

	if (duration_parse(text, &ms) == 0) {
		HOLDS(has_its_form(text));
		HOLDS(ms >= 0);
		check_shown(ms);
		check_exact(ms);
		check_sum(text, ms);
	}
	free(text);
	return 0;
}
