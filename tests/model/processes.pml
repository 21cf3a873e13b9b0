/* A model of the processes around a running COMMAND, for spin: the wrapper, its guard, COMMAND, and something that
 * COMMAND has started. Each of them can be stopped and continued at any moment and any number of times, and some of
 * them are killed. tests/model/run runs it beside queue.pml. The server and its answers are not in it, but for
 * renewals.
 * `run` says what the macros are, and which measures the mutations take out.
 *
 * A step is what a process does between two waits: see wrapper.c, guard.c (with what becomes COMMAND), and processes.c (how
 * all that COMMAND started is found and killed) in src/supervise.
 *
 * Time goes in steps from one of these moments to the next:
 *
 *   0          the lease is fresh; 1: it is not
 *   STOP_AT    the guard must have sent COMMAND its first signal: its waker continues it
 *   TAKE_AT    the wrapper ends the guard and takes over, if the guard has not sent it
 *   FUSE_AT    the fuse kills the guard, if it has not sent it
 *   KILL_AT    the guard must have killed all of COMMAND
 *   LATE_AT    the wrapper must have killed all of COMMAND, if it has taken over. It takes over now from a guard that
 *              has not killed, or has begun to and does not go on: a guard that goes on is not late
 *   LAST_AT    the fuse kills the guard, if it has stopped COMMAND and not killed all of it
 *   DEADLINE   another owner may have the lock
 *
 * Without grace (GRACE 0) the first signal and SIGKILL are due at one time. A process that runs does what is due before
 * time goes on; a process that is stopped or dead does nothing. A renewal sets the time back to 0.
 *
 * src/README.md tells what they do, and what the kernel does. A process that forks and ends during a look escapes it, as often
 * as it likes. Nobody else continues a process in that moment. Where there is no /proc that can be used (BLIND), COMMAND leads a
 * process group, which is killed in one step.
 *
 * COMMAND ignores every signal that can be ignored, or ends: it may end at any moment.
 *
 * This is excused; with the macro spin finds it:
 *
 *   GAP_SURVIVOR     wrapper or guard is dead, and the other one is stopped or killed, too; or the wrapper is dead, and COMMAND
 *                    is stopped before exec, so that the guard, which waits for exec, is late
 */

#include "macros.h"

#define when(condition, then) if :: condition -> then :: else fi
#define must(property, condition) when(!(condition), property = false); assert(property)

#define STOP_AT  2
#define TAKE_AT  3
#define FUSE_AT  4
#define KILL_AT  STOP_AT + 3 * GRACE
#define LATE_AT  TAKE_AT + 3 * GRACE
#define LAST_AT  FUSE_AT + 3 * GRACE
#define DEADLINE 5 + 3 * GRACE

#define WRAPPER 0
#define GUARD   1
#define COMMAND 2
#define REST    3 /* what COMMAND has started */

mtype = { HOLDING, STOPPING, GIVING_BACK, DONE };              /* shared: what the guard does */
mtype = { GRANTED, CHECKED, WATCHING, TAKING_OVER, REPORTED }; /* the wrapper */
mtype = { MADE, SURE, RUNS };                                  /* COMMAND's process */

byte now;
bool held = true;       /* the lock, by us */
bool alive[4] = { true, true, false, false };
bool stopped[4];
byte waker;             /* when the guard is continued; 0: never, or it was */
byte fuse;              /* when the guard is killed; 0: never */

mtype phase = HOLDING;
mtype wrapper = GRANTED;
mtype command = MADE;
bool waits;             /* the guard does nothing until exec */
bool set_off;           /* the wrapper has let COMMAND go */
bool learned;           /* the guard knows, and has not started it yet */
bool started;           /* the guard has started it */
bool noted_end;         /* the guard knows that COMMAND has ended */
bool noted_stop;        /* ... that it is stopped */
bool lost;              /* the guard has stopped it since the lease ends */
bool left_alone;        /* COMMAND ended by itself: processes that it left behind may live on */
bool halted[4];         /* a look has found and stopped it */
bool is_quiet;          /* the last look found nothing new */
byte killed_at;         /* when all was killed that the looks had found; 0: not yet */
byte starts;
byte kills = KILLS, renewals = RENEWALS;

/* ---- What is to be true ---- */

bool in_time = true;    /* nothing of COMMAND runs at the deadline or later */
bool kept = true;       /* the lock is not given back while COMMAND runs */
bool once = true;       /* COMMAND is started once */
bool status = true;     /* what is reported is what happened */

