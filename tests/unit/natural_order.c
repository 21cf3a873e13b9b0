/* Every text is less than all behind it. */
#include "base/natural_order.h"

#include "check.h"

static const char *const ordered[] = {
	"",      "-",    "0",    "007",   "01",   "1",     "1b",    "2",        "10",
	"10b",   "100",  "8999", "job",   "job-", "job1",  "job1-", "job1.9",   "job1.10",
	"job1b", "job2", "job9", "job10", "joba", "nona1", "none",  "\xc3\xa4",
};

int main(void)
{
	struct tally tally = {0};

	for (size_t i = 0; i < COUNT(ordered); i++) {
		for (size_t j = 0; j < COUNT(ordered); j++) {
			const int order = natural_order(ordered[i], ordered[j]);

			if ((order > 0) - (order < 0) != (i > j) - (i < j))
				printf("'%s' and '%s': %d\n", ordered[i], ordered[j], order);
			CHECK(&tally, (order > 0) - (order < 0) == (i > j) - (i < j));
		}
	}
	return conclude(&tally);
}
