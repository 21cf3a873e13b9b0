#pragma once

#include <stdbool.h>

struct command;
struct server;

/* There are three executables, made of main.c and one of two files that each implement this header.
 * fairlock-full (program_full.c) has every command. Half of the time of a short job is the start of
 * processes, and most of that is the dynamic loader and what a large C library does at the start.
 * So fairlock (program_static.c) is linked statically with musl, does itself what jobs do, and
 * becomes fairlock-full for the rest. Loading OpenSSL costs more than all the rest together:
 * fairlock-tls, which is fairlock-full and redis/tls.c, is for those who use TLS. Where it is not
 * built so, fairlock is the full one. */

/* The commands that this executable knows. Ends with a NULL. */
extern const struct command *const program_commands[];

/* Whether it can deal with this server itself. */
bool program_reaches(const struct server *server);

/* Does what is not for program_commands, or (server is not NULL) for program_reaches. argv is as
 * main got it. Returns the exit status. */
int program_other(int argc, char **argv, const struct server *server);

/* Becomes one of the other executables, which lies beside this one or where an installation puts
 * it. Returns the exit status if it cannot. */
int program_become(const char *name, char **argv);
