/* The least that a client of a Redis server can do: connect, PING, end.
 *
 * ping SOCKET */

#include <hiredis/hiredis.h>
#include <stddef.h>

int main(int argc, char **argv)
{
	redisContext *server = argc == 2 ? redisConnectUnix(argv[1]) : NULL;

	return !server || server->err || !redisCommand(server, "PING");
}
