/* The Lua scripts, which the build makes C of. */
#pragma once

/* A script of lua/, joined with its parts. */
struct script {
	const char *sha1; /* of text, in hex */
	const char *text;
};

/* The permissions that a user needs, from lua/parts/permissions.lua: a line for each object,
 * "OBJECT: COMMANDS; COMMANDS". */
extern const char script_needs[];

extern const struct script script_acquire;
extern const struct script script_renew;
extern const struct script script_release;
extern const struct script script_leave;
extern const struct script script_look;
