/* Values of --slots that are right, and what is wrong with others. */
#include "base/slots.h"

#include <stdio.h>
#include <string.h>

#include "check.h"
#include "lock/want.h"

#define BYTES_64 "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static const struct {
	const char *value, *want;
} right[] = {
	{"1", "#1"},
	{"1000", "#1000"},
	{"db1", "=db1"},
	{"db1,db2,db3", "=db1,db2,db3"},
	{"a,aa,A", "=a,aa,A"},
	{"1a,2.", "=1a,2."},
	{"x,s,#3,=y", "=x,s,#3,=y"},
	{"\xc3\xa4,\xe2\x82\xac", "=\xc3\xa4,\xe2\x82\xac"},
	{BYTES_64 ",b", "=" BYTES_64 ",b"},
};

static const struct {
	const char *value, *fault;
} wrong[] = {
	{"0", "is no number of slots from 1 to 1000"},
	{"1001", "is no number of slots from 1 to 1000"},
	{"99999999999999999999", "is no number of slots from 1 to 1000"},
	{"03", "is no number of slots from 1 to 1000"},
	{"+3", "is no number of slots from 1 to 1000"},
	{"-3", "is no number of slots from 1 to 1000"},
	{"1.5", "is no number of slots from 1 to 1000"},
	{"", "has a slot without a name"},
	{",", "has a slot without a name"},
	{"a,", "has a slot without a name"},
	{"a,,b", "has a slot without a name"},
	{"1,2", "has a slot name of digits only"},
	{"a,7", "has a slot name of digits only"},
	{"a,b,a", "has a slot name twice"},
	{"a b", "has a blank or a control character"},
	{"a\tb", "has a blank or a control character"},
	{"a\xc2\xa0"
	 "b",
	 "has a blank or a control character"},
	{"a\xe2\x80\xae"
	 "b",
	 "has a blank or a control character"},
	{"a,\xff", "is not valid UTF-8"},
	{BYTES_64 "x", "has a slot name of more than 64 bytes"},
};

/* s0000,s0001,...: so many names. */
static const char *names(int count)
{
	static char text[8000];
	size_t at = 0;

	for (int i = 0; i < count; i++)
		at += (size_t)snprintf(text + at, sizeof(text) - at, "%ss%04d", i ? "," : "", i);
	return text;
}

int main(void)
{
	struct tally tally = {0};

	for (size_t i = 0; i < COUNT(right); i++) {
		CHECK(&tally, slots_fault(right[i].value) == NULL);
		CHECK(&tally, strcmp(want_make(right[i].value, false), right[i].want) == 0);
		CHECK(&tally, want_is_slot(want_make(right[i].value, false)));
	}
	for (size_t i = 0; i < COUNT(wrong); i++) {
		const char *fault = slots_fault(wrong[i].value);

		CHECK(&tally, fault && strcmp(fault, wrong[i].fault) == 0);
	}
	CHECK(&tally, slot_is_valid("1") && slot_is_valid("db1") && slot_is_valid(BYTES_64));
	CHECK(&tally, !slot_is_valid("") && !slot_is_valid("a,b") && !slot_is_valid("03"));
	CHECK(&tally, slots_fault(names(SLOTS_MOST)) == NULL);
	CHECK(&tally, strlen(want_make(names(SLOTS_MOST), false)) == 6UL * SLOTS_MOST);
	CHECK(&tally, slots_fault(names(SLOTS_MOST + 1)) != NULL);
	CHECK(&tally, strcmp(want_make(NULL, false), "x") == 0 && !want_is_slot("x"));
	CHECK(&tally, strcmp(want_make(NULL, true), "s") == 0 && !want_is_slot("s"));
	return conclude(&tally);
}
