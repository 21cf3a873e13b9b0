/* A model of fairlock's protocol with one holder, for spin. tests/model/run runs it in several small configurations, whose
 * numbers are the macros below. holders.pml is the model of several holders, stop.pml that of `release --stop`.
 *
 * One atomic step is one script on the server, or what a client does between two waits. From lua/scripts and lua/parts:
 *
 *   acquire   acquire.lua: join(), grant(), queued(); its quick path does the same as the long one
 *   renew     renew.lua; take-up after a loss of data
 *   take_over supersede.lua
 *   release   release.lua with mode `own`: let_go(); its quick ways, one of them release_handover.lua, do the same
 *   force     release.lua with mode `force`, or with mode `any` for a hold of acquire
 *   leave     leave.lua, sent by the waiter itself
 *   remove    leave.lua, sent by somebody else
 *   first_waiter, drop                                        queue_head.lua
 *   first_to_run, tell_second, hand_over, pass_on, announce   pass_on.lua
 *   place, settle (mend, bring_back)                          queue_order.lua
 *   r_ask, r_unlock                                           the scripts of Redisson 4.7.0's fair lock
 *
 * and from src/: lock/wait.c (begin, ask, heard, leave), redis/client.c (what is sent again, and `again`), lock/hold_lease.c,
 * supervise/guard.c (renewals, deadline, giving back).
 *
 * A connection ends at its client first. The server may still carry out a request that was under way (`orphan`), or not,
 * and keeps the subscription until it sees the end (`lingers`). Only then can the client lose its next connection.
 *
 * A restart of the server ends all connections and loses all that is on its way. The pause after it lasts until all
 * waiters and the holder are back. After a loss of data, exclusion cannot be promised, because the lock may go to a
 * newcomer before the holder is back. That is excused, and so is disorder by newcomers, until a client is back that can
 * prove that it was there.
 *
 * A waiter's machine may be paused with its clock, and the waiter be handed the lock meanwhile. A pause is excused if it
 * begins when the message is under way already, or has been taken: then no clock of the waiter can tell, as with a holder
 * that is paused.
 *
 * Abstracted away, and why that is sound:
 *
 * - Time is ticks of leases: all time to live and all deadlines count down together, and a tick may come
 *   between any two steps. Other times are events: the 5 s of a turn can be over only if the waiter that was told is
 *   dead, hung, away, or did not get the message; so a waiter that is quick enough is never passed over with an excuse.
 *   A timer that would find nothing changed does not fire; only the sign of life (TIMERS 2) fires at any time.
 * - A client does nothing about a message that arrives while it asks (heard()), so the message is not kept. `0` before
 *   or behind `first` and `second` leaves what `0` alone does.
 * - Subscribing and asking leave in one write and arrive as two steps.
 * - COMMAND ends in time before the deadline: that is the guard's promise, with tests of its own.
 * - A lock that is handed over is held for one tick at first, however long a lease is. Its message tells the server's
 *   time, so that the client knows what has passed: so `given` counts down on its way.
 * - All processes of a kind are alike, so they may start in the order of their numbers.
 * - No process decides by tokens, the time in tickets, the log, or details for people, but for what `token` and `out` keep.
 * - The record of a hold that has ended, and that of a request, go when no copy of a request of that process can come any
 *   more. The scripts keep them longer.
 *
 * After a loss of data a waiter with --supersede that is back is the newest, until a newer one is back, too. It may be
 * granted the lock before that.
 * The request of one that died may come late, and supersede a waiter that lives, as if it had died a little later.
 *
 * This is excused, because no script of ours can do better, unless the macro is defined; then spin finds it:
 *
 *   GAP_EXPIRY         the entry of a waiter of ours that died behind Redisson's stays without a time to live
 *
 * Why: after the last script of a waiter of ours that waits behind Redisson's and dies, only Redisson's scripts may run.
 * They set no time to live and take none away, and they leave the entry there while its score has not passed,
 * which it may not have as long as its owner could be alive. Suppose our last script left the lists without a
 * time to live: Redisson's waiters take their turns, unlock and never come back, and the entry stays. Suppose it left them
 * one, of any length: before Redisson's waiters ahead are done, another one queues, and so on, so that the list is
 * never empty, and never a new key; it expires at its time, beneath a live waiter, which loses its place and which no
 * unlock wakes. Up to our last script the two runs are the same, so it cannot choose rightly. It chooses that
 * no live waiter is harmed.
 *
 * Mutations, to see that the properties can fail:
 *
 *   SKIP_PRESENCE      all waiters count as present: turns go to the dead
 *   TELL_FIRST         a release tells the next waiter before it deletes the lock, as two scripts
 *   FORGET_TICKET      a waiter that comes back brings no ticket
 *   MEND_LATER         a waiter of ours that Redisson dropped is put back after the script has decided which is next
 *   KEEP_NO_TICKET     the server does not keep the ticket of a waiter that may not have heard it
 *   FORGET_HANDED      nor that of a waiter that was handed the lock and may have heard neither
 *   LEASE_FROM_RESEND  a grant that is asked for again leaves the lease as it was, and the client counts a
 *                      whole one from there (the script raises it, and says what is left: either would do)
 *   COUNT_NO_STRAYS    a request does not say how many were left under way before it
 *   COUNT_FROM_HEARING a waiter that is handed the lock counts its time from when it hears of it
 *   LATE_RELEASE       release and renew do not look at these counts
 *   BELIEVE_ANYBODY    a grant that comes as a message needs no secret
 *   BELIEVE_FUTURE     such a message counts from now if its time is later than that of the waiter's clock
 *   NO_MARGIN          COMMAND ends at the deadline, not a margin before it
 *   FORGET_RUN         another run of the server is not taken for a restart
 *   FORGET_UP          our hash does not say when it first met the server, so a loss of data is not noticed
 *   GRANT_IN_PAUSE     the lock is granted in the pause after a restart
 *   NO_SIGN_OF_LIFE    TIMERS 1
 *   HAND_WITHOUT_ASKING   an acquire that is handed the lock counts on a whole lease without asking again, which renews
 *   RUN_TWICE          the lock is handed to the first waiter even if its --once-per is not over
 *   FORGET_STRAYS      the record of a request does not say how many were left under way before it
 *   FORGET_ANSWER      nor what was answered: a request by force, sent again, breaks the next hold, too
 *   FORGET_END         a grant deletes the records of the holds that have ended before
 *   COMMAND_TWICE      nor what a release command was answered: sent again, it gives back the next hold, too
 *   FREE_KEPT          a release that is sent again frees a lock that is held for the rest of a --min-hold
 *   FORCE_UNKNOWN      force leaves no record of a hold that the hash does not know: then the holder takes the lock up again
 *   FORGET_NEWEST      the hash does not say which waiter with --supersede is the newest: an older one gets its place back
 *   DELETE_NEWEST      ... or not after its grant
 *   JOIN_AT_END        a newer waiter with --supersede takes the older one out, and joins at the end
 *   DECIDE_FIRST       ... or takes its place after the script has decided which is first, and not its turn
 *   SUPERSEDE_SILENTLY ... or does not tell it
 *   DOUBT_AGAIN        a first request with --supersede that is sent again is not taken for that of a newcomer
 *   FIRST_BACK         after a loss of data it stays the newest if it was back first
 *   NO_TRACE           ... or always is, also when the hash has a hold of this process that it was granted too late
 *   NO_AGE             ... or always is, also when it does not know this process, and a newer one has come before
 *
 * FORGET_END has no worse effect than that a holder is told the wrong cause: the hash has a token, which a later grant does
 * not lower, and nobody takes up an exclusive hold under an older one.
 *
 * Not modelled: how long several hung waiters take together, a restart after which some clients do not come back within
 * the pause, or a second restart, failover and clusters, going in again and inherited owners, --no-wait, --max-queue,
 * replicas that fail, a --min-hold of one of several processes, plain RLocks, a renewal that is under way when the lock is
 * given back, a Redisson client's lost requests, its giving up, queues longer than 20.
 */