#define runs(who)   (alive[who] && !stopped[who])
#define is_command  (alive[COMMAND] && command == RUNS)
#define is_rest     (alive[REST] && !left_alone)
#define tree_is_empty (!alive[COMMAND] && !alive[REST])
/* the guard, by CLONE_VFORK, until exec */
#define is_held_up    (waits && alive[COMMAND] && command != RUNS)

inline check_time()
{
	must(in_time, !(now == DEADLINE && (is_command && !stopped[COMMAND] || is_rest && !stopped[REST])))
}

inline let_go_of_lock()
{
	must(kept, !(held && (is_command || is_rest)));
	held = false
}

/* ---- The kernel ---- */

inline end_process(who)
{
	printf("the end of %d\n", who);
	alive[who] = false;
	stopped[who] = false
}

inline end_guard()
{
	end_process(GUARD);
	waker = 0;
	fuse = 0;
	stopped[WRAPPER] = stopped[WRAPPER] && MUTE_EXIT;
	if
	/* By a signal. If the guard does not wait, that may be one that COMMAND's process ignores. */
	:: alive[COMMAND] && command != RUNS -> end_process(COMMAND)
	:: alive[COMMAND] && command != RUNS && !waits
	:: else
	fi
}

/* A guard that stands by ends when the wrapper does. */
inline end_wrapper()
{
	end_process(WRAPPER);
	stopped[GUARD] = stopped[GUARD] && MUTE_WRAPPER;
	when(alive[GUARD] && !set_off && !stopped[GUARD], end_guard())
}

/* The first signal, and SIGCONT. Who comes second sends both again if the first one has not begun to look. That is left out:
 * signals() continues what it has stopped at any time. */
inline begin_to_stop()
{
	when(phase == HOLDING, stopped[COMMAND] = false; stopped[REST] = false)
}

/* SIGKILL to all that the looks have found; or to the process group, which lets nothing escape. */
inline kill_tree()
{
	printf("all of COMMAND is killed\n");
	killed_at = now;
	is_quiet = false;
	when(!BELIEVE_PROC && (BLIND || halted[REST]), end_process(REST));
	when(!BELIEVE_PROC && (BLIND || halted[COMMAND]), end_process(COMMAND));
	halted[COMMAND] = false;
	halted[REST] = false
}

/* REST may fork and end meanwhile. What it has forked is REST then. */
inline look()
{
	printf("a look\n");
	is_quiet = true;
	when(alive[COMMAND] && !halted[COMMAND] && !BELIEVE_PROC,
		is_quiet = false; halted[COMMAND] = true; stopped[COMMAND] = true);
	if
	:: alive[REST] && !halted[REST] && !BELIEVE_PROC -> is_quiet = false; halted[REST] = true; stopped[REST] = true
	:: alive[REST] && !stopped[REST] && !BELIEVE_PROC -> is_quiet = false
	:: !alive[REST] || halted[REST] || BELIEVE_PROC
	fi
}

#define may_kill (BLIND || is_quiet || ONE_LOOK && (halted[COMMAND] || halted[REST] || alive[REST]))
/* A round takes its time; the next one is due a moment later. */
#define must_look (!tree_is_empty && killed_at != now)

inline set_timers(at)
{
	waker = at;
	fuse = (NO_FUSE -> 0 : (at == STOP_AT -> FUSE_AT : LAST_AT))
}

#define waker_is_over (waker != 0 && now >= waker)
#define fuse_is_over (fuse != 0 && now >= fuse)

/* ---- The guard ---- */

#define guard_learns    (set_off && !started && !learned)
#define is_left         (!set_off && !alive[WRAPPER])
#define sees_end        (started && !alive[COMMAND] && !noted_end)
#define sees_stop       (started && !noted_end && stopped[COMMAND] != noted_stop)
#define sees_wrapper_go (started && !alive[WRAPPER] && phase == HOLDING)
#define must_stop       (started && !lost && phase != GIVING_BACK && !noted_end && now >= STOP_AT)
#define must_kill       (started && phase == STOPPING && now >= KILL_AT && must_look)
#define is_over         (started && noted_end && phase != GIVING_BACK && (LEAVE_REST || phase == HOLDING || tree_is_empty))
#define guard_is_due (guard_learns || learned || is_left || sees_end || sees_stop || sees_wrapper_go || \
	must_stop || must_kill || is_over || phase == GIVING_BACK)

/* So that a job-control shell sees it. */
inline mirror(is_stop)
{
	when(alive[WRAPPER], stopped[WRAPPER] = is_stop)
}

#define guard_acts (runs(GUARD) && !is_held_up)

