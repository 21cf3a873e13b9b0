#pragma once

struct server;

/* The URL of a server without its passwords, to show and to hand on; scheme is what it begins with.
 * The caller frees it. NULL: there is no memory. */
char *server_label(const struct server *server, const char *scheme);