#ifndef WAITERS
#define WAITERS 2 /* beside the first, who holds the lock at the start */
#endif
#ifndef REDISSON
#define REDISSON 0 /* 1 or 2 waiters of Redisson's, too */
#endif
/* How often each of these may happen in one run. */
#ifndef CRASHES
#define CRASHES 0 /* of a client; the server sees the end of the connection, sooner or later */
#endif
#ifndef CUTS
#define CUTS 0 /* the same, but the server sees no end before all is over */
#endif
#ifndef LOSSES
#define LOSSES 0 /* of a connection, with what was on its way in either direction */
#endif
#ifndef LEAVES
#define LEAVES 0 /* a waiter gives up */
#endif
#ifndef HANGS
#define HANGS 0 /* SIGSTOP, and SIGCONT at some time */
#endif
#ifndef MUTES
#define MUTES 0 /* a message is lost, and its connection stays */
#endif
#ifndef FORGERIES
#define FORGERIES 0 /* a grant is published that no script has made */
#endif
#ifndef FREEZES
#define FREEZES 0 /* a waiter's machine is paused with its clock */
#endif
#ifndef EARLY
#define EARLY 0 /* 1: the server's clock is fast: a lease may end a tick early there */
#endif
#ifdef NO_MARGIN
#define MARGIN 0
#else
#define MARGIN EARLY
#endif
#ifndef RESTARTS
#define RESTARTS 0 /* of the server, which ends all connections */
#endif
#ifndef KEEPS_DATA
#define KEEPS_DATA 1 /* ... when it restarts */
#endif
#ifndef RETURNS
#define RETURNS 0 /* an owner that has given the lock back asks for it again */
#endif
#ifndef STALES
#define STALES 0 /* a score passes, or seems to by Redisson's clocks and subtractions */
#endif
/* Which waiters of ours are of a kind: 0 none, 1 all, 2 those with an even number. */
#ifndef HAND
#define HAND 1 /* the lock is handed to it; others, which wait under --owner, are told their turn */
#endif
#ifndef ACQUIRE
#define ACQUIRE 0 /* what is handed over counts only when it has asked again: acquire, or --replicas */
#endif
#ifndef ONCE
#define ONCE 0 /* a wrap with --once-per, which ends if a COMMAND was started within the period */
#endif
#ifndef SUPERSEDE
#define SUPERSEDE 0 /* it has --supersede, and is not the first holder */
#endif
#ifndef PERIODS
#define PERIODS ONCE /* how often a period may pass */
#endif
#ifndef FORCES
#define FORCES 0 /* somebody breaks the lock by force */
#endif
#ifndef COMMANDS
#define COMMANDS 0 /* the release command gives back a hold of acquire */
#endif
#ifndef MIN
#define MIN 0 /* ticks from the grant on that a lock stays held, though its COMMAND has ended before: --min-hold */
#endif
#ifndef REMOVES
#define REMOVES 0 /* somebody takes a waiter out of the queue */
#endif
#ifndef EVICTIONS
#define EVICTIONS 0 /* our hash is deleted, while nobody waits */
#endif
#ifndef RENEWALS
#define RENEWALS 0 /* of each holder */
#endif
#ifndef LEASE
#define LEASE 2 /* ticks */
#endif
#ifndef EXPIRY
#define EXPIRY 2 /* 0: time stands still, 1: a live holder renews in time, 2: any lease may end */
#endif
#ifndef TIMERS
#ifdef NO_SIGN_OF_LIFE
#define TIMERS 1
#else
#define TIMERS 2 /* 0: no timer fires, 1: those that the server asked for, 2: signs of life, too */
#endif
#endif

#define OTHERS (FORCES || COMMANDS || REMOVES || EVICTIONS)

#define FIRST 1 /* ids; 0 is none, and stands for a process that uses force */
#define OURS  (1 + WAITERS)
#define LAST_BUT_ONE (OURS - 1)
#define R     (OURS + 1)          /* the first waiter of Redisson's, and the last one */
#define R_LAST (OURS + REDISSON)
#define IDS   (OURS + REDISSON)
#define SIZE  (IDS + 1)

#define SAME  1 /* met; 0: there is no hash */
#define OTHER 2

mtype = { ASK, RENEW, RELEASE, LEAVE, FORCE, COMMAND, REMOVE };
mtype = { GRANTED, QUEUED, REMOVED, SUPERSEDED, RAN, RENEWED, LOST, BROKEN, DONE };
mtype = { GIVEN, TURN, LEASE_END, SEE }; /* messages, and what a timer waits for */
mtype = { OUT, WAITING, HOLDING, RETURNING, LEAVING, GONE, DEAD, CUT };
mtype = { PASS_ON, ANNOUNCE, LOOK };

/* No part of a state, where it stays 0. */
#if ONCE
#define if_once
#else
#define if_once hidden
#endif
#if OTHERS
#define if_others
#else
#define if_others hidden
#endif
#if MIN
#define if_min
#else
#define if_min hidden
#endif
#if SUPERSEDE
#define if_newest
#else
#define if_newest hidden
#endif
#if OTHERS || RESTARTS || SUPERSEDE
#define keeps_ends true
#define if_ends
#else
#define keeps_ends false
#define if_ends hidden
#endif

/* ---- The server ---- */

byte owner = FIRST;       /* of the lock; 0: there is no such key */
byte ttl = LEASE;         /* of the lock */
byte described = FIRST;   /* our hash: owner */
if_ends mtype ended[SIZE];      /* h:ID: LOST or BROKEN, so its hold has ended */
if_once byte started;           /* the last COMMAND was started within the period */
if_once byte before;            /* so was the one before */
if_min byte is_kept;            /* ... h:OWNER: it was given back, and the lock stays held for the rest of its --min-hold */
if_min byte min_left;           /* ... ticks until that is over */
byte turn;                /* our hash */
bool over;                /* the turn was told 5 s ago */
byte queue[SIZE];         /* the list */
byte length;
bool scored[SIZE];        /* the sorted set */
bool stale[SIZE];         /* ... and the score has passed, as Redisson sees it */
byte known[SIZE];         /* w:ID, the ticket */
bool unheard[SIZE];       /* ... which the waiter may not have heard */
byte kept[SIZE];          /* w:ID, h:ID: of a waiter that was dropped or handed the lock, and may not have heard it */
if_others byte removed[SIZE];   /* somebody took it out of the queue */
if_newest byte latest;          /* our hash, `newest`: the last that came with --supersede */
if_newest byte superseded[SIZE];   /* w:ID: a newer one has taken its place */
if_once byte out[SIZE];         /* the log: it left the queue, for somebody else ran the COMMAND */
byte tickets;             /* the last one */
byte newest[SIZE];        /* r:ID, the strays of the newest of its requests */
if_others byte answer;          /* r:0, what was answered: whose hold was broken or who was taken out; NOBODY */
bool subscribed[SIZE];    /* the present connection */
bool lingers[SIZE];       /* a former one */
bool silent[SIZE];        /* its last sign of life is 15 s old */
bool expires;             /* list and sorted set have a time to live */
byte head_absent;         /* our hash, of a Redisson head: 1 seen absent, 2 for 5 s */
bool head_seen;           /* ... its present wait at the head was seen */
byte token;               /* our hash, of the last grant; counted with the tickets, since both are times */
byte met = SAME;          /* our hash: whether it names this run of the server */
byte up;                  /* our hash: when it first met the server */
bool has_up = true;       /* ... and no older client has come since */
bool back;                /* the pause after a restart */

/* ---- The clients ---- */

mtype phase[SIZE] = OUT;
mtype request[SIZE];      /* under way on the present connection */
bool sent[SIZE];          /* ... and not carried out yet */
mtype reply[SIZE];        /* on its way back */
mtype reply_sign[SIZE];
byte reply_ticket[SIZE];
mtype orphan[SIZE];       /* under way on a former connection */
byte orphan_ticket[SIZE];
bool orphan_again[SIZE];
byte orphan_strays[SIZE];
bool again[SIZE];
byte strays[SIZE];        /* requests left under way on former connections */
byte ticket[SIZE];
byte age[SIZE];           /* ticks since the request was sent */
byte left[SIZE];          /* ticks until the deadline */
mtype message[SIZE];      /* on its way */
byte given[SIZE];         /* ... ticks that are left of what it gives */
mtype sign[SIZE];         /* when to ask, as the reply said */
mtype watch[SIZE];        /* ... as a message said */
byte renewals[SIZE];
bool hung[SIZE];
bool tardy[SIZE];         /* a grant came too late; fairlock gives up after three */
bool missed[SIZE];        /* a message was lost */
bool half[SIZE];          /* a mutation only */
byte held_token[SIZE];    /* of its last grant */
bool forged[SIZE];        /* the message has not the secret of its last request */
bool frozen[SIZE];        /* hung, and its clock stands still */
bool lost_time[SIZE];     /* its clock stood still since its last answer */
bool future[SIZE];        /* the message's time is later than that of its clock */
bool away[SIZE];          /* the server has restarted, and it is not back */
if_others byte whom;            /* somebody takes this waiter out */

byte crashes = CRASHES, cuts = CUTS, losses = LOSSES, leaves = LEAVES, hangs = HANGS, mutes = MUTES;
byte stales = STALES, restarts = RESTARTS, returns = RETURNS, forgeries = FORGERIES, freezes = FREEZES;
byte periods = PERIODS, forces = FORCES, commands = COMMANDS, removes = REMOVES, evictions = EVICTIONS;

/* ---- What is to be true. Spin names the one that is not. ---- */

byte arrived[SIZE];       /* the first ticket that the server gave */
bool home[SIZE];          /* its request over the present connection was carried out */

bool expected[SIZE];      /* it held or waited at the restart, and has not come back */
bool one_is_back;         /* ... and one of these has */
bool excused;             /* data was lost, and a newcomer came before all of these */

if_once byte recent;            /* a COMMAND was started within the period, which counts from its grant */
if_once byte fresh;             /* the last grant to a wrap was within the period */
if_newest byte comers;          /* numbers those with --supersede in the order in which they begin to wait */
if_newest byte since[SIZE];     /* their numbers, as they know them themselves */
if_newest byte came[SIZE];      /* their numbers, once the server has seen them; 1 for all that it saw before it lost its data */
if_newest byte lost;            /* the last number before that */
if_others byte is_done;         /* force or removal was carried out */
if_others mtype broken[SIZE];   /* BROKEN by force, LOST given back by somebody else, DONE data was lost since */

