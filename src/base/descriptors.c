/* A file may be a pipe, which gives its text in pieces. close_range(2) came with Linux 5.9. */
#include "base/descriptors.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

ssize_t read_file(const char *path, char *text, size_t size)
{
	const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	size_t length = 0;
	ssize_t got;
	int cause;

	if (fd < 0)
		return -1;
	do {
		got = read(fd, text + length, size - length);
		length += got > 0 ? (size_t)got : 0;
	} while ((got > 0 && length < size) || (got < 0 && errno == EINTR));
	cause = errno;
	close(fd);
	errno = cause;
	return got < 0 ? -1 : (ssize_t)length;
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

int connect_unix(const char *path)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd;

	if (strlen(path) >= sizeof(address.sun_path)) {
		errno = ENAMETOOLONG;
		return -1;
	}
	strcpy(address.sun_path, path);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof(address)) == 0)
		return fd;
	close(fd); /* and leaves errno as it is */
	return -1;
}
