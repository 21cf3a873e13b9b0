/* The programs that fairlock consists of. Each is made of main.c and one of the two files that
 * implement this header: program_static.c and program_full.c. */
#pragma once

#include <stdbool.h>

struct command;
struct options;
struct server;

/* fairlock-full has every command. Half of the time of a short job is the start of processes, and
 * most of that is the dynamic loader and a large C library. So fairlock is linked statically with
 * musl, runs the commands that jobs need, and executes fairlock-full for the rest. Loading OpenSSL
 * takes longer than all the rest together, so TLS has a program of its own: fairlock-tls is
 * fairlock-full with redis/tls.c. Without musl, fairlock is the full program. "make static" links
 * fairlock-tls statically with musl: it reaches every server and executes no other program. */

/* The commands of this program. Ends with a NULL. */
extern const struct command *const program_commands[];

/* Whether this program can reach the server. */
bool program_reaches(const struct server *server);

/* Does what --help, --version or -o help of a command asks for. argv is that of main. Returns the
 * exit status. */
int program_help(const struct command *command, const struct options *options, char **argv);

/* Does the rest: a command that is not in program_commands, options without a command, or a server
 * (unless it is NULL) that program_reaches refused. argv is that of main. Returns the exit
 * status. */
int program_other(int argc, char **argv, const struct server *server);

/* Executes one of the other programs, which lies beside this one or where an installation puts it.
 * Returns only if it cannot, with the exit status. */
int program_become(const char *name, char **argv);