active proctype guard()
{
	do
	:: d_step { guard_acts && guard_learns ->
		printf("the guard learns that COMMAND was let go\n");
		learned = true;
		set_timers((phase == STOPPING -> KILL_AT : STOP_AT))
	}
	:: d_step { guard_acts && learned ->
		printf("the guard starts COMMAND\n");
		learned = false;
		started = true;
		alive[COMMAND] = true;
		if
		:: waits = true
		:: waits = false
		fi
	}
	/* by COMMAND's end, by the wrapper's, or by its timer */
	:: d_step { guard_acts && is_left -> end_guard() }
	:: d_step { guard_acts && sees_end ->
		printf("the guard sees COMMAND's end\n");
		noted_end = true;
		when(noted_stop, noted_stop = false; mirror(false))
	}
	:: d_step { guard_acts && sees_stop ->
		printf("the guard mirrors a stop or its end\n");
		noted_stop = stopped[COMMAND];
		mirror(noted_stop)
	}
	:: d_step { guard_acts && sees_wrapper_go -> set_timers(KILL_AT); phase = STOPPING }
	:: d_step { guard_acts && must_stop ->
		printf("the guard stops COMMAND\n");
		set_timers(KILL_AT);
		lost = true;
		begin_to_stop();
		phase = STOPPING;
		check_time()
	}
	/* COMMAND's grace may end earlier than it must */
	:: d_step { guard_acts && started && phase == STOPPING && must_look && may_kill -> kill_tree() }
	:: atomic { guard_acts && started && phase == STOPPING && must_look && !may_kill -> look() }
	:: d_step { guard_acts && started && phase == HOLDING && !noted_end && now < STOP_AT && now > 0 && renewals > 0 ->
		printf("the guard renews\n");
		renewals--;
		now = 0;
		set_timers(STOP_AT)
	}
	:: d_step { guard_acts && is_over ->
		set_timers(1);
		if
		:: lost -> phase = DONE; mirror(false); alive[GUARD] = false
		:: else -> phase = GIVING_BACK
		fi
	}
	:: d_step { guard_acts && phase == GIVING_BACK -> let_go_of_lock(); phase = DONE; alive[GUARD] = false }
	:: d_step { !alive[GUARD] && (!alive[WRAPPER] || wrapper != GRANTED && wrapper != CHECKED) } -> break
	od
}

/* ---- The wrapper ---- */

#define sees_done       (wrapper == WATCHING && phase == DONE)
#define sees_guard_die  (wrapper == WATCHING && !alive[GUARD] && phase != DONE)
#define must_take_over  (!NO_TAKEOVER && wrapper == WATCHING && alive[GUARD] && \
	(phase == HOLDING && now >= TAKE_AT || phase == STOPPING && now >= LATE_AT))
#define must_finish     (wrapper == WATCHING && phase == GIVING_BACK && now == DEADLINE)
#define must_kill_too   (wrapper == TAKING_OVER && now >= LATE_AT && must_look)
#define is_over_too     (wrapper == TAKING_OVER && tree_is_empty)
#define wrapper_is_due  (sees_done || sees_guard_die || must_take_over || must_finish || must_kill_too || is_over_too)

/* its_own: the status is COMMAND's own; else the lock was lost */
inline report(its_own)
{
	printf("the wrapper reports %d\n", its_own);
	wrapper = REPORTED;
	must(status, !(its_own) || noted_end && !lost);
	end_wrapper()
}

inline set_guard_off()
{
	wrapper = WATCHING;
	set_off = true;
	stopped[GUARD] = false
}

/* The first guard stood by, and is dead. */
inline make_guard()
{
	alive[GUARD] = true;
	command = MADE;
	waits = false;
	set_off = false;
	started = false;
	noted_end = false;
	learned = false
}

inline take_over()
{
	printf("the wrapper takes over\n");
	must(status, phase != GIVING_BACK); /* else COMMAND's status is known */
	wrapper = TAKING_OVER;
	when(!SPARE_GUARD,
		begin_to_stop();
		phase = (phase == HOLDING -> STOPPING : phase);
		when(alive[GUARD], end_guard()));
	check_time()
}

