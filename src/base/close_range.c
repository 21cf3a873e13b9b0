#include "base/close_range.h"

#include <sys/syscall.h>
#include <unistd.h>

void close_descriptors_from(unsigned int first, unsigned int last)
{
	int count = getdtablesize();

	/* Linux 5.9; musl has no function for it */
	if (syscall(SYS_close_range, first, last, 0) == 0)
		return;
	for (unsigned int fd = first; fd <= last && (int)fd < count; fd++)
		close((int)fd);
}