bool exclusion = true;    /* no two hold at once, by their own deadlines, but for one that was broken by force */
bool order = true;        /* no waiter is granted the lock before one that came earlier and is present */
bool lists = true;        /* list, sorted set and our hash agree */
bool lost_early = true;   /* no holder is told that it lost the lock before its deadline */
bool late = true;         /* no process that has ended in good order or was taken out is granted the lock */
bool once = true;         /* --once-per starts no COMMAND within the period of another start */
bool single = true;       /* no two waiters with --supersede are queued */
bool outdated = true;     /* no waiter with --supersede is granted the lock after a newer one has come */
bool newer = true;        /* such a waiter is superseded by a newer one only */
bool spared = true;       /* force and removal are carried out once */
bool forced = true;       /* a hold that was broken by force stays broken */
bool told = true;         /* its holder is told so */
bool minimum = true;      /* nobody is granted the lock within the --min-hold of another, but for one that was broken or died */
bool ghosts = true;       /* nothing is left when all is over */

#define is_alive(i)   (phase[i] != GONE && phase[i] != DEAD && phase[i] != CUT)
#define is_ours(i)    ((i) <= OURS)
#define is_handable(i) (is_ours(i) && (HAND == 1 || HAND == 2 && (i) % 2 == 0) && !silent[i])
#define has_former(i) (lingers[i] || orphan[i] != 0)
#define is_inside(i)  (phase[i] == HOLDING && left[i] > 0 && !broken[i])
#define must_ask(i)   (ACQUIRE == 1 || ACQUIRE == 2 && (i) % 2 == 0)
#if ONCE
#define is_periodic(i) (is_ours(i) && (i) != FIRST && (ONCE == 1 || (i) % 2 == 0))
#define ran(i)        (started && is_periodic(i))
#else
#define is_periodic(i) false
#define ran(i)        false
#endif
#if SUPERSEDE
#define is_super(i)   (is_ours(i) && (i) != FIRST && (SUPERSEDE == 1 || (i) % 2 == 0))
#else
#define is_super(i)   false
#endif
#define NOBODY        255
#define is_quiet(i)   (!is_alive(i) || !home[i] || hung[i])
#define is_prompt(i)  (is_alive(i) && home[i] && !hung[i] && !missed[i])
#if REDISSON
#define redisson_alive (is_alive(R) || is_alive(R_LAST))
#define redisson_queued (scored[R] || scored[R_LAST])
#else
#define redisson_alive false
#endif
#if WAITERS > 2
#define all_over !(is_alive(1) || is_alive(2) || is_alive(3) || is_alive(4) || redisson_alive)
#elif WAITERS > 1
#define all_over !(is_alive(1) || is_alive(2) || is_alive(3) || redisson_alive)
#else
#define all_over !(is_alive(1) || is_alive(2) || redisson_alive)
#endif

#ifdef SKIP_PRESENCE
#define present(i) true
#else
#define present(i) (subscribed[i] || lingers[i])
#endif

/* Not part of a state: each script sets them anew. */
hidden byte first, second, at, to, id, moved, ticket_now, listed;
hidden byte with_silent, passed_over, is_dead, is_hung, had_turn, was_queued, was_first, kind;
hidden byte reply_kept, sign_kept, ticket_kept, what_second, next, caller;

/* ---- Scripts: lists ---- */

inline push(who)
{
	queue[length] = who;
	length++
}

inline take_out(who)
{
	at = 0;
	to = 0;
	do
	:: at < length ->
		moved = queue[at];
		queue[at] = 0;
		if
		:: moved != who -> queue[to] = moved; to++
		:: else
		fi;
		at++
	:: else -> break
	od;
	length = to
}

inline drop(who)
{
	take_out(who);
	scored[who] = false;
	stale[who] = false;
	known[who] = 0;
	unheard[who] = false;
	silent[who] = false;
	if
	:: turn == who -> turn = 0; over = false
	:: else
	fi
}

/* A process that has ended will not ask for its ticket. */
#ifdef KEEP_NO_TICKET
#define keep_ticket(who) skip
#else
#define keep_ticket(who) \
	kept[who] = (unheard[who] && (is_alive(who) || has_former(who)) -> known[who] : kept[who])
#endif

/* Puts a waiter before the first of ours with a later ticket. */
inline place(who)
{
	to = 0;
	if
	:: length > 0 && known[queue[length - 1]] && known[queue[length - 1]] < known[who] -> to = length
	:: else ->
		do
		:: to < length && known[queue[to]] <= known[who] -> to++
		:: else -> break
		od
	fi;
	at = length;
	do
	:: at > to -> queue[at] = queue[at - 1]; at--
	:: else -> break
	od;
	queue[to] = who;
	length++
}

/* ---- Scripts: telling ---- */

inline publish(who, what)
{
	if
	:: is_ours(who) && subscribed[who] && phase[who] == WAITING && !sent[who] && message[who] != TURN ->
		message[who] = what
	:: !is_ours(who) && subscribed[who] && phase[who] == WAITING ->
		message[who] = what
	:: else
	fi
}

/* Looks at a waiter of Redisson's at the head. A new wait there gives it the score that Redisson would. */
inline see_redisson(who)
{
	is_dead = false;
	if
	:: !head_seen ->
		head_seen = true;
		head_absent = 0;
		stale[who] = false;
		turn = (turn == who -> 0 : turn) /* that of an earlier wait */
	:: else -> is_dead = stale[who]
	fi;
	if
	:: !is_dead && present(who) -> head_absent = 0
	:: !is_dead && !present(who) && head_absent == 0 -> head_absent = 1
	:: else
	fi;
	is_dead = is_dead || head_absent == 2
}

inline forget_head(who)
{
	if
	:: !is_ours(who) -> head_seen = false; head_absent = 0
	:: else
	fi
}

/* In the pause after a restart absent waiters are not dead, and no client is granted the lock. */
#ifdef GRANT_IN_PAUSE
#define may_grant true
#else
#define may_grant (!back)
#endif

/* Sets `first`. */
inline first_waiter(free, me)
{
	with_silent = false;
	first = 0;
	do
	:: length == 0 -> first = 0; break
	:: else ->
		first = queue[0];
		if
		:: first == me -> break
		:: else
		fi;
		is_hung = false;
		had_turn = free && turn == first && over;
		if
		:: !is_ours(first) ->
			see_redisson(first);
			had_turn = free && turn == first && over;
			if
			:: !is_dead && !had_turn -> break
			:: else -> is_hung = !is_dead
			fi
		:: is_ours(first) && present(first) ->
			if
			:: !had_turn && !(with_silent && silent[first]) -> break
			:: else -> with_silent = true
			fi
		:: is_ours(first) && !present(first) && back -> break
		:: else
		fi;
		keep_ticket(first);
		drop(first);
		forget_head(first);
		passed_over = true;
		if
		:: is_hung -> publish(first, TURN)
		:: else
		fi
	od
}

inline tell_second(what)
{
	second = 1;
	do
	:: second >= length -> break
	:: else ->
		id = queue[second];
		if
		:: !is_ours(id) -> second++
		:: is_ours(id) && !present(id) && back -> second++
		:: is_ours(id) && !present(id) && !back -> keep_ticket(id); drop(id)
		:: is_ours(id) && present(id) && silent[id] -> second++
		:: else -> publish(id, what); break
		fi
	od
}

inline new_token(who)
{
#if MIN
	minimum = minimum && min_left == 0;
	assert(minimum);
	min_left = MIN;
#endif
#if RESTARTS || EVICTIONS
	tickets++;
	token = tickets;
	held_token[who] = token;
#endif
#if ONCE
	before = (must_ask(who) -> before : started);
	started = started || !must_ask(who); /* acquire starts no COMMAND */
	fresh = fresh || !must_ask(who);
#endif
#ifdef FORGET_END
	for (to : 1 .. OURS) {
		ended[to] = 0
	}
#endif
	ended[who] = 0;
#if SUPERSEDE
	for (to : 1 .. OURS) {
		outdated = outdated && !(is_super(who) && came[to] > came[who])
	}
	assert(outdated);
#ifdef DELETE_NEWEST
	latest = 0
#endif
#endif
}

/* The COMMAND of the last grant is not started after all. */
inline forget_start(who)
{
#if ONCE
	started = (must_ask(who) -> started : before);
	before = (must_ask(who) -> before : false)
#else
	skip
#endif
}

/* Its record says how its hold has ended, as long as a copy of its requests may come. */
inline end_hold(who, how)
{
	ended[who] = (is_ours(who) && keeps_ends && (is_alive(who) || has_former(who)) -> how : 0);
	kept[who] = (is_ours(who) && (is_alive(who) || has_former(who)) -> kept[who] : 0)
}

/* Hands the lock to `first`. That may be giving up, which undoes it, but must not have ended. */
inline hand_over(me)
{
	late = late && phase[first] != GONE && !removed[first];
	assert(late);
	if
	:: is_alive(first) -> check_order(first)
	:: else /* its death was not seen yet */
	fi;
	new_token(first);
	publish(first, GIVEN);
	given[first] = (message[first] == GIVEN -> 1 + EARLY - MARGIN : 0);
	forged[first] = false;
	future[first] = lost_time[first];
	owner = first;
	ttl = 1 + EARLY;
	described = first;
#ifndef FORGET_HANDED
	kept[first] = (unheard[first] -> known[first] : 0);
#endif
	drop(first);
	turn = 0;
	over = false;
	next = ANNOUNCE;
	first_waiter(false, me)
}

/* Sets `first`: with `free` to the first waiter whose COMMAND has not just been run by somebody else. */
inline first_to_run(free, me)
{
	first_waiter(free, me);
#if ONCE && !defined(RUN_TWICE)
	do
	:: free && first != 0 && first != me && ran(first) ->
		drop(first);
		out[first] = true;
		arrived[first] = 0;
		publish(first, TURN);
		first_waiter(free, me)
	:: else -> break
	od
#endif
}

