#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Whether others can read what is printed. None of it is told by what src/ has for the same end. */

/* Strict UTF-8 in which nothing drives a terminal: no control characters but these. */
bool valid_text(const char *text, size_t length, const char *controls);

/* One message, or several: lines of moderate length that begin with "fairlock: ". */
bool valid_messages(const char *text, size_t length);

/* Texts of JSON, one after another, as RFC 8259 has them. */
bool valid_json(const char *text, size_t length);

/* Prometheus's text exposition format, as far as it is used. */
bool valid_metrics(const char *text, size_t length);
