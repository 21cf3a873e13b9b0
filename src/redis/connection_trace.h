/* Tells the steps that a connection takes by itself (--verbose). */
#pragma once

#include <stdbool.h>

#include "base/error.h"

struct client;
struct messenger;

struct connection_trace {
	const struct messenger *messenger;
	unsigned connections; /* so many of them are told */
	unsigned launches;
	unsigned refusals;
	bool told_absence;
	char trouble[sizeof(((struct error *)0)->text)]; /* the last that was told, or "" */
};

/* Tells what is new since the last call: a private server's start, trouble, that it is connected.
 * Without --verbose it tells only people who wait for a server that is not there yet. */
void connection_trace_tell(struct connection_trace *steps, const struct client *client);

/* For a client with steps: tells what it is about to ask, "who holds lock" and the name, ... */
void connection_trace_ask(const struct client *client, const char *question, const char *about);

/* ... and how long the server took to answer. */
void connection_trace_answer(const struct client *client);

/* Skips the steps until now: another process has told them. */
void connection_trace_skip(struct connection_trace *steps, const struct client *client);
