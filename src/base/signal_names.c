/* The names of the signals, without SIG; real-time signals are shown as numbers. */
#include "base/signal_names.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/number.h"

static const struct {
	const char *name;
	int number;
} signals[] = {
	{"HUP", SIGHUP},   {"INT", SIGINT},     {"QUIT", SIGQUIT},     {"ILL", SIGILL},
	{"TRAP", SIGTRAP}, {"ABRT", SIGABRT},   {"BUS", SIGBUS},       {"FPE", SIGFPE},
	{"KILL", SIGKILL}, {"USR1", SIGUSR1},   {"SEGV", SIGSEGV},     {"USR2", SIGUSR2},
	{"PIPE", SIGPIPE}, {"ALRM", SIGALRM},   {"TERM", SIGTERM},     {"CHLD", SIGCHLD},
	{"CONT", SIGCONT}, {"STOP", SIGSTOP},   {"TSTP", SIGTSTP},     {"TTIN", SIGTTIN},
	{"TTOU", SIGTTOU}, {"URG", SIGURG},     {"XCPU", SIGXCPU},     {"XFSZ", SIGXFSZ},
	{"PROF", SIGPROF}, {"WINCH", SIGWINCH}, {"VTALRM", SIGVTALRM}, {"IO", SIGIO},
	{"PWR", SIGPWR},   {"SYS", SIGSYS},
};

/* The RTMIN of glibc, which most commands mean; it is 35 in musl, which we may be linked with. */
#define FIRST_REAL_TIME 34

/* RTMIN or RTMIN+N */
static int parse_real_time(const char *text, int *number)
{
	int64_t offset = 0;

	if (strncasecmp(text, "RTMIN", 5) != 0 ||
	    (text[5] && (text[5] != '+' || !text[6] ||
			 number_parse(text + 6, strlen(text + 6), &offset) < 0)) ||
	    offset > SIGRTMAX - FIRST_REAL_TIME)
		return -1;
	*number = FIRST_REAL_TIME + (int)offset;
	return 0;
}

int signal_parse(const char *text, int *number)
{
	int64_t value;

	if (number_parse(text, strlen(text), &value) == 0 && value >= 1 && value <= SIGRTMAX) {
		*number = (int)value;
		return 0;
	}
	if (strncasecmp(text, "SIG", 3) == 0)
		text += 3;
	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++) {
		if (strcasecmp(text, signals[i].name) == 0) {
			*number = signals[i].number;
			return 0;
		}
	}
	return parse_real_time(text, number);
}

const char *signal_name_at(size_t index)
{
	return index < sizeof(signals) / sizeof(signals[0]) ? signals[index].name : NULL;
}

const char *signal_show(char text[SIGNAL_MAX_BYTES], int number)
{
	snprintf(text, SIGNAL_MAX_BYTES, "%d", number);
	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
		if (signals[i].number == number)
			snprintf(text, SIGNAL_MAX_BYTES, "%s", signals[i].name);
	return text;
}
