#include "base/shell_quote.h"

#include <stdio.h>
#include <string.h>

const char *shell_quote(char *quoted, size_t size, const char *word)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
				    "_./:@%+=-";
	const char *mark = *word && word[strspn(word, plain)] == '\0' ? "" : "'";
	size_t length = (size_t)snprintf(quoted, size, "%s", mark);

	for (; *word && length + 6 < size; word++)
		length += (size_t)snprintf(quoted + length, size - length, "%.*s",
					   *word == '\'' ? 4 : 1, *word == '\'' ? "'\\''" : word);
	snprintf(quoted + length, size - length, "%s", mark);
	return *word ? NULL : quoted;
}
