#include "cli/read_file.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

/* Reads at most size bytes. Returns their number, or -1 with errno. */
static ssize_t read_all(int fd, char *text, size_t size)
{
	size_t length = 0;

	while (length < size) {
		ssize_t got = read(fd, text + length, size - length);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -1;
		if (got == 0)
			break;
		length += (size_t)got;
	}
	return (ssize_t)length;
}

int read_file_open(const char *path)
{
	return open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
}

ssize_t read_file(int fd, char *text, size_t size)
{
	ssize_t length;
	int saved;

	if (fd < 0)
		return -1;
	length = read_all(fd, text, size);
	saved = errno;
	close(fd);
	errno = saved;
	return length;
}
