#pragma once

/* Writes a JSON string, with its quotes, to standard output. What is no UTF-8 becomes U+FFFD. */
void json_print_string(const char *text);