active proctype front()
{
	do
	:: d_step { runs(WRAPPER) && wrapper == GRANTED && now < STOP_AT -> wrapper = CHECKED }
	:: d_step { runs(WRAPPER) && wrapper == GRANTED && now >= STOP_AT ->
		when(alive[GUARD], end_guard());
		report(false)
	}
	:: d_step { runs(WRAPPER) && wrapper == CHECKED && alive[GUARD] -> set_guard_off() }
	:: d_step { runs(WRAPPER) && wrapper == CHECKED && !alive[GUARD] -> make_guard(); set_guard_off() }
	:: d_step { runs(WRAPPER) && sees_done -> report(!lost) }
	:: d_step { runs(WRAPPER) && sees_guard_die ->
		if
		:: START_AGAIN && starts < 2 && phase == HOLDING -> make_guard(); set_guard_off()
		:: phase == GIVING_BACK && !FORGET_STATUS -> let_go_of_lock(); report(true)
		:: phase == GIVING_BACK && FORGET_STATUS || phase != GIVING_BACK && !NO_TAKEOVER -> take_over()
		:: phase != GIVING_BACK && NO_TAKEOVER -> report(false)
		fi
	}
	:: d_step { runs(WRAPPER) && must_take_over -> take_over() }
	/* the lease is over, and the guard still hangs as it gives the lock back */
	:: d_step { runs(WRAPPER) && must_finish -> end_guard(); report(true) }
	:: d_step { runs(WRAPPER) && wrapper == TAKING_OVER && must_look && may_kill -> kill_tree() }
	:: atomic { runs(WRAPPER) && wrapper == TAKING_OVER && must_look && !may_kill -> look() }
	:: d_step { runs(WRAPPER) && is_over_too -> let_go_of_lock(); report(false) }
	:: d_step { !alive[WRAPPER] } -> break
	od
}

/* ---- COMMAND ---- */

active proctype job()
{
	do
	/* if the lease is as good as over, it waits for a renewal until COMMAND would be killed */
	:: d_step { runs(COMMAND) && command == MADE && (now < STOP_AT || NO_LEASE_CHECK) -> command = SURE }
	:: d_step { runs(COMMAND) && command == MADE && now >= KILL_AT -> end_process(COMMAND) }
	:: d_step { runs(COMMAND) && command == SURE ->
		printf("COMMAND begins\n");
		command = RUNS;
		starts++;
		must(once, starts == 1);
		check_time()
	}
	:: d_step { runs(COMMAND) && command == RUNS && !alive[REST] && !left_alone ->
		alive[REST] = true;
		check_time()
	}
	/* by itself, or by a signal */
	:: d_step { runs(COMMAND) && command == RUNS ->
		left_alone = phase == HOLDING && wrapper != TAKING_OVER;
		end_process(COMMAND)
	}
	:: d_step { runs(REST) -> end_process(REST) }
	:: d_step { !alive[WRAPPER] && !alive[GUARD] && !alive[COMMAND] && (!alive[REST] || left_alone) } -> break
	od
}

/* ---- What happens to them ---- */

#define is_excused(who) (!GAP_SURVIVOR && !alive[WRAPPER + GUARD - (who)])

active proctype fate()
{
end:
	do
	:: d_step { now < DEADLINE && !fuse_is_over && !(waker_is_over && stopped[GUARD]) &&
		(GAP_SURVIVOR || !is_held_up || alive[WRAPPER]) && !(runs(WRAPPER) && wrapper_is_due) &&
		!(guard_acts && guard_is_due) && (alive[WRAPPER] || alive[GUARD] || alive[COMMAND] || alive[REST]) ->
			now++;
			printf("time %d\n", now);
			held = held && now < DEADLINE;
			check_time()
	}
	:: d_step { fuse_is_over && alive[GUARD] -> printf("the fuse\n"); end_guard() }
	:: d_step { waker_is_over && stopped[GUARD] ->
		printf("the waker\n");
		waker = 0;
		stopped[GUARD] = false
	}
	:: d_step { kills > 0 && alive[WRAPPER] && alive[GUARD] && !fuse_is_over -> kills--; end_wrapper() }
	:: d_step { kills > 0 && alive[GUARD] -> kills--; end_guard() }
	:: d_step { kills > 0 && alive[COMMAND] ->
		printf("COMMAND is killed\n");
		kills--;
		left_alone = command == RUNS && phase == HOLDING && wrapper != TAKING_OVER;
		end_process(COMMAND)
	}
	od
}

proctype signals(byte who)
{
end:
	do
	:: d_step { runs(who) && (who >= COMMAND && STOPS > 0 || who < COMMAND && STOPS > 1 && !is_excused(who)) ->
		printf("%d is stopped\n", who);
		stopped[who] = true
	}
	/* what a look has stopped stays so, unless it has not become COMMAND yet */
	:: d_step { stopped[who] && !(halted[who] && (who == REST || command == RUNS)) ->
		printf("%d goes on\n", who);
		is_quiet = is_quiet && who != COMMAND;
		halted[who] = false;
		stopped[who] = false;
		check_time()
	}
	od
}

init
{
	atomic {
		run signals(WRAPPER);
		run signals(GUARD);
		run signals(COMMAND);
		run signals(REST)
	}
}
