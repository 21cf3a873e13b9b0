/* What the system says when it fails, in the same words in each of our programs: the C libraries of
 * the static and the other ones have different words for some errors. */
#pragma once

/* The words for a value of errno. */
const char *os_words(int code);

/* The same for words that a library has taken from strerror(3). Other text stays as it is. */
const char *os_words_for(const char *text);
