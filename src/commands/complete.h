/* fairlock --complete WORD...: the words that a shell may offer. */
#pragma once

/* The WORDs are those of a command line behind "fairlock", up to the one that is being completed,
 * which may be empty. Prints one candidate a line: the whole word, and behind a tab its meaning, if
 * there is something to say. A line that begins with a tab leaves the work to the shell:
 *
 *	TAB files N     file names; N bytes of the word come before the file name
 *	TAB command N   a command line of its own, that begins with the N-th WORD
 *	                (the first is 0) */
void complete(int argc, char **argv);
