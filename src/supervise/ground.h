/* What the system lets us see and do around COMMAND. It is found out once, before COMMAND starts,
 * so that wrap can say what it cannot stop. Linux's own ways with processes: /proc, clone(2). */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* A process in /proc/PID/stat (proc(5)). */
struct process {
	pid_t pid;
	pid_t parent;
	char state;    /* T: stopped; Z, X: its first thread has ended */
	bool is_alive; /* at least one of its threads is */
	bool is_below; /* COMMAND or what it started: see supervise/stop.c */
};

/* In ascending order of their ids. Empty at first; the caller frees list. */
struct processes {
	struct process *list;
	size_t count, room;
};

struct ground {
	int proc;         /* a descriptor of /proc, or -1 if that cannot be used ... */
	const char *why;  /* ... because of this */
	bool leads_group; /* COMMAND leads a process group of its own, because of that */
	bool has_terminal;
	pid_t session;          /* of wrap's caller, in which there are strangers */
	int reserve;            /* is given up if there is no other descriptor to read with */
	struct processes older; /* children of the wrapper that are not COMMAND's */
};

/* The wrapper looks at the ground; the guard inherits it. */
void ground_look(struct ground *ground);
void ground_leave(struct ground *ground);

/* Remembers the children that this process has now, in place of those that it had before. */
void ground_note_older(struct ground *ground);
bool ground_is_older(const struct ground *ground, pid_t pid);
/* It has ended, and its number may be another's soon. */
void ground_forget_older(struct ground *ground, pid_t pid);

/* Lists all processes, in place of what was in *all; at until_ms it goes on without the rest.
 * Returns 0, or -1 if they cannot be listed now. */
int ground_list(struct ground *ground, struct processes *all, int64_t until_ms);

/* Lists the ids of the children of this process's first thread, and no more of them, which takes
 * much less time. It may miss some while children end. Without the kernel's help
 * (CONFIG_PROC_CHILDREN) it lists none. */
void ground_list_children(struct ground *ground, struct processes *all);

/* Returns the one with that id, or NULL. */
struct process *ground_find(const struct processes *all, pid_t pid);

/* Reads what is in /proc of process->pid. Returns -1 if the process is gone, or cannot be seen. */
int ground_read(struct ground *ground, struct process *process);

/* Whether a process is root, or a descendant of it. False if it is gone, or cannot be seen. */
bool ground_is_below(struct ground *ground, pid_t pid, pid_t root);

/* fork(2), but the child's end sends this signal; unless that is SIGCHLD, wait for it with __WALL.
 * Writes the child's id to *child (NULL: nowhere) before either process goes on. */
pid_t proc_fork(int end_signal, _Atomic pid_t *child);
