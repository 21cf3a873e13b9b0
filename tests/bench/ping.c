/* The least that a program can do that asks a Redis server something: connect, PING, end.
 *
 * ping SOCKET */

#include <hiredis/hiredis.h>
#include <stddef.h>

int main(int argc, char **argv)
{
	redisContext *server = argc == 2 ? redisConnectUnix(argv[1]) : NULL;

	return !server || server->err || !redisCommand(server, "PING");
}
