#pragma once

#include <stdbool.h>
#include <stdint.h>

/* No DNS name is longer. */
#define HOST_MAX_BYTES 256

/* A host, by name or address, and a TCP port; port 0: none. */
struct endpoint {
	char host[HOST_MAX_BYTES];
	uint16_t port;
};

/* Sets the port from a text of digits. Returns false, and changes nothing, when that is no port. */
bool endpoint_set_port(struct endpoint *endpoint, const char *text);
