/* Checks that output is well-formed, without the code of src/ that made it. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Strict UTF-8 that cannot drive a terminal: it has no control characters but these. */
bool valid_text(const char *text, size_t length, const char *controls);

/* The same, and nothing in it turns the direction of writing. */
bool harmless_text(const char *text, size_t length, const char *controls);

/* Messages: lines of moderate length that begin with "fairlock: ". */
bool valid_messages(const char *text, size_t length);

/* Texts of JSON, one after another, as RFC 8259 has them; harmless_text is true of them. */
bool valid_json(const char *text);

/* Prometheus's text exposition format, as far as fairlock uses it; a NUL stands behind it. */
bool valid_metrics(const char *text, size_t length);
