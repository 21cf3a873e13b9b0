/* A shell asks getent for us: it gets nothing from this process but its question and our open
 * files, prints no more than we read, and is gone after five seconds, with all that it has started.
 */
#include "base/getent.h"

#include <limits.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>

#define ASK                                                                                        \
	"exec 2>/dev/null\n"                                                                       \
	"program=$(command -v getent || PATH=/usr/bin:/bin command -v getent) &&\n"                \
	"env -i PATH=/usr/bin:/bin timeout -s KILL 5 \"$program\" passwd %u </dev/null |\n"        \
	"head -c 4000"

/* Fills line with what getent prints: nothing if there is no getent. */
static void ask_getent(uid_t uid, char *line, size_t size)
{
	char command[sizeof(ASK) + 16];
	FILE *answer;

	snprintf(command, sizeof(command), ASK, (unsigned int)uid);
	answer = popen(command, "re");
	line[answer ? fread(line, 1, size - 1, answer) : 0] = '\0';
	if (answer)
		pclose(answer);
}

/* Returns the entry in a whole line of the password database; NULL: there is none. */
static const struct passwd *read_entry(char *line)
{
	FILE *file = strchr(line, '\n') ? fmemopen(line, strlen(line), "r") : NULL;
	const struct passwd *entry = file ? fgetpwent(file) : NULL;

	if (file)
		fclose(file);
	return entry;
}

static void find_home(uid_t uid, char home[PATH_MAX])
{
	const struct passwd *entry = getpwuid(uid);
	char line[PATH_MAX];

	if (!entry) {
		ask_getent(uid, line, sizeof(line));
		entry = read_entry(line);
	}
	if (!entry || entry->pw_uid != uid ||
	    (size_t)snprintf(home, PATH_MAX, "%s", entry->pw_dir) >= PATH_MAX)
		*home = '\0';
}

const char *getent_home(uid_t uid)
{
	static char home[PATH_MAX];
	static uid_t owner = (uid_t)-1; /* nobody */

	if (owner != uid)
		find_home(uid, home);
	owner = uid;
	return *home ? home : NULL;
}