/* pass_on() and announce(), and the look at the head that every answer to a waiter takes. */
inline tell_waiters(me)
{
	first_to_run(next == PASS_ON, me);
	what_second = 0;
#ifndef TELL_FIRST
	if
	:: first != 0 && first != me && next == PASS_ON && turn != first && is_handable(first) && may_grant -> hand_over(me)
	:: else
	fi;
#endif
	if
	:: first == 0 || first == me || next == LOOK
	:: else ->
		if
		:: next == PASS_ON && !may_grant ->
			publish(first, LEASE_END);
			what_second = SEE
		:: next == PASS_ON && turn != first && may_grant ->
			turn = first;
			over = false;
			publish(first, TURN);
			what_second = SEE
		:: next == PASS_ON && turn == first && may_grant
		:: next == ANNOUNCE && is_ours(first) -> publish(first, LEASE_END)
		:: next == ANNOUNCE && !is_ours(first) -> what_second = LEASE_END
		fi
	fi;
	if
	:: what_second != 0 -> tell_second(what_second)
	:: else
	fi
}

/* ---- Scripts: mending ---- */

inline count_listed(who)
{
	listed = 0;
	at = 0;
	do
	:: at < length ->
		if
		:: queue[at] == who -> listed++
		:: else
		fi;
		at++
	:: else -> break
	od
}

inline check_lists()
{
	id = 1;
	do
	:: id <= IDS ->
		count_listed(id);
		lists = lists && listed == scored[id] && (!is_ours(id) || (known[id] > 0) == scored[id]);
		id++
	:: else -> break
	od;
	assert(lists)
}

inline check_single()
{
#if SUPERSEDE
	listed = 0;
	for (id : 1 .. OURS) {
		listed = listed + (is_super(id) && known[id])
	}
	single = single && listed <= 1;
	assert(single)
#else
	skip
#endif
}

/* check_queue(): bring_back(), after Redisson's scripts may have dropped a waiter of ours. */
inline check_queue()
{
#if REDISSON
	second = 1;
	do
	:: second <= OURS ->
		if
		:: known[second] && !scored[second] && present(second) && !silent[second] ->
			place(second);
			scored[second] = true;
			stale[second] = false
		:: known[second] && !scored[second] && !(present(second) && !silent[second]) ->
			keep_ticket(second);
			known[second] = 0;
			unheard[second] = false;
			silent[second] = false
		:: else
		fi;
		second++
	:: else -> break
	od
#else
	skip
#endif
}

inline settle()
{
#ifdef MEND_LATER
	check_queue();
#endif
	/* whether a time to live may stand */
#if REDISSON
	expires = length > 0 && !redisson_queued;
#else
	expires = length > 0;
#endif
	check_lists();
	check_single()
}

inline notice_end()
{
	if
	:: owner != 0 -> turn = 0; over = false
	:: else
	fi;
	if
	:: described != owner ->
		if
		:: described != 0 -> end_hold(described, LOST)
		:: else
		fi;
		described = 0;
		is_kept = false
	:: else
	fi;
	passed_over = false
}

/* ---- Scripts: ours ---- */

/* A waiter that came earlier, is present and answers in time must not be passed over. */
inline check_order(who)
{
	id = 1;
	do
	:: id <= OURS ->
		order = order && !(id != who && phase[id] == WAITING && is_prompt(id) &&
			arrived[id] != 0 &&
			(arrived[who] == 0 || arrived[id] < arrived[who]));
#if RESTARTS
		/* all come back within the pause; when data is lost, newcomers may come before all of them */
		order = order && !(id != who && expected[id] && arrived[id] != 0 && (KEEPS_DATA || one_is_back) &&
			(arrived[who] == 0 || arrived[id] < arrived[who]));
		excused = excused || !KEEPS_DATA && expected[id] && !one_is_back;
#endif
		id++
	:: else -> break
	od;
	assert(order)
}

inline give_lock(who)
{
	kept[who] = 0;
	owner = who;
	ttl = LEASE;
	turn = 0;
	over = false
}

/* A waiter comes back, or gives a sign of life. */
inline renew_place(me, has)
{
	known[me] = ticket_now;
	unheard[me] = (LOSSES > 0 || RESTARTS > 0) && has == 0;
	kept[me] = 0;
	if
	:: !scored[me] -> take_out(me); place(me)
	:: else
	fi;
	scored[me] = true;
	stale[me] = false;
	silent[me] = false;
	arrived[me] = (arrived[me] -> arrived[me] : ticket_now)
}

/* A newcomer comes; or a waiter whose first request was sent again, and is not known. */
inline join(me)
{
	tickets++;
	ticket_now = tickets;
	known[me] = ticket_now;
	unheard[me] = LOSSES > 0 || RESTARTS > 0; /* a client that has lost no connection will hear it, or ask no more */
	push(me);
	scored[me] = true;
	stale[me] = false;
	silent[me] = false;
	if
	:: arrived[me] == 0 -> arrived[me] = ticket_now
	:: else
	fi
}

/* Sets reply_sign: when to ask again, if no message comes. */
inline ask_in(me)
{
	at = 0;
	do
	:: at < length && queue[at] != me && !is_ours(queue[at]) -> at++
	:: else -> break
	od;
	if
	:: owner == 0 && !(back && queue[at] == me) -> reply_sign[me] = SEE
	:: owner == 0 && back && queue[at] == me -> reply_sign[me] = LEASE_END
	:: owner != 0 && queue[at] == me -> reply_sign[me] = LEASE_END
	:: else -> reply_sign[me] = 0
	fi
}

inline grant(me)
{
	late = late && phase[me] != GONE && !removed[me];
	assert(late);
	if
	:: known[me] -> drop(me)
	:: else
	fi;
	check_order(me);
	arrived[me] = 0;
	give_lock(me);
	new_token(me);
	described = me;
	next = ANNOUNCE;
	caller = 0;
	reply[me] = GRANTED
}

/* Whether this is a copy of a request that was sent again, and was overtaken. */
#define is_late(i, old) ((old) < newest[i])
#ifdef LATE_RELEASE
#define is_late_holder(i, old) false
#else
#define is_late_holder(i, old) is_late(i, old)
#endif

inline note_strays(me, old)
{
#ifndef FORGET_STRAYS
	newest[me] = (old > newest[me] -> old : newest[me])
#else
	skip
#endif
}

/* Takes the caller out: somebody else ran the COMMAND while it waited. */
inline too_soon(me)
{
	drop(me);
	out[me] = true;
	arrived[me] = 0;
	next = PASS_ON;
	caller = 0;
	reply[me] = RAN
}

#if SUPERSEDE
/* The hash knows that it has seen this process. Without a trace it is a newcomer, or the first copies of its request were
 * lost on their way: then its age tells. A process that was granted the lock too late asks without a ticket. */
#ifdef NO_TRACE
#define has_trace(i, repeated) (superseded[i] || known[i] || kept[i] || (repeated) && ended[i])
#elif defined(DOUBT_AGAIN)
#define has_trace(i, repeated) (superseded[i] || known[i] || kept[i] || ended[i] || (repeated))
#else
#define has_trace(i, repeated) (superseded[i] || known[i] || kept[i] || ended[i])
#endif
#ifdef NO_AGE
#define is_older(i, repeated) false
#else
#define is_older(i, repeated) ((repeated) && since[i] < since[latest])
#endif
#ifdef FORGET_NEWEST
#define is_outdated(i, has, repeated) false
#else
#define is_outdated(i, has, repeated) \
	(is_super(i) && latest != 0 && latest != (i) && \
	 ((has) != 0 || has_trace(i, repeated) -> !is_newest_again(i, has) : is_older(i, repeated)))
#endif
#ifdef FIRST_BACK
#define is_newest_again(i, has) false
#else
#define is_newest_again(i, has) (is_super(i) && latest != 0 && (has) != 0 && !has_trace(i, false) && since[i] > since[latest])
#endif

/* When the server first sees a waiter. A first request makes it as young as if it began to ask now, however long that request
 * was under way. One that is sent again says when it began. (In the script, so does a first request before which connecting took
 * long.) */
inline see(me, repeated)
{
	comers = comers + (is_super(me) && came[me] == 0 && !(repeated));
	since[me] = (is_super(me) && came[me] == 0 && !(repeated) -> comers : since[me])
}

/* A waiter is superseded by one that came later: the server has seen that. */
inline check_newer(who)
{
	is_dead = true;
	for (to : 1 .. OURS) {
		is_dead = is_dead && !(to != who && came[to] != 0 && since[to] > since[who])
	}
	newer = newer && !is_dead;
	assert(newer)
}

/* The newest takes over the place, the ticket and the turn of the one that is queued. */
inline take_over(me)
{
	latest = me;
	at = 0;
	do
	:: at < length && !(queue[at] != me && is_super(queue[at])) -> at++
	:: else -> break
	od;
	if
	:: at < length ->
		id = queue[at];
		printf("%d takes over from %d\n", me, id);
		newer = newer && since[me] > since[id];
		assert(newer);
		arrived[me] = arrived[id];
		arrived[id] = 0;
#ifndef JOIN_AT_END
		queue[at] = me;
		scored[me] = true;
		stale[me] = stale[id];
		known[me] = known[id];
		ticket_now = known[id];
#ifndef DECIDE_FIRST
		turn = (turn == id -> me : turn);
#endif
#endif
		had_turn = turn == id;
		drop(id);
#ifdef DECIDE_FIRST
		turn = (had_turn -> id : turn);
#endif
		kept[id] = 0;
		superseded[id] = true;
#ifndef SUPERSEDE_SILENTLY
		publish(id, TURN)
#endif
	:: else
	fi
}
#else
#define is_outdated(i, has, repeated) false
#define see(i, repeated) skip
#endif

