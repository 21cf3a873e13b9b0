/* A library that a test preloads into a dynamically linked program (a server, fairlock) to give it
 * other clocks. They run at another rate, are set, or stand still while the program is stopped, as
 * in a virtual machine that is paused.
 *
 * LD_PRELOAD=clockwork.so CLOCKWORK_RATE=1.08 CLOCKWORK_AHEAD_MS=0 PROGRAM
 * LD_PRELOAD=clockwork.so CLOCKWORK_FILE=FILE PROGRAM
 * LD_PRELOAD=clockwork.so STILL_CLOCK=FILE PROGRAM
 *
 * tests/torture/clockwork.py writes FILE, a struct clockwork, at any time. The program sees the
 * true clock through syscall(2). Timers of absolute time expire by the clock that the program sees;
 * a timer that was set before FILE changed expires by the clock of that time. The FILE of
 * STILL_CLOCK has the time of day, in microseconds (8 bytes), which stands still until it changes;
 * the other clocks are the true ones. */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#define S INT64_C(1000000000)

struct setting {
	int64_t since_ns; /* CLOCK_BOOTTIME, the true one */
	int64_t ahead_ns; /* at that time */
	double rate;
};

/* The writer fills the setting that is not current, and then makes it current. */
struct clockwork {
	volatile int64_t current;
	struct setting settings[2];
};

static struct clockwork own = {.settings = {{.rate = 1}}};
static const struct clockwork *clockwork = &own;
static volatile const int64_t *still_us; /* NULL: the time of day goes on */

static int64_t true_ns(clockid_t clock)
{
	struct timespec now;

	if (syscall(SYS_clock_gettime, clock, &now) < 0)
		return -1;
	return now.tv_sec * S + now.tv_nsec;
}

static struct setting setting(void)
{
	return clockwork->settings[clockwork->current];
}

/* How far the clocks are ahead of the true ones now. */
static int64_t ahead_ns(void)
{
	const struct setting now = setting();

	return now.ahead_ns +
	       (int64_t)((now.rate - 1) * (double)(true_ns(CLOCK_BOOTTIME) - now.since_ns));
}

/* Maps the file that this variable names. Returns the other place if there is no such variable. */
static void *map_file_of(const char *variable, size_t size, void *otherwise)
{
	const char *name = getenv(variable);
	const int file = name ? open(name, O_RDONLY | O_CLOEXEC) : -1;
	void *shared = name ? mmap(NULL, size, PROT_READ, MAP_SHARED, file, 0) : otherwise;

	if (shared == MAP_FAILED)
		abort();
	close(file);
	return shared;
}

__attribute__((constructor)) static void begin(void)
{
	const char *rate = getenv("CLOCKWORK_RATE"), *ahead = getenv("CLOCKWORK_AHEAD_MS");

	clockwork = map_file_of("CLOCKWORK_FILE", sizeof(own), &own);
	still_us = map_file_of("STILL_CLOCK", sizeof(*still_us), NULL);
	own.settings[0].since_ns = true_ns(CLOCK_BOOTTIME);
	if (rate)
		own.settings[0].rate = atof(rate);
	if (ahead)
		own.settings[0].ahead_ns = atoll(ahead) * 1000000;
}

int clock_gettime(clockid_t clock, struct timespec *now)
{
	const int result = (int)syscall(SYS_clock_gettime, clock, now);
	int64_t ns;

	if (result < 0 || clock == CLOCK_PROCESS_CPUTIME_ID || clock == CLOCK_THREAD_CPUTIME_ID)
		return result;
	if (still_us && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE))
		ns = *still_us * 1000;
	else
		ns = now->tv_sec * S + now->tv_nsec + ahead_ns();
	now->tv_sec = ns / S;
	now->tv_nsec = ns % S;
	return 0;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone)
{
	struct timespec exact;

	(void)zone;
	clock_gettime(CLOCK_REALTIME, &exact);
	*now = (struct timeval){exact.tv_sec, exact.tv_nsec / 1000};
	return 0;
}

time_t time(time_t *now)
{
	struct timespec exact;

	clock_gettime(CLOCK_REALTIME, &exact);
	if (now)
		*now = exact.tv_sec;
	return exact.tv_sec;
}

/* Turns a time of the program's clock into one of the kernel's; 0 disarms a timer. */
static void translate(struct timespec *when, int is_absolute)
{
	const struct setting now = setting();
	const int64_t left = when->tv_sec * S + when->tv_nsec -
			     (is_absolute ? true_ns(CLOCK_BOOTTIME) + ahead_ns() : 0);
	int64_t ns = (int64_t)((double)left / now.rate);

	if (when->tv_sec == 0 && when->tv_nsec == 0)
		return;
	ns += is_absolute ? true_ns(CLOCK_BOOTTIME) : 0;
	ns = ns > 0 ? ns : 1;
	when->tv_sec = ns / S;
	when->tv_nsec = ns % S;
}

/* All timerfds of fairlock are of CLOCK_BOOTTIME and expire once. */
int timerfd_settime(int timer, int flags, const struct itimerspec *when, struct itimerspec *before)
{
	struct itimerspec translated = *when;

	translate(&translated.it_value, flags & TFD_TIMER_ABSTIME);
	return (int)syscall(SYS_timerfd_settime, timer, flags, &translated, before);
}

int timer_settime(timer_t timer, int flags, const struct itimerspec *when,
		  struct itimerspec *before)
{
	typedef int settime(timer_t, int, const struct itimerspec *, struct itimerspec *);
	settime *const next = (settime *)(uintptr_t)dlsym(RTLD_NEXT, "timer_settime");
	struct itimerspec translated = *when;

	translate(&translated.it_value, flags & TIMER_ABSTIME);
	return next(timer, flags, &translated, before);
}
