/* Remedies for a server that is not reached, or does not serve. */
#pragma once

#include <stddef.h>

#include "base/error.h"
#include "redis/server.h"

/* Writes a remedy for the failure. It follows "->" in doctor's output, so it has no full stop. */
void remedy_write(char *text, size_t size, const struct error *err, const struct server *server);
