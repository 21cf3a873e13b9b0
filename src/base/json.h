/* Writes JSON to standard output. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* A JSON text under way, which knows when a comma is due. Starts as {0}. A key is a member's name,
 * and is written in small letters; NULL: an element of an array, or the outermost value. */
struct json {
	bool comma_due;
	int depth;
};

/* The bracket is '{' or '['. */
void json_open(struct json *json, const char *key, char bracket);

/* The bracket is '}' or ']'. The outermost ends the line. */
void json_close(struct json *json, char bracket);

/* A string; null for NULL and "". Bytes that are no UTF-8 become U+FFFD. */
void json_text(struct json *json, const char *key, const char *text);

/* A number, true, false or null, as printf writes it. */
__attribute__((format(printf, 3, 4))) void json_printf(struct json *json, const char *key,
						       const char *format, ...);

/* The next member or element begins on a line of its own. */
void json_break_line(struct json *json);
