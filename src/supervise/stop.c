/* Where there is no /proc, signals reach COMMAND only. */
#include "supervise/stop.h"

#include <signal.h>

#include "base/clock.h"
#include "supervise/descendants.h"

#define KILL_REPEAT_MS 5

/* How long a guard whose COMMAND was just killed may take to give its lock back: as long as the
 * default of --connect-timeout. Most often it takes a few milliseconds. */
#define GIVE_BACK_MS 5000

static void signal_all(const struct stop *stop, int signo, bool spares_guards)
{
	if (descendants_signal(signo, stop->spare, spares_guards) < 0 && stop->command)
		kill(stop->command, signo);
}

void stop_begin(struct stop *stop, int signo, int64_t kill_ms)
{
	stop->kill_ms = kill_ms;
	stop->guards_ms = kill_ms + GIVE_BACK_MS;
	signal_all(stop, signo, signo == SIGKILL);
	signal_all(stop, SIGCONT, false);
}

bool stop_spares_guards(const struct stop *stop)
{
	return clock_ms() < stop->guards_ms;
}

void stop_kill(struct stop *stop)
{
	stop->kill_ms = clock_ms() + KILL_REPEAT_MS;
	signal_all(stop, SIGKILL, stop_spares_guards(stop));
}
