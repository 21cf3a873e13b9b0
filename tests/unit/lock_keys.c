/* NAMEs that are taken and refused, and the keys that are made of them. */
#include "lock/lock_keys.h"

#include <string.h>

#include "check.h"

static const char *const right[] = {
	"x",
	"backup.daily",
	"a b",
	"50%done",
	"{x}",
	"a{b}c",
	"{a}{b}",
	"\xc3\xa4",
	"\xe2\x82\xac",
	"\xf0\x9f\x94\x92",
	"\xf4\x8f\xbf\xbf",
	"\xc2\xa0",
	"-n",
	"--",
	"fairlock",
	"fairlock_log",
	"fairlock_holders",
	"\xef\xbf\xbd",
	"\xed\x9f\xbf",
	"\xee\x80\x80",
	"*",
};

static const char *const wrong[] = {
	"",
	/* control characters */
	"\n",
	"a\tb",
	"a\x1f",
	"\x7f",
	"\xc2\x80",
	"\xc2\x9f",
	/* not UTF-8: cut short, continuation alone, overlong, surrogate, too large */
	"\xc3",
	"\xe2\x82",
	"\xf0\x9f\x94",
	"\x80",
	"a\xff",
	"\xc0\xaf",
	"\xc1\xbf",
	"\xe0\x80\xaf",
	"\xe0\x9f\xbf",
	"\xf0\x80\x80\xaf",
	"\xf0\x8f\xbf\xbf",
	"\xed\xa0\x80",
	"\xed\xbf\xbf",
	"\xf4\x90\x80\x80",
	"\xf5\x80\x80\x80",
	"\xf8\x88\x80\x80\x80",
	"\xfe",
	"\xe2\x28\xa1",
	/* keys of locks */
	"redisson_lock_queue:x",
	"redisson_lock_timeout:{x}",
	"redisson_lock__channel:x",
	"fairlock:x",
	"fairlock:{x}",
	"fairlock_log:x",
	"fairlock_holders:x",
	"fairlock:",
	/* several slots */
	"a}b",
	"}",
	"a{b",
	"a{}b",
	"{}",
	"{",
	"a{}{b}",
	"a}{b",
};

static void check_keys(struct tally *tally)
{
	struct lock_keys keys;
	struct error err;

	CHECK(tally, lock_keys_make(&keys, "job", &err) == 0);
	CHECK(tally, strcmp(keys.name, "job") == 0);
	CHECK(tally, strcmp(keys.queue, "redisson_lock_queue:{job}") == 0);
	CHECK(tally, strcmp(keys.timeouts, "redisson_lock_timeout:{job}") == 0);
	CHECK(tally, strcmp(keys.state, "fairlock:{job}") == 0);
	CHECK(tally, strcmp(keys.log, "fairlock_log:{job}") == 0);
	CHECK(tally, strcmp(keys.holders, "fairlock_holders:{job}") == 0);
	CHECK(tally, strcmp(keys.channel, "redisson_lock__channel:{job}") == 0);
	CHECK(tally, lock_keys_make(&keys, "a{b}c", &err) == 0);
	CHECK(tally, strcmp(keys.name, "a{b}c") == 0);
	CHECK(tally, strcmp(keys.queue, "redisson_lock_queue:a{b}c") == 0);
	CHECK(tally, strcmp(keys.channel, "redisson_lock__channel:a{b}c") == 0);
}

static void check_length(struct tally *tally)
{
	struct lock_keys keys;
	struct error err;
	char name[NAME_MAX_BYTES + 2] = "";

	memset(name, 'n', NAME_MAX_BYTES);
	CHECK(tally, lock_keys_make(&keys, name, &err) == 0);
	CHECK(tally, strlen(keys.channel) == strlen("redisson_lock__channel:{}") + NAME_MAX_BYTES);
	name[NAME_MAX_BYTES] = 'n';
	CHECK(tally, lock_keys_make(&keys, name, &err) == -1);
	CHECK(tally, err.status == STATUS_USAGE);
}

int main(void)
{
	struct tally tally = {0};
	struct lock_keys keys;
	struct error err;

	for (size_t i = 0; i < COUNT(right); i++) {
		int result = lock_keys_make(&keys, right[i], &err);

		if (result)
			printf("'%s': %s\n", right[i], err.text);
		CHECK(&tally, result == 0);
	}
	for (size_t i = 0; i < COUNT(wrong); i++) {
		int result = lock_keys_make(&keys, wrong[i], &err);

		if (result == 0)
			printf("wrong[%zu] '%s' passed\n", i, wrong[i]);
		CHECK(&tally, result == -1 && err.status == STATUS_USAGE);
	}
	check_keys(&tally);
	check_length(&tally);
	return conclude(&tally);
}
