/* Where a server is, who we are there, and how messages call it: what a URL says. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

#define HOST_MAX_BYTES 256 /* no DNS name is longer */

enum server_kind {
	SERVER_LOCAL, /* the private server of this user on this host */
	SERVER_UNIX,
	SERVER_TCP,      /* this one and those behind it have seeds */
	SERVER_SENTINEL, /* the master that sentinels name */
};

/* A host, by name or address, and a TCP port; port 0: none. */
struct endpoint {
	char host[HOST_MAX_BYTES];
	uint16_t port;
};

/* PEM files; NULL: none. The settings own the strings. */
struct tls_files {
	const char *ca;   /* the authorities to trust, a file or a folder; NULL: the system's */
	const char *cert; /* ours */
	const char *key;  /* of cert; NULL: it is in the same file */
	bool insecure;    /* trust any server */
};

struct server {
	enum server_kind kind;
	char *path;             /* SERVER_UNIX: the socket */
	struct endpoint *seeds; /* SERVER_TCP: tried in order; SERVER_SENTINEL: the sentinels */
	size_t seed_count;
	char *master; /* SERVER_SENTINEL: what the sentinels call it */
	bool tls;
	struct tls_files tls_files;
	char *user;                /* NULL: the default user */
	char *password;            /* NULL: none */
	const char *sentinel_user; /* NULL: the default user */
	char *sentinel_password;   /* NULL: none, or those above */
	int db;
	char *label; /* the URL without its password, to show and to hand on */
	/* Regular files, read for each connection: they may have changed. NULL: none. */
	const char *password_file;
	const char *sentinel_password_file;
	/* behind "it refuses": what the password came from; without one, behind "it wants" */
	const char *password_words;
	const char *sentinel_from; /* what the password for sentinels came from */
};

/* Reads a URL of the forms that the manual lists. Returns 0, or -1 with STATUS_CONFIG and an empty
 * *server. Never quotes a password in err. */
int server_parse(struct server *server, const char *url, struct error *err);

/* Frees the strings of *server, and empties it. */
void server_free(struct server *server);

/* Whether the URL is a list of hosts, which only a cluster has. */
bool server_is_list(const struct server *server);

/* The name of the server in messages. */
const char *server_shown(const struct server *server);

/* ---- Passwords ---- */

#define PASSWORD_MAX_BYTES 4096

/* Reads the first line of a file, without a byte order mark or a carriage return. Returns NULL, or
 * why there is no password. */
const char *password_read(const char *path, char text[PASSWORD_MAX_BYTES + 2]);

/* The first password of a URL in a command line. Without a user it may be that what stands before
 * the @ is the password, so that counts as one. Returns where it begins, with its length; or NULL.
 */
const char *password_find(const char *text, size_t *length);

/* Says what somebody has pasted by mistake with a URL or a password, such as "ends with a line
 * break"; NULL if nothing looks like that. */
const char *password_fault(const char *text);

/* Overwrites the password in a URL, otherwise well-formed or not, with asterisks. */
void server_hide_password(char *url);
