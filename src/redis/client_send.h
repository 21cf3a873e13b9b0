/* The commands that a client sends. For client.c. */
#pragma once

#include "redis/client_state.h"

/* Subscribes to the channels that this connection has not got yet. */
void client_send_subscriptions(struct client *client);

/* Sends client->request; whole_script: with its script's text, which this server does not know. */
void client_send_request(struct client *client, bool whole_script);

/* Asks how many replicas have all that this connection wrote. */
void client_send_wait(struct client *client);