/* has: its ticket, or 0 */
inline acquire(me, has, repeated, old)
{
	broken[me] = (is_late(me, old) || phase[me] != WAITING -> broken[me] : 0); /* it does not hold, as far as it knows */
	if
	:: is_late(me, old) -> reply[me] = REMOVED
	:: owner == me && !is_late(me, old) && is_kept -> note_strays(me, old); reply[me] = REMOVED
	:: owner == me && !is_late(me, old) && !is_kept ->
		note_strays(me, old);
		kept[me] = 0; /* it stays in the record, for nobody */
		arrived[me] = 0; /* if it lets this lease pass, it has its place only by its ticket */
#ifndef LEASE_FROM_RESEND
		ttl = LEASE;
#endif
		reply[me] = GRANTED
	:: owner != me && !is_late(me, old) && removed[me] -> note_strays(me, old); reply[me] = REMOVED
#if SUPERSEDE
	:: owner != me && !is_late(me, old) && !removed[me] && is_outdated(me, has, repeated) ->
		note_strays(me, old);
		arrived[me] = 0;
		check_newer(me);
		reply[me] = SUPERSEDED
#endif
	:: owner != me && !is_late(me, old) && !removed[me] && has != 0 && ran(me) && !known[me] && out[me] ->
		note_strays(me, old);
		reply[me] = RAN
	:: else ->
		note_strays(me, old);
		ticket_now = has;
		if
		:: repeated && has == 0 ->
			ticket_now = (known[me] -> known[me] : kept[me])
		:: else
		fi;
		see(me, repeated);
#if SUPERSEDE
		came[me] = (came[me] -> came[me] : (since[me] != 0 && since[me] <= lost -> 1 : since[me]));
#endif
#if SUPERSEDE && !defined(DECIDE_FIRST)
		if
		:: is_super(me) && latest != me && (ticket_now == 0 || is_newest_again(me, has)) -> take_over(me)
		:: else -> latest = (is_super(me) && latest == 0 -> me : latest)
		fi;
#endif
		if
		:: ticket_now != 0 -> renew_place(me, has)
		:: else
		fi;
		if
		:: ticket_now == 0 && ran(me) -> reply[me] = RAN
		:: else ->
			first_waiter(owner == 0, me);
			if
			:: owner == 0 && (first == 0 || first == me) && may_grant && ran(me) -> too_soon(me)
			:: owner == 0 && (first == 0 || first == me) && may_grant && !ran(me) -> grant(me)
			:: else ->
#if SUPERSEDE && defined(DECIDE_FIRST)
				if
				:: is_super(me) && latest != me && ticket_now == 0 -> take_over(me)
				:: else -> latest = (is_super(me) && latest == 0 -> me : latest)
				fi;
#endif
				if
				:: ticket_now == 0 && known[me] != 0 -> ticket_now = known[me]
				:: ticket_now == 0 && known[me] == 0 -> join(me)
				:: else
				fi;
				next = (owner == 0 -> PASS_ON : (passed_over -> ANNOUNCE : LOOK));
				caller = me;
				reply[me] = QUEUED
			fi
		fi
	fi
}

inline renew(me, old)
{
	if
	:: is_late_holder(me, old) -> reply[me] = LOST
	:: !is_late_holder(me, old) && owner == me && !is_kept ->
		ttl = LEASE;
		kept[me] = 0;
#if EVICTIONS
		token = (described != me && held_token[me] > token -> held_token[me] : token);
		described = me;
#endif
		reply[me] = RENEWED
#if RESTARTS || EVICTIONS
	/* the server has lost this grant */
	:: !is_late_holder(me, old) && owner == 0 && !ended[me] && token < held_token[me] ->
		late = late && phase[me] != GONE;
		assert(late);
		owner = me;
		ttl = LEASE;
		described = me;
		token = held_token[me];
		kept[me] = 0;
		excused = excused || broken[me] == DONE;
		reply[me] = RENEWED
#endif
	:: else ->
		reply[me] = (ended[me] == BROKEN -> BROKEN : LOST);
		ended[me] = (ended[me] == 0 && keeps_ends && phase[me] == HOLDING -> LOST : ended[me])
	fi;
	forced = forced && !(reply[me] == RENEWED && (broken[me] == BROKEN || broken[me] == LOST));
	assert(forced)
}

inline let_go(me)
{
	owner = 0;
	ttl = 0;
	described = 0;
	is_kept = false;
	next = PASS_ON
}

inline release(me, old)
{
	if
	:: is_late_holder(me, old) -> reply[me] = DONE
#ifdef TELL_FIRST
	:: !is_late_holder(me, old) && owner == me && !half[me] && !orphan[me] -> next = PASS_ON; half[me] = true; sent[me] = true
	:: !is_late_holder(me, old) && owner == me && half[me] -> let_go(me); next = 0; half[me] = false; reply[me] = DONE
#else
#ifdef FREE_KEPT
#define must_keep (min_left > 0 && !is_kept)
#else
#define must_keep (min_left > 0)
#endif
	:: !is_late_holder(me, old) && owner == me && must_keep ->
		kept[me] = 0;
		ttl = min_left;
		next = (is_kept -> 0 : ANNOUNCE);
		is_kept = true;
		reply[me] = DONE
	:: !is_late_holder(me, old) && owner == me && !must_keep -> kept[me] = 0; let_go(me); reply[me] = DONE
#endif
	:: else -> reply[me] = DONE
	fi
}

inline leave(me, old)
{
	kind = described == me;
	was_queued = scored[me];
	was_first = length > 0 && queue[0] == me;
	if
	:: was_queued || known[me] -> drop(me)
	:: else
	fi;
	note_strays(me, old);
	kept[me] = 0;
	removed[me] = false;
	if
	:: owner != 0 && kind -> forget_start(me); min_left = 0; let_go(me)
	:: owner == 0 -> next = PASS_ON
	:: owner != 0 && !kind && was_first -> next = ANNOUNCE
	:: else
	fi;
	reply[me] = DONE
}

#ifdef FORGET_ANSWER
#define has_answer false
#else
#define has_answer (answer != 0)
#endif

#ifdef COMMAND_TWICE
#define has_given false
#else
#define has_given (answer != 0)
#endif

#if FORCES || COMMANDS
/* Somebody breaks the lock, or gives back the hold of `whom` for it. The answer is remembered beside the request. */
inline force(what, old)
{
	if
	:: is_late(0, old) || (what == FORCE -> has_answer : has_given || owner != whom)
	:: else ->
		spared = spared && !is_done;
		assert(spared);
		is_done = true;
		answer = (owner -> owner : NOBODY);
		if
		:: owner != 0 ->
			first = owner;
			broken[first] = (is_alive(first) -> (what == FORCE -> BROKEN : LOST) : 0);
			arrived[first] = 0;
			min_left = 0;
			/* also of a hold that the hash does not know */
			if
#ifdef FORCE_UNKNOWN
			:: described != owner
#endif
			:: else -> end_hold(owner, (what == FORCE -> BROKEN : LOST))
			fi;
			let_go(owner);
			/* a holder renews when it is told so */
			if
			:: message[first] != GIVEN && !sent[first] && subscribed[first] && is_alive(first) ->
				message[first] = TURN
			:: else
			fi
		:: else
		fi
	fi;
	note_strays(0, old);
	reply[0] = DONE
}
#endif

#if REMOVES
/* Somebody takes a waiter out. */
inline remove(old)
{
	if
	:: !is_late(0, old) && scored[whom] ->
		spared = spared && !is_done;
		assert(spared);
		is_done = true;
		was_first = queue[0] == whom;
		drop(whom);
		kept[whom] = 0;
		removed[whom] = true;
		arrived[whom] = 0;
		publish(whom, TURN);
		next = (owner == 0 -> PASS_ON : (was_first -> ANNOUNCE : 0))
	:: else
	fi;
	note_strays(0, old);
	reply[0] = DONE
}
#endif

/* A hash that first meets a server says when. An older ticket or token then proves that data was lost. Another run of the
 * server is a restart, which matters if there were waiters. */
inline check_run(me, what, has)
{
#if RESTARTS
#ifndef FORGET_RUN
	back = back || met == OTHER && length > 0;
#endif
	if
	:: met == 0 -> up = tickets; has_up = true
	:: else
	fi;
	met = SAME;
#ifndef FORGET_UP
	if
	:: has_up && (what == ASK && has != 0 && has <= up || what == RENEW && held_token[me] <= up) ->
		back = true;
		has_up = false;
		up = 0
	:: else
	fi
#else
	has_up = false
#endif
#else
	skip
#endif
}

