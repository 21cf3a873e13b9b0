/* The time of a step, the header of a syslog datagram, and the order in which both are told. */
#include "base/message.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"

/* The text of a struct error, and some words around it. */
#define TEXT_MAX_BYTES 800
#define DATAGRAM_MAX_BYTES 1024 /* every syslog takes as much */

void message_step(const struct messenger *messenger, const char *format, ...)
{
	char text[TEXT_MAX_BYTES];
	va_list args;
	int64_t ms;

	if (!messenger || !messenger->verbose)
		return;
	ms = clock_ms() - messenger->start_ms;
	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	complain_in_passing("[%5" PRId64 ".%03" PRId64 "] %s", ms / 1000, ms % 1000, text);
}

/* ---- Syslog ---- */

/* "<PRIORITY>Nov 21 03:00:01 fairlock[PID]: TEXT" */
static void format_datagram(char datagram[DATAGRAM_MAX_BYTES], const struct messenger *messenger,
			    int priority, const char *text)
{
	char stamp[TIMESTAMP_MAX_BYTES];

	snprintf(datagram, DATAGRAM_MAX_BYTES, "<%d>%s fairlock[%d]: %s", LOG_USER | priority,
		 timestamp_local(stamp, wall_ms(), TIMESTAMP_LONG), (int)messenger->pid, text);
	tame(datagram);
}

static int send_datagram(const char *datagram)
{
	const struct sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = _PATH_LOG};
	const int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	ssize_t sent;
	int cause;

	if (fd < 0)
		return -1;
	sent = sendto(fd, datagram, strlen(datagram), MSG_DONTWAIT | MSG_NOSIGNAL,
		      (const struct sockaddr *)&address, sizeof(address));
	cause = errno;
	close(fd);
	errno = cause;
	return sent < 0 ? -1 : 0;
}

void message_syslog(struct messenger *messenger, int priority, const char *text)
{
	char datagram[DATAGRAM_MAX_BYTES];

	if (!messenger->syslog)
		return;
	format_datagram(datagram, messenger, priority, text);
	if (send_datagram(datagram) == 0)
		return;
	if (!messenger->is_deaf)
		message_step(messenger, "cannot tell syslog: %s: %s", _PATH_LOG, strerror(errno));
	messenger->is_deaf = true;
}

/* ---- Both ---- */

void message_event(struct messenger *messenger, int priority, const char *format, ...)
{
	char text[TEXT_MAX_BYTES];
	va_list args;

	if (!messenger->verbose && !messenger->syslog)
		return;
	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	message_step(messenger, "%s", text);
	message_syslog(messenger, priority, text);
}

void message(struct messenger *messenger, int priority, const char *format, ...)
{
	char text[TEXT_MAX_BYTES];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	complain_in_passing("%s", text);
	message_syslog(messenger, priority, text);
}
