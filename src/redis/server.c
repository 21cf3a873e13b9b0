/* The label is a URL that server_parse reads as the same server, without its passwords. */
#include "redis/server.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define UNRESERVED_BYTES                                                                           \
	"abcdefghijklmnopqrstuvwxyz"                                                               \
	"ABCDEFGHIJKLMNOPQRSTUVWXYZ"                                                               \
	"0123456789-._~"

static void write_encoded(FILE *out, const char *text)
{
	for (; *text != '\0'; text++) {
		if (strchr(UNRESERVED_BYTES, *text))
			putc(*text, out);
		else
			fprintf(out, "%%%02X", (unsigned)(unsigned char)*text);
	}
}

static void write_tcp_label(FILE *out, const struct server *server)
{
	if (server->user) {
		write_encoded(out, server->user);
		fputs(":@", out);
	}
	for (size_t i = 0; i < server->seed_count; i++) {
		const struct endpoint *seed = &server->seeds[i];
		const bool bracket = strchr(seed->host, ':') != NULL;

		fprintf(out, "%s%s%s%s:%u", i ? "," : "", bracket ? "[" : "", seed->host,
			bracket ? "]" : "", seed->port);
	}
	if (server->master) {
		putc('/', out);
		write_encoded(out, server->master);
	}
	if (server->db)
		fprintf(out, "/%d", server->db);
}

static void write_unix_label(FILE *out, const struct server *server)
{
	fputs(server->path, out);
	if (server->db)
		fprintf(out, "?db=%d", server->db);
	if (server->user) {
		fputs(server->db ? "&user=" : "?user=", out);
		write_encoded(out, server->user);
	}
}

char *server_label(const struct server *server, const char *scheme)
{
	char *label = NULL;
	size_t length;
	FILE *out;

	if (server->kind == SERVER_LOCAL)
		return strdup(scheme);
	out = open_memstream(&label, &length);
	if (out == NULL)
		return NULL;
	fputs(scheme, out);
	if (server->kind == SERVER_UNIX)
		write_unix_label(out, server);
	else
		write_tcp_label(out, server);
	if (fclose(out) == 0)
		return label;
	free(label);
	return NULL;
}

bool server_is_list(const struct server *server)
{
	return server->kind == SERVER_TCP && server->seed_count > 1;
}

const char *server_shown(const struct server *server)
{
	return server->kind == SERVER_LOCAL ? "the private server" : server->label;
}

int server_fail(const struct server *server, struct error *err, enum status status,
		const char *verb, const char *cause)
{
	return fail_about(err, status, verb, server_shown(server), cause);
}

void server_free(struct server *server)
{
	free(server->seeds);
	free(server->master);
	free(server->path);
	free(server->user);
	free(server->password);
	free(server->sentinel_user);
	free(server->sentinel_password);
	free(server->label);
	memset(server, 0, sizeof(*server));
}
