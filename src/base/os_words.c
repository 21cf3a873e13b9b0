/* Those words that differ between musl and glibc, and the commonest ones of a connection. */
#include "base/os_words.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

static const struct {
	int code;
	const char *words;
} words[] = {
	{ECONNREFUSED, "Connection refused"},
	{ETIMEDOUT, "Connection timed out"},
	{ECONNRESET, "Connection reset by peer"},
	{ECONNABORTED, "Connection aborted"},
	{EPIPE, "Broken pipe"},
	{EHOSTUNREACH, "No route to host"},
	{EHOSTDOWN, "Host is down"},
	{ENETUNREACH, "Network is unreachable"},
	{ENETDOWN, "Network is down"},
	{EADDRNOTAVAIL, "Address not available"},
	{EAFNOSUPPORT, "Address family not supported"},
	{ENOENT, "No such file or directory"},
	{EACCES, "Permission denied"},
	{ENAMETOOLONG, "File name too long"},
	{EAGAIN, "Resource temporarily unavailable"},
	{ENOMEM, "Out of memory"},
	{EMFILE, "Too many open files"},
	{ENFILE, "Too many open files in system"},
};

#define WORDS (sizeof(words) / sizeof(words[0]))

const char *os_words(int code)
{
	for (size_t i = 0; i < WORDS; i++)
		if (words[i].code == code)
			return words[i].words;
	return strerror(code);
}

const char *os_words_for(const char *text)
{
	for (size_t i = 0; i < WORDS; i++)
		if (strcmp(text, strerror(words[i].code)) == 0)
			return words[i].words;
	return text;
}