inline script(me, what, has, repeated, old)
{
	check_run(me, what, has);
	notice_end();
#ifndef MEND_LATER
	check_queue();
#endif
	next = 0;
	caller = 0;
	if
	:: what == ASK -> acquire(me, has, repeated, old)
	:: what == RENEW -> renew(me, old); note_strays(me, old)
	:: what == RELEASE -> release(me, old); note_strays(me, old)
	:: what == LEAVE && is_late(me, old) -> reply[me] = DONE
	:: what == LEAVE && !is_late(me, old) -> leave(me, old)
#if FORCES || COMMANDS
	:: what == FORCE || what == COMMAND -> force(what, old)
#endif
#if REMOVES
	:: what == REMOVE -> remove(old)
#endif
	fi;
	if
	:: next != 0 -> tell_waiters(caller)
	:: else
	fi;
	settle();
	if
	:: what == ASK && reply[me] == QUEUED -> ask_in(me); reply_ticket[me] = ticket_now
	:: else
	fi;
	next = 0;
	caller = 0;
	printf("%d: %e answered %e; held by %d, queue %d %d %d %d, turn %d\n", me, what, reply[me], owner,
		queue[0], queue[1], queue[2], queue[SIZE - 1], turn)
}

/* ---- Scripts: Redisson's ---- */

/* Drops the heads whose score has passed. Our hash does not learn of it. */
inline r_sweep()
{
	do
	:: length > 0 && stale[queue[0]] ->
		id = queue[0];
		forget_head(id);
		scored[id] = false;
		stale[id] = false;
		take_out(id)
	:: else -> break
	od
}

inline r_ask(me)
{
	r_sweep();
	if
	:: owner == 0 && (length == 0 || queue[0] == me) ->
		take_out(me);
		forget_head(me);
		scored[me] = false;
		stale[me] = false;
		owner = me;
		ttl = LEASE;
		minimum = minimum && min_left == 0;
		assert(minimum);
		reply[me] = GRANTED
	:: owner == me -> ttl = LEASE; reply[me] = GRANTED
	:: else ->
		if
		:: !scored[me] -> scored[me] = true; push(me)
		:: else
		fi;
		reply[me] = QUEUED
	fi
}

inline r_unlock(me)
{
	r_sweep();
	if
	:: owner == me -> owner = 0; ttl = 0
	:: else
	fi;
	if
	:: owner == 0 && length > 0 -> id = queue[0]; publish(id, TURN)
	:: else
	fi;
	reply[me] = DONE
}

/* ---- A client of ours ---- */

inline make_request(me, what)
{
	printf("%d sends %e\n", me, what);
#if SUPERSEDE && (LOSSES || RESTARTS) /* else none is sent again */
	comers = comers + (is_super(me) && since[me] == 0);
	since[me] = (is_super(me) && since[me] == 0 -> comers : since[me]);
#endif
	request[me] = what;
	sent[me] = true;
	age[me] = 0;
	message[me] = 0; /* it would come while we ask */
	given[me] = 0;
	forged[me] = false;
	future[me] = false;
	sign[me] = 0;
	watch[me] = 0
}

inline close_connection(me)
{
	subscribed[me] = false;
	home[me] = false;
	sent[me] = false;
	half[me] = false;
	reply[me] = 0;
	reply_sign[me] = 0;
	reply_ticket[me] = 0;
	message[me] = 0;
	given[me] = 0;
	forged[me] = false;
	future[me] = false
}

/* No copy can come any more, so counting may begin anew. */
inline forget_former(me)
{
	orphan[me] = 0;
	orphan_ticket[me] = 0;
	orphan_again[me] = false;
	orphan_strays[me] = 0;
	strays[me] = 0;
	newest[me] = 0;
	ended[me] = (is_alive(me) -> ended[me] : 0);
	removed[me] = (is_alive(me) -> removed[me] : false);
	superseded[me] = (is_alive(me) -> superseded[me] : false);
	kept[me] = (is_alive(me) -> kept[me] : 0);
	lingers[me] = false
}

/* The present connection becomes a former one. */
inline drop_connection(me)
{
	printf("%d loses its connection\n", me);
	lingers[me] = subscribed[me];
	orphan[me] = (sent[me] -> request[me] : 0);
	orphan_ticket[me] = (sent[me] && request[me] == ASK -> ticket[me] : 0);
	orphan_again[me] = (sent[me] && request[me] == ASK -> again[me] : false);
	orphan_strays[me] = (sent[me] -> strays[me] : 0);
#ifndef COUNT_NO_STRAYS
	strays[me] = (request[me] != 0 -> strays[me] + 1 : strays[me]);
#endif
	close_connection(me)
}

/* A process that has ended has no state. If it had no request under way, its connection leaves no trace. */
inline finish(me, how)
{
	if
	:: how == GONE && request[me] == 0 -> close_connection(me)
	:: else -> drop_connection(me)
	fi;
	printf("%d ends: %e\n", me, how);
	phase[me] = how;
	request[me] = 0;
	again[me] = false;
	strays[me] = 0;
	ticket[me] = 0;
	age[me] = 0;
	left[me] = 0;
	sign[me] = 0;
	watch[me] = 0;
	renewals[me] = 0;
	hung[me] = false;
	missed[me] = false;
	tardy[me] = false;
	frozen[me] = false;
	lost_time[me] = false;
	away[me] = false;
	expected[me] = false;
	arrived[me] = 0;
	broken[me] = 0;
	out[me] = false;
	if
	:: !has_former(me) -> ended[me] = 0; removed[me] = false; superseded[me] = false; kept[me] = 0
	:: else
	fi
}

inline carry_out(me)
{
	sent[me] = false;
#if RESTARTS
	/* with a ticket or a token; other requests prove nothing */
	one_is_back = one_is_back || expected[me] && (request[me] == RENEW || request[me] == ASK && ticket[me] != 0);
#endif
	if
	:: request[me] == ASK -> home[me] = true; missed[me] = false
	:: else
	fi;
	script(me, request[me], ticket[me], again[me], strays[me]);
#if RESTARTS
	expected[me] = false
#endif
}

/* Carries out a late copy, whose answer goes nowhere. */
inline carry_out_orphan(me)
{
	printf("a late copy of %d\n", me);
	lingers[me] = true;
	reply_kept = reply[me];
	sign_kept = reply_sign[me];
	ticket_kept = reply_ticket[me];
	script(me, orphan[me], orphan_ticket[me], orphan_again[me], orphan_strays[me]);
	orphan[me] = 0;
	orphan_ticket[me] = 0;
	orphan_again[me] = false;
	orphan_strays[me] = 0;
	reply[me] = reply_kept;
	reply_sign[me] = sign_kept;
	reply_ticket[me] = ticket_kept
}

inline check_exclusion(me)
{
	id = 1;
	do
	:: id <= OURS ->
		exclusion = exclusion && !(id != me && is_inside(id) && left[me] > 0 && !broken[me] && !excused);
		id++
	:: else -> break
	od;
#if REDISSON
	exclusion = exclusion && !(phase[R] == HOLDING && owner == R) && !(phase[R_LAST] == HOLDING && owner == R_LAST);
#endif
	assert(exclusion)
}

inline set_deadline(me)
{
	left[me] = (LEASE - MARGIN > age[me] -> LEASE - MARGIN - age[me] : 0)
}

/* A holder starts its COMMAND. */
inline start(me)
{
#if ONCE
	once = once && !(is_periodic(me) && recent);
	assert(once);
	recent = recent || fresh && !must_ask(me);
#endif
	check_exclusion(me)
}

/* Takes a lock that it was handed while it waited, with no request under way. */
inline be_given(me)
{
	phase[me] = HOLDING;
	left[me] = (must_ask(me) -> LEASE - MARGIN : given[me]);
	given[me] = 0;
	message[me] = 0;
	ticket[me] = 0;
	arrived[me] = 0;
	again[me] = false;
	sign[me] = 0;
	watch[me] = 0;
	start(me)
}

/* Every request is answered once over its connection. */
inline take_reply(me)
{
	printf("%d hears %e\n", me, reply[me]);
	request[me] = 0;
	again[me] = false;
	age[me] = (reply[me] == GRANTED || reply[me] == RENEWED -> age[me] : 0);
	if
	:: reply[me] == GRANTED ->
		message[me] = 0;
		given[me] = 0;
		set_deadline(me);
		age[me] = 0;
		reply[me] = 0;
		if
		/* too late: COMMAND is not started */
		:: left[me] == 0 && !tardy[me] -> tardy[me] = true; make_request(me, ASK)
		:: left[me] == 0 && tardy[me] -> finish(me, GONE)
		:: else ->
			phase[me] = HOLDING;
			ticket[me] = 0;
			arrived[me] = 0;
			start(me)
		fi
	:: reply[me] == QUEUED ->
		ticket[me] = reply_ticket[me];
		reply_ticket[me] = 0;
		sign[me] = reply_sign[me];
		reply_sign[me] = 0;
		lost_time[me] = false;
		reply[me] = 0
	:: reply[me] == RENEWED ->
		set_deadline(me);
		age[me] = 0;
		reply[me] = 0;
		if
		:: left[me] == 0 -> finish(me, GONE)
		:: else -> check_exclusion(me)
		fi
	:: reply[me] == LOST || reply[me] == BROKEN ->
		lost_early = lost_early && (left[me] == 0 || excused || broken[me]);
		assert(lost_early);
		told = told && !(reply[me] == LOST && broken[me] == BROKEN);
		assert(told);
		finish(me, GONE)
	:: else -> finish(me, GONE)
	fi
}

/* Sends the request that was under way again; without one, sends a new one. */
inline come_back(me)
{
	again[me] = true;
#ifdef FORGET_TICKET
	ticket[me] = 0;
#endif
	if
	:: request[me] == 0 && phase[me] == WAITING -> make_request(me, ASK)
	:: request[me] == 0 && phase[me] == HOLDING -> make_request(me, RENEW)
	:: else -> sent[me] = true; age[me] = 0
	fi
}

