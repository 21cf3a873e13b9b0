#include "redis/endpoint.h"

#include <stdlib.h>
#include <string.h>

bool endpoint_set_port(struct endpoint *endpoint, const char *text)
{
	const size_t digits = strspn(text, "0123456789");
	const long port = strtol(text, NULL, 10);

	if (digits == 0 || text[digits] || port < 1 || port > UINT16_MAX)
		return false;
	endpoint->port = (uint16_t)port;
	return true;
}
