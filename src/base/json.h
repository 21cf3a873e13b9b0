/* JSON for programs that read our output. */
#pragma once

/* Writes a JSON string, with its quotes, to standard output. A byte that is not UTF-8 becomes
 * U+FFFD. */
void json_print_string(const char *text);