#ifdef BELIEVE_ANYBODY
#define is_doubtful(i) future[i]
#elif defined(BELIEVE_FUTURE)
#define is_doubtful(i) forged[i]
#else
#define is_doubtful(i) (forged[i] || future[i])
#endif

/* Whether a hand-over counts without another question. */
#ifdef HAND_WITHOUT_ASKING
#define counts(i) (phase[i] == WAITING && given[i] > 0 && !is_doubtful(i))
#else
#define counts(i) (phase[i] == WAITING && given[i] > 0 && !is_doubtful(i) && !must_ask(i))
#endif

#define is_due(what) (!back && (what) == LEASE_END && owner == 0 || \
	!back && (what) == SEE && (over || turn == 0 || owner != 0))
/* Without timers, a client may die only if no message is on its way to it, and the server sees it at once. */
#define may_crash(i) (is_alive(i) && phase[i] != OUT && !has_former(i) && \
	(TIMERS > 0 || (owner != i && turn != i && message[i] == 0)))

proctype fairlock(byte me)
{
	if
	:: me == FIRST
	:: else -> d_step {
		phase[me - 1] != OUT -> /* all are alike */
			phase[me] = WAITING;
			make_request(me, ASK)
	}
	fi;
	do
	/* the server */
	:: d_step { sent[me] && !subscribed[me] -> subscribed[me] = true; printf("%d subscribed\n", me) }
	:: d_step { sent[me] && subscribed[me] -> carry_out(me) }
	:: d_step { orphan[me] != 0 -> carry_out_orphan(me) }
	:: d_step { has_former(me) && (phase[me] != CUT || all_over) ->
		printf("the server sees the end of a connection of %d\n", me);
		forget_former(me)
	}
	/* the client */
	:: d_step { reply[me] != 0 && !hung[me] -> take_reply(me) }
	:: d_step { message[me] != 0 && request[me] == 0 && !hung[me] ->
		printf("%d is told %e\n", me, message[me]);
		if
		:: phase[me] == HOLDING && message[me] == TURN -> make_request(me, RENEW)
		:: phase[me] != HOLDING && message[me] == TURN || message[me] == GIVEN && !counts(me) -> make_request(me, ASK)
		:: message[me] == GIVEN && counts(me) -> be_given(me)
		:: else -> watch[me] = message[me]; message[me] = 0
		fi
	}
#if TIMERS > 0
	:: d_step { phase[me] == WAITING && request[me] == 0 && message[me] == 0 && !hung[me] &&
		(is_due(sign[me]) || is_due(watch[me])) ->
			make_request(me, ASK)
	}
#endif
#if TIMERS > 1
	:: d_step { phase[me] == WAITING && request[me] == 0 && message[me] == 0 && !hung[me] ->
			make_request(me, ASK)
	}
#endif
#if RENEWALS
	:: d_step { phase[me] == HOLDING && request[me] == 0 && !hung[me] && renewals[me] < RENEWALS ->
			renewals[me]++;
			make_request(me, RENEW)
	}
#endif
	:: d_step { phase[me] == HOLDING && request[me] == 0 && !hung[me] ->
			phase[me] = RETURNING;
			make_request(me, RELEASE)
	}
	:: d_step { phase[me] == RETURNING && request[me] != 0 && left[me] == 0 && !has_former(me) ->
			finish(me, GONE)
	}
#if RETURNS
	:: d_step { returns > 0 && phase[me] == RETURNING && reply[me] == DONE && !hung[me] ->
			returns--;
			reply[me] = 0;
			again[me] = false;
			left[me] = 0;
			phase[me] = WAITING;
			make_request(me, ASK)
	}
#endif
#if RESTARTS
	:: d_step { away[me] && !hung[me] ->
			away[me] = false;
			sent[me] = true;
			age[me] = 0
	}
#endif
	/* what goes wrong */
#if LEAVES
	:: d_step { leaves > 0 && !away[me] && phase[me] == WAITING && !hung[me] && (request[me] == 0 || !has_former(me)) ->
			leaves--;
			if
			:: request[me] != 0 -> drop_connection(me) /* client_cancel() */
			:: else
			fi;
			phase[me] = LEAVING;
			make_request(me, LEAVE)
	}
#endif
#if LOSSES
	:: d_step { losses > 0 && !away[me] && is_alive(me) && phase[me] != OUT && !hung[me] && !has_former(me) ->
			losses--;
			drop_connection(me);
			come_back(me)
	}
#endif
#if CRASHES
	:: d_step { crashes > 0 && may_crash(me) ->
			crashes--;
			finish(me, DEAD);
			if
			:: TIMERS == 0 -> forget_former(me)
			:: else
			fi
	}
#endif
#if CUTS
	:: d_step { cuts > 0 && may_crash(me) -> cuts--; finish(me, CUT) }
#endif
#if HANGS
	:: d_step { hangs > 0 && is_alive(me) && phase[me] != OUT && !hung[me] -> hangs--; hung[me] = true }
	:: d_step { hung[me] && !frozen[me] -> hung[me] = false; missed[me] = phase[me] == WAITING }
#endif
#if FORGERIES
	:: d_step { forgeries > 0 && phase[me] == WAITING && request[me] == 0 && subscribed[me] && message[me] == 0 ->
			printf("a forged message to %d\n", me);
			forgeries--;
			message[me] = GIVEN;
			given[me] = 1;
			forged[me] = true
	}
#endif
#if FREEZES
	:: d_step { freezes > 0 && phase[me] == WAITING && request[me] == 0 && message[me] == 0 && !hung[me] ->
			printf("the machine of %d is paused\n", me);
			freezes--;
			hung[me] = true;
			frozen[me] = true
	}
	:: d_step { frozen[me] ->
			printf("the machine of %d goes on\n", me);
			hung[me] = false;
			frozen[me] = false;
			missed[me] = true
	}
#endif
#if MUTES
	:: d_step { mutes > 0 && message[me] != 0 -> mutes--; message[me] = 0; given[me] = 0; missed[me] = true }
#endif
	:: d_step { !is_alive(me) && !has_former(me) -> home[me] = false } -> break
	od
}

#if REDISSON
/* A client of Redisson's asks before it subscribes, and again when it has. A watchdog renews its lease. */
proctype redisson(byte me)
{
	d_step { phase[me] = WAITING; request[me] = ASK; sent[me] = true; home[me] = true }
	do
	:: d_step { sent[me] && request[me] == ASK -> sent[me] = false; r_ask(me) }
	:: d_step { sent[me] && request[me] == RELEASE -> sent[me] = false; r_unlock(me) }
	:: d_step { reply[me] == QUEUED && !subscribed[me] -> reply[me] = 0; subscribed[me] = true; sent[me] = true }
	:: d_step { reply[me] == QUEUED && subscribed[me] -> reply[me] = 0; request[me] = 0 }
	:: d_step { reply[me] == GRANTED ->
		reply[me] = 0;
		request[me] = 0;
		subscribed[me] = false;
		message[me] = 0;
		phase[me] = HOLDING;
		id = 1;
		do
		:: id <= OURS -> exclusion = exclusion && !(is_inside(id) && owner == me); id++
		:: else -> break
		od;
		id = R + R_LAST - me; /* the other one */
		exclusion = exclusion && !(REDISSON == 2 && phase[id] == HOLDING && request[id] == 0);
		assert(exclusion)
	}
	:: d_step { reply[me] == DONE -> reply[me] = 0; request[me] = 0; phase[me] = GONE; home[me] = false }
	:: d_step { phase[me] == HOLDING && request[me] == 0 -> request[me] = RELEASE; sent[me] = true }
	:: d_step { phase[me] == WAITING && request[me] == 0 && message[me] != 0 ->
		message[me] = 0;
		request[me] = ASK;
		sent[me] = true
	}
	/* its wait ends with the lease that it saw; it asks without a pause while the lock is free */
	:: d_step { phase[me] == WAITING && request[me] == 0 && message[me] == 0 && owner == 0 &&
		(length == 0 || queue[0] == me || stale[queue[0]] || !scored[me]) ->
			request[me] = ASK;
			sent[me] = true
	}
	:: d_step { phase[me] == HOLDING && owner == me && ttl < LEASE -> ttl = LEASE }
#if CRASHES
	:: d_step { crashes > 0 && phase[me] != OUT && is_alive(me) ->
		crashes--;
		phase[me] = DEAD;
		home[me] = false;
		request[me] = 0;
		sent[me] = false;
		reply[me] = 0;
		message[me] = 0;
		subscribed[me] = false
	}
#endif
	:: d_step { !is_alive(me) -> home[me] = false } -> break
	od
}
#endif

#if OTHERS
#if EVICTIONS
/* Our hash is gone, and so are the records. */
inline evict()
{
	described = 0;
	token = 0;
	id = 1;
	do
	:: id <= OURS ->
		kept[id] = 0;
		ended[id] = 0;
		broken[id] = (broken[id] -> DONE : 0);
		id++
	:: else -> break
	od
}
#endif

