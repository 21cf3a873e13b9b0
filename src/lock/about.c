#include "lock/about.h"

#include <stdio.h>
#include <string.h>

/* Ends the word at *rest, which then begins behind it. */
static const char *next_word(char **rest)
{
	char *word = *rest;

	*rest += strcspn(word, "\t");
	if (**rest)
		*(*rest)++ = '\0';
	return word;
}

void about_read(struct about *about, const char *by)
{
	char *rest = about->text;

	snprintf(about->text, sizeof(about->text), "%s", by);
	about->host = next_word(&rest);
	about->pid = next_word(&rest);
	about->user = next_word(&rest);
	about->command = rest;
}
