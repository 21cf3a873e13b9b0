/* COMMAND and all that it started, in any process group and session: what the system lets us see
 * and do about it, and how it is stopped. Linux's own ways: /proc, timers that send signals,
 * clone(2). */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

struct shared_state;

/* A process in /proc/PID/stat (proc(5)). */
struct process {
	pid_t pid;
	pid_t parent;
	bool is_stopped;
	bool is_alive; /* at least one of its threads is */
	bool is_below; /* COMMAND or what it started: see mark */
};

/* In ascending order of their ids. Empty at first; the caller frees list. */
struct processes {
	struct process *list;
	size_t count, room;
};

/* It is found out once, before COMMAND starts, so that wrap can say what it cannot stop. */
struct ground {
	int proc;         /* a descriptor of /proc, or -1 if that cannot be used ... */
	const char *why;  /* ... because of this */
	bool leads_group; /* COMMAND leads a process group of its own, because of that */
	bool has_terminal;
	int reserve;            /* is given up if there is no other descriptor to read with */
	struct processes older; /* children of the wrapper that are not COMMAND's */
};

/* The wrapper looks at the ground; the guard inherits it. */
void ground_look(struct ground *ground);
void ground_leave(struct ground *ground);

/* Remembers the children that this process has now, without that one: they are not COMMAND's. */
void ground_note_older(struct ground *ground, pid_t except);

/* Whether a process is root, or a descendant of it. False if it is gone, or cannot be seen. */
bool ground_is_below(struct ground *ground, pid_t pid, pid_t root);

/* Sends this process a signal at a set time, even while it is stopped. */
struct signal_timer {
	bool is_there; /* the system may refuse it: then nothing happens */
	timer_t timer;
	int64_t at_ms;
};

void signal_timer_open(struct signal_timer *timer, int signo);

/* Sets the time by clock_ms(), in place of the one before; NEVER_MS: none. timer may be NULL. */
void signal_timer_set(struct signal_timer *timer, int64_t at_ms);

/* How the guard or, if that is gone, the wrapper stops COMMAND: a first signal and SIGCONT, then
 * SIGKILL. The process that does it is a child subreaper. A private server is not touched. */
struct stop {
	struct ground *ground;
	struct shared_state *shared; /* gets COMMAND's status, and the time of each look */
	pid_t command;               /* 0 when its end was seen */
	pid_t group; /* COMMAND's process group, if the ground is such that it leads one; else 0 */
	struct signal_timer *waker, *fuse; /* of this process; NULL: none */
	pid_t wrapper;                     /* of the guard: it goes on if that ends */
	unsigned rounds;                   /* of SIGKILL */
	int64_t kill_ms; /* when SIGKILL is due, by clock_ms(); NEVER_MS before stop_begin */
};

/* Sends the first signal, and continues a process that is stopped, so that it can act on it. */
void stop_begin(struct stop *stop, int signo, int64_t kill_ms);

/* Sends SIGKILL, and sets kill_ms to be repeated soon, until stop_is_over. */
void stop_kill(struct stop *stop);

/* Whether all are gone, as far as they can be seen. What has ended was reaped. */
bool stop_is_over(struct stop *stop);

/* Reaps one child that has ended, and notes COMMAND's end. Returns its id, or 0 if there is none,
 * or if *left is 0, which counts down: children may end as fast as they are reaped. SIGCHLD comes
 * once more then. options: which children (waitpid(2)). */
pid_t stop_reap(struct stop *stop, int *left, int options, int *status);

/* fork(2), but the child's end sends this signal; unless that is SIGCHLD, wait for it with __WALL.
 * Writes the child's id to *child (NULL: nowhere) before either process goes on. */
pid_t proc_fork(int end_signal, _Atomic pid_t *child);