/* Somebody uses force, or takes a waiter out, and sends the request again when its connection is lost. */
proctype other()
{
	do
#if FORCES
	:: d_step { forces > 0 && request[0] == 0 -> forces--; request[0] = FORCE; sent[0] = true }
#endif
#if COMMANDS
	:: d_step { commands > 0 && request[0] == 0 && owner != 0 && is_ours(owner) && must_ask(owner) ->
		commands--;
		whom = owner;
		request[0] = COMMAND;
		sent[0] = true
	}
#endif
#if REMOVES
	:: d_step { removes > 0 && request[0] == 0 && length > 0 ->
		removes--;
		whom = queue[0];
		request[0] = REMOVE;
		sent[0] = true
	}
	:: d_step { removes > 0 && request[0] == 0 && length > 1 ->
		removes--;
		whom = queue[1];
		request[0] = REMOVE;
		sent[0] = true
	}
#endif
#if EVICTIONS
	:: d_step { evictions > 0 && length == 0 -> evictions--; evict(); printf("the hash is deleted\n") }
#endif
	:: d_step { sent[0] -> sent[0] = false; script(0, request[0], 0, false, strays[0]) }
#if LOSSES
	:: d_step { losses > 0 && request[0] != 0 && orphan[0] == 0 ->
		losses--;
		printf("somebody else loses the connection\n");
		orphan[0] = (sent[0] -> request[0] : 0);
		orphan_strays[0] = strays[0];
		strays[0]++;
		sent[0] = true;
		reply[0] = 0
	}
	:: d_step { orphan[0] != 0 ->
		reply_kept = reply[0];
		script(0, orphan[0], 0, false, orphan_strays[0]);
		reply[0] = reply_kept;
		orphan[0] = 0
	}
	:: d_step { orphan[0] != 0 -> orphan[0] = 0 }
#endif
	:: d_step { reply[0] != 0 && orphan[0] == 0 -> reply[0] = 0; request[0] = 0; strays[0] = 0; orphan_strays[0] = 0 } -> break
	:: d_step { request[0] == 0 && all_over } -> break
	od
}
#endif

/* ---- Restarts ---- */

#if RESTARTS
/* All connections end, and what was on its way is lost. */
inline restart()
{
	printf("the server restarts\n");
	id = 1;
	do
	:: id <= OURS ->
		forget_former(id);
		close_connection(id);
		if
		:: is_alive(id) && phase[id] != OUT ->
			away[id] = true;
			come_back(id);
			sent[id] = false;
			expected[id] = phase[id] == HOLDING || phase[id] == WAITING && (KEEPS_DATA -> known[id] : ticket[id]) != 0;
			arrived[id] = (KEEPS_DATA -> arrived[id] : (phase[id] == WAITING -> ticket[id] : 0))
		:: else
		fi;
		id++
	:: else -> break
	od;
	met = (met -> OTHER : 0);
#if !KEEPS_DATA
	owner = 0;
	ttl = 0;
	described = 0;
	started = false;
	before = false;
	recent = false;
	newest[0] = 0;
	answer = 0;
	is_done = false;
	is_kept = false;
	min_left = 0;
	turn = 0;
	over = false;
	token = 0;
	latest = 0;
	lost = comers;
	met = 0;
	up = 0;
	has_up = false;
	back = false;
	expires = false;
	length = 0;
	id = 1;
	do
	:: id <= OURS ->
		queue[id - 1] = 0;
		scored[id] = false;
		known[id] = 0;
		unheard[id] = false;
		kept[id] = 0;
		silent[id] = false;
		ended[id] = 0;
		kept[id] = 0;
		broken[id] = (broken[id] -> DONE : 0);
		removed[id] = false;
		superseded[id] = false;
		came[id] = came[id] != 0 && ticket[id] != 0;
		id++
	:: else -> break
	od;
#endif
#if OTHERS
	orphan[0] = 0;
	orphan_strays[0] = 0;
	reply[0] = 0;
	sent[0] = request[0] != 0;
#endif
	id = 0
}

#if WAITERS > 2
#define all_are_back (!(expected[1] || expected[2] || expected[3] || expected[4]))
#elif WAITERS > 1
#define all_are_back (!(expected[1] || expected[2] || expected[3]))
#else
#define all_are_back (!(expected[1] || expected[2]))
#endif
#endif

/* ---- Time ---- */

#define pending_age(i) (request[i] != 0 && request[i] != RELEASE && request[i] != LEAVE && age[i] < LEASE)

inline tick(who)
{
	if
	:: pending_age(who) -> age[who]++
	:: else
	fi;
	if
	:: left[who] > 0 -> left[who]--
	:: else
	fi;
#ifndef COUNT_FROM_HEARING
	given[who] = (given[who] > 0 && !frozen[who] -> given[who] - 1 : given[who]);
#endif
	lost_time[who] = lost_time[who] || frozen[who] && message[who] != GIVEN;
	if
	:: phase[who] == HOLDING && left[who] == 0 && is_ours(who) -> finish(who, GONE)
	:: else
	fi
}

/* It was handed the lock, and had time to take it. */
#define give_up_on_owner() missed[owner] = missed[owner] || is_ours(owner) && phase[owner] == WAITING

/* A holder that loses the lock ends: its former connection must have ended before, as everywhere. */
#define may_tick(i) (!(phase[i] == HOLDING && left[i] == 1 && request[i] != 0 && has_former(i)) && \
	!(frozen[i] && message[i] == GIVEN && !future[i]))

proctype clock()
{
end:
	do
#if RESTARTS
	:: d_step { restarts > 0 && !(all_over) -> restarts--; restart() }
	:: d_step { back && all_are_back -> back = false; printf("the pause is over\n") }
#endif
#if EXPIRY
	:: d_step { (ttl > 0 || left[1] || left[2] || left[LAST_BUT_ONE] || left[OURS]) &&
		(EXPIRY == 2 || !is_alive(owner) || phase[owner] == WAITING && !is_prompt(owner)) &&
		may_tick(1) && may_tick(2) && may_tick(LAST_BUT_ONE) && may_tick(OURS) ->
			second = 1;
			do
			:: second <= OURS -> tick(second); second++
			:: else -> break
			od;
			if
			:: ttl > 0 -> ttl--
			:: else
			fi;
			min_left = (min_left > 0 && ttl > 0 -> min_left - 1 : 0);
			if
			:: ttl == 0 ->
				give_up_on_owner();
				owner = 0
			:: else
			fi;
			printf("tick: ttl %d, held by %d\n", ttl, owner)
	}
#endif
#if ONCE
	:: d_step { periods > 0 && fresh ->
		periods--;
		recent = false;
		fresh = false;
		started = false;
		before = false;
		printf("the period is over\n")
	}
#endif
#if EARLY
	:: d_step { ttl == EARLY && (EXPIRY == 2 || !is_alive(owner) || left[owner] == 0) ->
		ttl = 0;
		give_up_on_owner();
		owner = 0;
		printf("tick: early, by the server's clock\n")
	}
#endif
	:: d_step { turn != 0 && owner == 0 && !over && TIMERS > 0 && !is_prompt(turn) -> over = true }
#if HANGS || CUTS
	:: d_step { TIMERS > 0 && known[1] && is_quiet(1) && !silent[1] -> silent[1] = true }
	:: d_step { TIMERS > 0 && known[2] && is_quiet(2) && !silent[2] -> silent[2] = true }
#if WAITERS > 2
	:: d_step { TIMERS > 0 && known[3] && is_quiet(3) && !silent[3] -> silent[3] = true }
#endif
	:: d_step { TIMERS > 0 && known[OURS] && is_quiet(OURS) && !silent[OURS] -> silent[OURS] = true }
#endif
#if REDISSON
	:: d_step { head_absent == 1 && length > 0 && !is_ours(queue[0]) && !is_alive(queue[0]) -> head_absent = 2 }
	:: d_step { stales > 0 && length > 0 && !stale[queue[0]] ->
		stales--;
		stale[queue[0]] = true
	}
	/* the score of a dead waiter passes in the end */
	:: d_step { length > 0 && !stale[queue[0]] && !is_alive(queue[0]) -> stale[queue[0]] = true }
#endif
	od
}

/* When all is over, one more client asks: it must find nothing. */
inline check_ghosts()
{
#if !REDISSON || defined(GAP_EXPIRY)
	/* Redisson's scripts may be the last, and set no time to live when a waiter of theirs has gone. */
	ghosts = ghosts && (length == 0 || expires || !is_ours(queue[0]));
#endif
	id = 1;
	do
	:: id <= IDS ->
		ghosts = ghosts && !(scored[id] && phase[id] == GONE) && !subscribed[id];
		id++
	:: else -> break
	od;
	assert(ghosts);
	back = false;
	notice_end();
	check_queue();
	head_seen = true;
	head_absent = 2; /* a head of Redisson's has been absent for 5 s */
	first_waiter(true, 0);
	settle();
	ghosts = ghosts && first == 0 && length == 0 && described == 0;
	assert(ghosts)
}

init
{
	atomic {
		phase[FIRST] = HOLDING;
		new_token(FIRST);
#if ONCE
		recent = true;
#endif
		subscribed[FIRST] = true;
		home[FIRST] = true;
		left[FIRST] = LEASE - MARGIN;
		run clock();
		id = 1;
		do
		:: id <= OURS -> run fairlock(id); id++
		:: else -> break
		od;
#if REDISSON
		run redisson(R);
#endif
#if OTHERS
		run other();
#endif
#if REDISSON > 1
		run redisson(R_LAST)
#endif
	}
	d_step { _nr_pr == 2 && owner == 0 -> check_ghosts() }
}

#ifdef FAIR
ltl served { <> (all_over) }
#endif
