/* close_range(2), which came with Linux 5.9, or one close(2) after the other. */
#include "base/close_range.h"

#include <sys/syscall.h>
#include <unistd.h>

void close_descriptors_from(unsigned int first, unsigned int last)
{
	const int count = getdtablesize();

	/* musl has no function for it */
	if (syscall(SYS_close_range, first, last, 0) == 0)
		return;
	for (unsigned int fd = first; fd <= last && (int)fd < count; fd++)
		close((int)fd);
}
