/* Reads the URL of a server. */
#pragma once

#include <stddef.h>

#include "base/error.h"
#include "redis/server.h"

/* Parses a URL of the forms that the manual lists. Returns 0, or -1 with STATUS_CONFIG and an empty
 * *server. Never quotes a password in err. */
int server_parse(struct server *server, const char *url, struct error *err);

/* The schemes that it knows ("redis://"), in the order in which completion offers them; NULL behind
 * the last. */
const char *server_scheme_at(size_t index);

/* Overwrites the password in a URL, well-formed or not, with asterisks. */
void server_hide_password(char *url);
