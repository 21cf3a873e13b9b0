/* Says the script's lines over real socket pairs; the world's clock says when. */
#include "peers.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "fuzz.h"

#define PEERS 16
/* The server refuses so many connections before it says that there is no hope. */
#define REFUSALS 20

struct peer {
	int client, fd;
	const char *at, *end; /* the rest of its script */
	bool hangs_up;        /* behind that */
	bool has_heard;       /* the client said something since the peer last spoke */
	bool is_hasty;        /* speaks without that */
};

static struct {
	const char *at, *end; /* the script for the connections to come */
	struct peer peers[PEERS];
	size_t peer_count;
	unsigned refusals;
} server;

/* Bytes to send at once; a longer speech is cut off. */
struct speech {
	char bytes[1 << 17];
	size_t length;
};

static void add(struct speech *speech, const char *bytes, size_t length)
{
	const size_t room = sizeof(speech->bytes) - speech->length;
	const size_t most = length < room ? length : room;

	memcpy(speech->bytes + speech->length, bytes, most);
	speech->length += most;
}

/* Adds a bulk string; \n in it becomes \r\n. */
static void add_string(struct speech *speech, const char *text, size_t length)
{
	char head[32];

	add(speech, head, (size_t)snprintf(head, sizeof(head), "$%zu\r\n", length));
	for (size_t i = 0; i < length; i++) {
		const bool is_end = text[i] == '\\' && i + 1 < length && text[i + 1] == 'n';

		add(speech, is_end ? "\r\n" : text + i, is_end ? 2 : 1);
		i += is_end;
	}
	add(speech, "\r\n", 2);
}

/* Returns the end of the line at *at, and moves *at behind it. */
static const char *next_line(const char **at, const char *end)
{
	const char *newline = memchr(*at, '\n', (size_t)(end - *at));
	const char *line_end = newline ? newline : end;

	*at = newline ? newline + 1 : end;
	return line_end;
}

static bool is_mark(const char *line, const char *end, const char *mark)
{
	return end - line == 3 && memcmp(line, mark, 3) == 0;
}

/* Whether the line is a pause; notes which kind. */
static bool take_pause(struct peer *peer, const char *line, const char *end)
{
	peer->is_hasty = is_mark(line, end, "...");
	return peer->is_hasty || is_mark(line, end, "---");
}

/* Sends all up to the next pause. A client that does not read misses it. */
static void send_speech(struct peer *peer)
{
	static struct speech speech;
	bool pauses = false;

	speech.length = 0;
	while (peer->at < peer->end && !pauses) {
		const char *line = peer->at, *end = next_line(&peer->at, peer->end);
		const size_t length = (size_t)(end - line);

		pauses = take_pause(peer, line, end);
		if (length > 0 && *line == '"')
			add_string(&speech, line + 1, length - 1);
		else if (!pauses)
			add(&speech, line, length);
		if (!pauses && *line != '"' && end < peer->end)
			add(&speech, "\r\n", 2);
	}
	(void)!send(peer->fd, speech.bytes, speech.length, MSG_DONTWAIT | MSG_NOSIGNAL);
	peer->has_heard = false;
}

static void hang_up(struct peer *peer)
{
	if (peer->fd >= 0)
		close(peer->fd);
	peer->fd = -1;
}

/* Returns the peer of the last connection over the client's descriptor. */
static struct peer *find_peer(int client)
{
	for (size_t i = server.peer_count; i > 0; i--)
		if (server.peers[i - 1].client == client)
			return &server.peers[i - 1];
	return NULL;
}

/* If a peer has this descriptor already, the client has closed that connection. */
static struct peer *make_peer(int client, int fd)
{
	struct peer *peer = find_peer(client);

	if (!peer) {
		HOLDS(server.peer_count < PEERS);
		peer = &server.peers[server.peer_count++];
		peer->fd = -1;
	}
	hang_up(peer);
	*peer = (struct peer){.client = client, .fd = fd};
	return peer;
}

/* Gives the peer its part of the script. */
static void take_script(struct peer *peer)
{
	static const char no_hope[] = "%0\n-ERR no hope\n-ERR no hope\n";

	if (server.at == server.end) {
		peer->at = no_hope;
		peer->end = no_hope + strlen(no_hope);
		return;
	}
	peer->at = peer->end = server.at;
	while (server.at < server.end && !peer->hangs_up) {
		const char *line = server.at, *end = next_line(&server.at, server.end);

		peer->hangs_up = is_mark(line, end, "===");
		peer->end = peer->hangs_up ? line : server.at;
	}
}

int peers_accept(void)
{
	int ends[2];
	struct peer *peer;

	if (server.at == server.end && ++server.refusals < REFUSALS) {
		errno = ECONNREFUSED;
		return -1;
	}
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends) < 0)
		abort();
	peer = make_peer(ends[0], ends[1]);
	take_script(peer);
	if (peer->end - peer->at > 3 && memcmp(peer->at, "...\n", 4) == 0) {
		peer->at += 4;
		send_speech(peer);
	}
	return ends[0];
}

void peers_hear(void)
{
	static char bytes[65536];

	for (size_t i = 0; i < server.peer_count; i++)
		while (server.peers[i].fd >= 0 &&
		       recv(server.peers[i].fd, bytes, sizeof(bytes), MSG_DONTWAIT) > 0)
			server.peers[i].has_heard = true;
}

struct peer *peers_awaited(const struct pollfd *slots, nfds_t count)
{
	struct peer *peer = NULL;

	for (nfds_t i = 0; i < count && !peer; i++) {
		peer = slots[i].fd >= 0 && (slots[i].events & POLLIN) ? find_peer(slots[i].fd)
								      : NULL;
		peer = peer && peer->fd >= 0 ? peer : NULL;
	}
	return peer;
}

bool peers_act(struct peer *peer, bool is_urgent)
{
	const bool is_done = peer->at == peer->end;

	if (is_done && !peer->hangs_up && !is_urgent)
		return false;
	if (is_done)
		hang_up(peer);
	else if (peer->has_heard || peer->is_hasty || is_urgent)
		send_speech(peer);
	else
		return false;
	return true;
}

void peers_begin(const char *script, size_t length)
{
	server.at = script;
	server.end = script + length;
	server.peer_count = server.refusals = 0;
}

void peers_end(void)
{
	for (size_t i = 0; i < server.peer_count; i++)
		hang_up(&server.peers[i]);
}
