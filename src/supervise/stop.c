/* Where there is no /proc, signals reach COMMAND only. */
#include "supervise/stop.h"

#include <signal.h>

#include "base/clock.h"
#include "supervise/descendants.h"

#define KILL_REPEAT_MS 5

static void signal_all(const struct stop *stop, int signo)
{
	if (descendants_signal(signo, stop->spare) < 0 && stop->command)
		kill(stop->command, signo);
}

void stop_begin(struct stop *stop, int signo, int64_t kill_ms)
{
	stop->kill_ms = kill_ms;
	signal_all(stop, signo);
	signal_all(stop, SIGCONT);
}

void stop_kill(struct stop *stop)
{
	stop->kill_ms = clock_ms() + KILL_REPEAT_MS;
	signal_all(stop, SIGKILL);
}
