/* A file may be a pipe, which gives its text in pieces. close_range(2) came with Linux 5.9. */
#include "base/descriptors.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Returns whether there is text, or the end of it. A signal begins the time anew. */
static bool await_text(int fd)
{
	struct pollfd slot = {.fd = fd, .events = POLLIN};
	const int found = poll(&slot, 1, READ_FILE_SECONDS * 1000);

	if (found == 0)
		errno = ETIMEDOUT;
	return found > 0 || errno == EINTR;
}

static ssize_t read_all(int fd, char *text, size_t size)
{
	size_t length = 0;
	ssize_t got;

	do {
		got = read(fd, text + length, size - length);
		length += got > 0 ? (size_t)got : 0;
	} while ((got > 0 && length < size) || (got < 0 && errno == EINTR) ||
		 (got < 0 && errno == EAGAIN && await_text(fd)));
	return got < 0 ? -1 : (ssize_t)length;
}

int read_file_open(const char *path)
{
	return open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
}

int read_file_open_prompt(const char *path)
{
	return open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
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

void close_descriptors_from(unsigned int first, unsigned int last)
{
	const int count = getdtablesize();

	/* musl has no function for it */
	if (syscall(SYS_close_range, first, last, 0) == 0)
		return;
	for (unsigned int fd = first; fd <= last && (int)fd < count; fd++)
		close((int)fd);
}
