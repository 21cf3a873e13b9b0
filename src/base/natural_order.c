/* Of two numbers without zeros in front, the longer one is larger. */
#include "base/natural_order.h"

#include <stddef.h>
#include <string.h>

#define DIGITS "0123456789"

/* Where the number begins that has the character at `at`, or at whose end this is. */
static size_t beginning(const char *text, size_t at)
{
	while (at > 0 && text[at - 1] >= '0' && text[at - 1] <= '9')
		at--;
	return at;
}

int natural_order(const char *a, const char *b)
{
	size_t at = 0, number, a_digits, b_digits;

	while (a[at] && a[at] == b[at])
		at++;
	number = beginning(a, at);
	a_digits = strspn(a + number, DIGITS);
	b_digits = strspn(b + number, DIGITS);
	if (a_digits && b_digits && a_digits != b_digits && a[number] != '0' && b[number] != '0')
		return a_digits < b_digits ? -1 : 1;
	return (unsigned char)a[at] - (unsigned char)b[at];
}
