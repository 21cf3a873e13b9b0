/* strtoll(3) would take blanks, signs and whatever follows the digits. */
#include "base/number.h"

int number_parse(const char *text, size_t length, int64_t *number)
{
	*number = 0;
	for (size_t i = 0; i < length; i++) {
		if (text[i] < '0' || text[i] > '9' || __builtin_mul_overflow(*number, 10, number) ||
		    __builtin_add_overflow(*number, text[i] - '0', number))
			return -1;
	}
	return 0;
}
