/* A model of a lock with several holders, for spin: exclusive and shared holds, and two slots. tests/model/run runs it
 * beside fairlock.pml, in several small configurations, whose numbers are the macros below.
 *
 * One atomic step is one script on the server together with its request and its reply, or what a client does between two
 * waits. Only messages are under way between two steps. From lua/scripts and lua/parts:
 *
 *   fit, set_last_end                                          capacity.lua
 *   drop, first_waiter                                         queue_head.lua
 *   tell_second, hand_over, pass_on                            pass_on.lua
 *   end_this                                                   let_go.lua
 *   take, notice_end                                           changes.lua
 *   acquire (grant, join, queued, ask_in), renew (take_up), release (keep, force), leave   the scripts
 *   r_ask, r_unlock                                            the scripts of Redisson's fair lock
 *
 * Time goes in ticks. A lease has LEASE of them, and a turn one, as has a hold that was handed over and is not renewed.
 * A tick comes only when no client that runs has anything to do: such a client renews, asks and answers in time. So
 * `in_time` is strict. A waiter asks when an answer or a message has said so, and else never: a sign of life would hide that
 * a script has forgotten to wake somebody. There is one only where nothing else can help (waits_for_sign): a waiter died
 * that stood before others for which there is room, or a holder died while the first waiter hangs.
 *
 * fairlock.pml has one holder, and more of the rest. It proves what is left out here: requests and answers that are under
 * way, lost, repeated or late; messages that are lost or forged; tickets that a client has not heard; presence that ends
 * late; several hung clients; clocks; restarts with data; Redisson's scores, and its clients that die. Left out of both are
 * going in again, --max-queue, replicas and clusters. Slots are two, so that a third client waits. HANGS does not go with
 * REDISSON here: one of ours that comes back stands behind Redisson's then, wherever it stood before.
 *
 * The clients come in the order of their numbers, so a configuration says in which order the kinds come.
 *
 * After a loss of data all holders and waiters that run come back within the pause. What follows is excused if a newcomer
 * is granted the lock before the first of them is back, or a holder that hangs misses the pause; but the server's own
 * holds fit at any rate. One of Redisson's that was not at the head when it asked sleeps until the end that it saw,
 * which is excused, too.
 *
 * Mutations, to see that the properties can fail:
 *
 *   SLOT_TWICE       a slot is given without a look at who has it
 *   GIVE_UNKNOWN     ... or while the hash, which was deleted, does not know who has it
 *   MIX_COUNTS       a slot is given beside holders of another count
 *   SLOT_LOST        a slot is free only when it was given back: a dead holder has it for as long as others hold
 *   OVERTAKE         a client for which there is room gets the lock, whoever waits: a reader overtakes a writer
 *   DROP_SECOND      a hold is taken up after a loss of data only if its token is newer than all that the hash knows
 *   REVIVE           a hold is taken up after a loss of data also if the hash knows how it ended
 *   TAKE_UP_ANYWAY   ... also if there is no room for it
 *   OVERDUE          a holder without a COMMAND that hung past its lease renews when it goes on
 *   OLD_TOKEN        a hold whose COMMAND has not begun is taken up under the token that it has
 *   BEGIN_UNHEARD    COMMAND begins before the holder has heard from the server that lost its data
 *   KEEP_SET         with key 1 gone, the sorted set is left as it is
 *   STOP_AFTER_ONE   pass_on hands the lock to one waiter, and tells the next nothing
 *   LEAVE_SILENTLY   the first waiter leaves, and the lock is not passed on
 *   LAST_END         the first waiter is told when the last lease ends, not when enough of them have
 *   SHORTEN          a grant gives key 1 the time to live of its own lease
 *   FORGET_HEAD      one of Redisson's at the head is not told that the last end has become earlier, by a release
 *   FORGET_KEPT      ... by a --min-hold
 *   ASK_ALONE        a waiter that is first by now is told to ask, and nobody looks whether it does
 *   FORGET_TURN      a turn is over as soon as anybody holds the lock, as with one holder
 *   FREE_OTHERS      the end of a hold that is noticed late frees the slot that somebody else has by now
 *   KEEP_FIELD       the last lease that goes on is given back, and the lock is passed on as if ended ones held it
 *   LEAVE_KEY        the last hold leaves key 1
 */

#ifndef W1
#define W1 ALONE
#endif
#ifndef W2
#define W2 SHARED
#endif
#ifndef W3
#define W3 0
#endif
#ifndef W4
#define W4 0
#endif
#ifndef REDISSON
#define REDISSON 0 /* 1: a client of Redisson's, too */
#endif
#ifndef TOLD
#define TOLD 0 /* 1: the lock cannot be handed to waiters of an odd number: they are told their turn */
#endif
#ifndef HANDED_MOST
#define HANDED_MOST 2 /* so many are handed the lock by one script */
#endif
#ifndef LEASE
#define LEASE 2 /* ticks */
#endif
#ifndef TICKS
#define TICKS 1 /* 0: time stands still */
#endif
/* How often each of these may happen in one run. */
#ifndef CRASHES
#define CRASHES 0
#endif
#ifndef HANGS
#define HANGS 0 /* SIGSTOP, and SIGCONT at some time */
#endif
#ifndef LEAVES
#define LEAVES 0 /* a waiter gives up */
#endif
#ifndef RETURNS
#define RETURNS 0 /* a client that has given its hold back asks again; 9: any number of times */
#endif
#ifndef LOSSES
#define LOSSES 0 /* the server loses all data */
#endif
#ifndef FORCES
#define FORCES 0 /* somebody breaks all holds, or one */
#endif
#ifndef DELETES
#define DELETES 0 /* somebody deletes key 1: Redisson's forceUnlock */
#endif
#ifndef EVICTIONS
#define EVICTIONS 0 /* our hash is deleted while nobody waits, and key 1 and the sorted set are not */
#endif
#ifndef BLINDS
#define BLINDS 0 /* so many other leases have ended that a script has enough of them, and notices none of these */
#endif
#ifndef SEVERAL
#define SEVERAL 0 /* 1: the clients wait for other locks, too, while they hold this one: COMMAND begins as they give it back */
#endif
#ifndef COUNTS
#define COUNTS 0 /* 1: who wants slot 1 counts one slot, and who wants ANY counts two */
#endif
#ifndef KEEPS
#define KEEPS 0 /* a hold is given back, and stays for a tick: the rest of its --min-hold */
#endif

#define SHARED 4 /* what a client wants; ANY, or one of the slots 1 and 2, else */
#define ALONE  8
#define ANY    3
#ifdef SLOT_LOST
#define is_blind true
#else
#define is_blind blind
#endif
#define are_slots(want) ((want) > 0 && (want) < SHARED)

#define CLIENTS (2 + (W3 != 0) + (W4 != 0))
#define R       (CLIENTS + 1)
#define ALL     (CLIENTS + REDISSON)
#if W4
#define SIZE 6
#elif W3
#define SIZE 5
#else
#define SIZE 4
#endif
#define is_ours(i) ((i) <= CLIENTS)
#define want(i) ((i) == 1 -> W1 : ((i) == 2 -> W2 : ((i) == 3 && W3 -> W3 : ((i) == 4 && W4 -> W4 : ALONE))))

#define SHARED_HOLDS 100 /* the field of key 1; an owner, else; 0: there is no such key */
#define SLOT_HOLDS   101

mtype = { OUT, WAITING, HANDED, HOLDING, GONE, DEAD };
mtype = { GIVEN, TURN };

#if LOSSES
#define if_losses
#else
#define if_losses hidden
#endif
#if LOSSES || FORCES || DELETES
#define if_ends
#else
#define if_ends hidden
#endif

/* ---- The server ---- */

byte field;              /* of key 1 */
byte ttl;                /* of key 1 */
#if COUNTS
byte slots;              /* the value of key 1: what its holders want */
#endif
byte ends[SIZE];         /* the sorted set: 1 and the ticks that are left; 1: its end is to be noticed */
byte described;          /* our hash: the last field of key 1 that our scripts know */
byte mode[SIZE];         /* h:ID: ALONE, SHARED or the slot of a hold whose end was not noticed */
byte has_slot[3];        /* s:SLOT */
if_ends byte ended[SIZE];   /* h:ID: the last hold has ended */
byte queue[SIZE];
byte length;
byte turn;
bool over;               /* a tick ago */
bool untaken[SIZE];      /* h:ID: it was handed over, and not renewed */
if_losses byte hash = true;    /* there is one */
if_losses byte tokens;         /* the last one; a time, which goes on when the hash is lost */
if_losses byte token;          /* the last one that the hash knows */
if_losses byte lost;           /* when the data were lost, as a token: the hash is new, so its floor is 0 */
if_losses byte up;             /* a newcomer has made the new hash, and nobody is back */
if_losses byte back;           /* the pause after a loss of data */

/* ---- The clients ---- */

mtype phase[SIZE] = OUT;
mtype message[SIZE];     /* on its way */
byte watch[SIZE];        /* 1 and the ticks until it asks; 0: it does not */
byte left[SIZE];         /* ticks until the deadline */
byte held[SIZE];         /* the mode of its last hold */
bool hung[SIZE];
if_losses byte held_token[SIZE];
if_losses byte away[SIZE];     /* its connection has ended, and it is not back */

#define AT_BACK 9        /* watch: when the pause is over */

#if REDISSON
bool knows_end;          /* Redisson's waiter was at the head when it asked */
#endif

#if BLINDS
bool blind;
#else
hidden byte blind;
#endif

byte crashes = CRASHES, hangs = HANGS, leaves = LEAVES, losses = LOSSES, forces = FORCES, deletes = DELETES;
byte blinds = BLINDS, evictions = EVICTIONS, keeps = KEEPS, returns = RETURNS;

/* ---- What is to be true. Spin names the one that is not. ---- */

byte line[SIZE];         /* who waits, in the order in which they came, and who has died so */
byte waiting;
bool missed[SIZE];       /* it has missed its turn, and has not asked since */
if_ends byte broken[SIZE];  /* its hold, on purpose */
if_losses byte expected[SIZE]; /* it held or waited when data was lost, and is not back */
if_losses byte one_is_back;
if_losses byte excused;
if_losses byte newest[ALONE + 1]; /* the token of the last hold of each mode */
byte idle;               /* for so many ticks there was room for the first */

bool fits = true;        /* never more than fit hold at once */
bool order = true;       /* nobody overtakes a waiter that came earlier, whatever either wants */
bool in_time = true;     /* a waiter that is first is served when there is room: no slot is lost for longer than a lease */
bool kept = true;        /* a hold is lost only if it was broken, or if its owner did not renew it in time */
bool revived = true;     /* a hold that was broken stays broken */
bool grown = true;       /* no exclusive hold is taken up after a loss of data if another was granted after it; with SEVERAL, no
                          * COMMAND begins under an older token than another one that does not fit beside it had */
bool nothing_left = true;   /* when all is over there is no key 1, no holder, no slot and no waiter */

#define is_alive(i)   (phase[i] != GONE && phase[i] != DEAD)
#define runs(i)       (is_alive(i) && !hung[i])
#define present(i)    (is_alive(i) && !away[i])
#define is_inside(i)  (phase[i] == HOLDING && left[i] > 0 && !broken[i])
#define is_prompt(i)  (phase[i] == WAITING && !hung[i] && !missed[i])
#define has_many      (field >= SHARED_HOLDS)
#define is_holder(i)  (field == (i) || has_many && ends[i] > 1)
#define counts_fit(i, j) (!COUNTS || want(i) == want(j))
#define beside(a, b)  ((a) == SHARED && (b) == SHARED || are_slots(a) && are_slots(b) && (a) != (b))
#define is_handable(i) (is_ours(i) && !(TOLD && (i) % 2))

#if W4
#define fourth_is(what) what(4)
#else
#define fourth_is(what) false
#endif
#if W3
#define any(what) (what(1) || what(2) || what(3) || fourth_is(what))
#else
#define any(what) (what(1) || what(2))
#endif
#define is_expected(i) expected[i]
#define is_away(i) away[i]
#define any_prompt (any(is_prompt) || first == R)
#ifdef OVERDUE
#define is_overdue(i) (left[i] == 0)
#else
#define is_overdue(i) false
#endif
#define is_over(i) (phase[i] == GONE || phase[i] == DEAD)
#define is_going_on(i) (!is_over(i))
#if REDISSON
#define all_over (!any(is_going_on) && is_over(R))
#define r_is_busy (is_alive(R) && phase[R] != OUT && (message[R] != 0 || watch[R] == 1))
#else
#define all_over (!any(is_going_on))
#define r_is_busy false
#endif

/* One hung client costs its turn, and with it one that dies as it is told, or a pause. Redisson's forceUnlock tells
 * nobody, nor does a holder that the hash comes to know again. */
#define IDLE_MOST (DELETES || EVICTIONS -> LEASE : (HANGS -> HANGS + LOSSES : 0))

/* Not part of a state: each script sets them anew. */
hidden byte first, second, at, to, id, moved, room, slot, ms, handed, passed_over, had_turn, is_free, was_first, before;
hidden byte what, is_untaken, holders, is_next, is_new, stop, had_missed;

/* ---- Lists ---- */

inline leave_queue(who)
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

inline leave_line(who)
{
	at = 0;
	to = 0;
	do
	:: at < waiting ->
		moved = line[at];
		line[at] = 0;
		if
		:: moved != who -> line[to] = moved; to++
		:: else
		fi;
		at++
	:: else -> break
	od;
	waiting = to
}

inline drop(who)
{
	leave_queue(who);
	if
	:: turn == who -> turn = 0; over = false
	:: else
	fi
}

/* Sets `at`: the place of a client in the line. */
inline find(who)
{
	at = 0;
	do
	:: at < waiting && line[at] != who -> at++
	:: else -> break
	od
}

/* Sets `at`: the place of a client in the queue. */
inline find_in_queue(who)
{
	at = 0;
	do
	:: at < length && queue[at] != who -> at++
	:: else -> break
	od
}

/* Whether a came before b. The order of the tickets is that of the line. */
inline look_who_came_first(a, b)
{
	find(a);
	is_next = at;
	find(b);
	is_next = is_next < at
}

/* Puts a waiter that comes back before the first of ours with a later ticket. */
inline place(who)
{
	to = 0;
	do
	:: to < length ->
		is_next = false;
		if
		:: is_ours(queue[to]) -> look_who_came_first(who, queue[to])
		:: else
		fi;
		if
		:: is_next -> break
		:: else -> to++
		fi
	:: else -> break
	od;
	at = length;
	do
	:: at > to -> queue[at] = queue[at - 1]; at--
	:: else -> break
	od;
	queue[to] = who;
	length++
}

inline push(who)
{
	queue[length] = who;
	length++;
	line[waiting] = who;
	waiting++
}

/* ---- Capacity ---- */

/* The hash does not know a holder's slot. */
#if EVICTIONS && !defined(GIVE_UNKNOWN)
#define is_unknown(i) (ends[i] > 0 && mode[i] == 0)
#define knows_holders (!any(is_unknown))
#else
#define knows_holders true
#endif

#if COUNTS && !defined(MIX_COUNTS)
#define count_fits(wish) (slots == (wish))
#else
#define count_fits(wish) true
#endif

/* Sets `room`, `slot` and `ms`: when there may be room. While the hash does not know all holders, the script says an
 * earlier time. */
inline fit(wish)
{
	room = field == 0 || field == SHARED_HOLDS && wish == SHARED;
	slot = (room && are_slots(wish) -> 2 - (wish & 1) : 0);
	ms = ttl;
	if
	:: field == SLOT_HOLDS && are_slots(wish) && count_fits(wish) && knows_holders ->
		ms = 99;
		for (at : 1 .. 2) {
			if
#ifdef SLOT_TWICE
			:: (wish & at) && slot == 0 -> room = true; slot = at
#elif defined(SLOT_LOST)
			:: (wish & at) && slot == 0 && has_slot[at] == 0 -> room = true; slot = at
#else
			:: (wish & at) && slot == 0 && (has_slot[at] == 0 || ends[has_slot[at]] <= 1) -> room = true; slot = at
#endif
			:: (wish & at) && has_slot[at] != 0 && ends[has_slot[at]] > 1 ->
				ms = (ends[has_slot[at]] - 1 < ms -> ends[has_slot[at]] - 1 : ms)
			:: else
			fi
		}
		ms = (ms == 99 -> ttl : ms)
	:: else
	fi;
#ifdef LAST_END
	ms = ttl
#endif
}

/* Sets key 1's time to live, and `holders`: how many leases go on. */
inline set_last_end()
{
	ttl = 0;
	holders = 0;
	for (at : 1 .. CLIENTS) {
		holders = holders + (ends[at] > 1);
		ttl = (ends[at] > ttl + 1 -> ends[at] - 1 : ttl)
	}
}

inline set_ttl(who, ticks)
{
	if
	:: has_many ->
		ends[who] = ticks + 1;
		set_last_end();
#ifdef SHORTEN
		ttl = ticks
#endif
	:: else -> ttl = ticks
	fi
}

/* ---- Telling ---- */

inline tell(who, what)
{
	if
	:: present(who) && message[who] != GIVEN && phase[who] != OUT -> message[who] = what
	:: else
	fi
}

inline tell_second(ticks)
{
	second = 1;
	do
	:: second >= length -> break
	:: else ->
		id = queue[second];
		if
		:: is_ours(id) && present(id) -> watch[id] = ticks; break
		:: is_ours(id) && !present(id) && !back -> drop(id)
		:: else -> second++
		fi
	od
}

/* ---- Holds ---- */

/* No client that came earlier, is there and answers may wait. */
inline check_order(who)
{
	at = 0;
	do
	:: at < waiting && line[at] != who ->
		id = line[at];
		order = order && (!is_prompt(id) || away[id] && !one_is_back || excused);
		at++
	:: else -> break
	od;
	excused = excused || back == 0 && !expected[who] && !one_is_back && any(is_away);
	assert(order)
}

/* `what` is the mode of the hold. The server's own holds fit always, whatever is excused. */
inline take_hold(who, ticks)
{
	for (id : 1 .. ALL) {
		fits = fits && (id == who || !is_holder(id) || beside(held[id], what) && counts_fit(id, who))
	}
	assert(fits);
	if
#ifndef KEEP_SET
	:: !has_many && what != ALONE ->
		for (id : 1 .. CLIENTS) {
			ends[id] = 0
		}
#endif
	:: else
	fi;
#if COUNTS
	slots = (field == SLOT_HOLDS -> slots : want(who));
#endif
	field = (what == ALONE -> who : (what == SHARED -> SHARED_HOLDS : SLOT_HOLDS));
	described = field;
	held[who] = what;
	mode[who] = what;
	has_slot[1] = (what == 1 -> who : has_slot[1]);
	has_slot[2] = (what == 2 -> who : has_slot[2]);
	ended[who] = false;
	set_ttl(who, ticks);
	left[who] = ticks
}

/* Gives the hold that fit() has found. */
inline take(who, ticks)
{
	what = (slot -> slot : want(who));
	take_hold(who, ticks);
	broken[who] = false;
	untaken[who] = ticks < LEASE;
	printf("%d is given %d for %d\n", who, held[who], ticks);
#if LOSSES
	hash = true;
	tokens++;
	token = tokens;
	held_token[who] = token;
	newest[held[who]] = token;
#endif
	turn = 0;
	over = false
}

/* lasting: its owner may ask how it ended. */
inline end_hold(who, lasting)
{
	if
	:: mode[who] == ALONE -> described = (described == who -> 0 : described)
#ifdef FREE_OTHERS
	:: are_slots(mode[who]) -> has_slot[mode[who]] = 0
#else
	:: are_slots(mode[who]) -> has_slot[mode[who]] = (has_slot[mode[who]] == who -> 0 : has_slot[mode[who]])
#endif
	:: else
	fi;
	untaken[who] = false;
	ended[who] = lasting && mode[who] != 0;
	mode[who] = 0
}

inline notice_end()
{
	if
	:: turn != 0 ->
		fit(want(turn));
#ifdef FORGET_TURN
		room = field == 0;
#endif
		turn = (room -> turn : 0);
		over = over && room
	:: else
	fi;
	had_missed = false;
	if
	:: has_many ->
		for (id : 1 .. CLIENTS) {
			if
			:: ends[id] == 1 && !is_blind -> had_missed = had_missed || untaken[id]; ends[id] = 0; end_hold(id, true)
			:: else
			fi
		}
	:: !has_many && described >= SHARED_HOLDS ->
		for (id : 1 .. CLIENTS) {
#ifndef KEEP_SET
			ends[id] = 0;
#endif
			if
			:: mode[id] != 0 && mode[id] != ALONE -> had_missed = had_missed || untaken[id] && left[id] == 0; end_hold(id, true)
			:: else
			fi
		}
		described = 0
	:: !has_many && described != 0 && described < SHARED_HOLDS && described != field ->
		id = described;
		had_missed = untaken[id] && left[id] == 0;
		end_hold(id, true)
	:: else
	fi;
	blind = false;
	/* the first has had its turn since then, if there is room for it */
	if
	:: had_missed && (field == 0 || has_many) && length > 0 && is_ours(queue[0]) ->
		fit(want(queue[0]));
		turn = (room -> queue[0] : turn);
		over = over && !room
	:: else
	fi
}

/* ---- The head of the queue ---- */

/* Sets `first`. */
inline first_waiter(me)
{
	first = 0;
	do
	:: length == 0 || queue[0] == me -> first = (length -> me : 0); break
	:: else ->
		first = queue[0];
		had_turn = false;
		if
		:: turn == first && over ->
			fit(want(first));
			had_turn = room
		:: else
		fi;
		if
		:: is_ours(first) && !present(first) && !back || had_turn ->
			missed[first] = missed[first] || had_turn && hung[first];
			drop(first);
			tell(first, TURN);
			passed_over = true
		:: else -> break
		fi
	od
}

/* Gives `first` the hold that fit() has found. */
inline hand_over()
{
	check_order(first);
	drop(first);
	take(first, 1);
	watch[first] = 0;
	message[first] = GIVEN;
	phase[first] = HANDED
}

inline tell_turn(who)
{
	turn = who;
	over = false;
	tell_second(2);
	tell(who, TURN)
}

inline tell_first(me)
{
	if
	:: first == 0 || first == me
	:: else ->
		if
		:: !room && is_ours(first) && present(first) && ttl > 0 -> watch[first] = ms + 1
		:: !room && !is_ours(first) -> tell_second(ms + 1)
		:: room && back ->
			watch[first] = (is_ours(first) && present(first) -> AT_BACK : watch[first]);
			tell_second(AT_BACK)
		:: room && !back && turn != first ->
			tell_turn(first)
		:: else
		fi
	fi
}

/* me: the caller, or 0. Sets `first`. */
inline pass_on(me)
{
	handed = 0;
	stop = false;
	do
	:: stop -> break
	:: else ->
		first_waiter(me);
		room = false;
		stop = true;
		if
		:: first != 0 && first != me -> fit(want(first))
		:: else
		fi;
		if
		:: room && !back && handed < HANDED_MOST && turn != first && is_handable(first) ->
			hand_over();
			handed++;
#ifdef STOP_AFTER_ONE
			first = 0
#else
			stop = false
#endif
		:: else
		fi
	od;
	tell_first(me)
}

/* ---- The scripts ---- */

/* Ends a hold. lasting: its owner may ask how it ended. */
inline end_this(who, lasting)
{
	before = ttl;
	if
	:: field == who -> field = 0; ttl = 0
	:: else ->
		ends[who] = 0;
		set_last_end();
		holders = 0;
		for (id : 1 .. CLIENTS) {
			holders = holders + (ends[id] > 0);
			if
#ifndef KEEP_FIELD
			:: ttl == 0 && ends[id] > 0 -> ends[id] = 0; end_hold(id, true); holders--
#endif
			:: else
			fi
		}
#ifdef LEAVE_KEY
		ttl = (ttl == 0 -> before : ttl);
#else
		field = (holders == 0 -> 0 : field);
		described = (holders == 0 -> 0 : described);
#endif
		/* it sleeps until the end that it saw */
#ifndef FORGET_HEAD
		if
		:: 0 < ttl && ttl < before && length > 0 && !is_ours(queue[0]) -> tell(queue[0], TURN)
		:: else
		fi
#endif
	fi;
	end_hold(who, lasting)
}

/* After a loss of data: the caller has a ticket or a token from before. */
inline notice_loss(me)
{
#if LOSSES
	if
	:: away[me] && (!hash || up) ->
		lost = (hash -> lost : tokens);
		hash = true;
		up = false;
		back = true;
		turn = 0
	:: else
	fi;
	one_is_back = one_is_back || away[me];
	expected[me] = false;
	away[me] = false
#else
	skip
#endif
}

inline introduce()
{
#if LOSSES
	if
	:: !hash -> hash = true; up = true; lost = tokens
	:: else
	fi
#else
	skip
#endif
}

/* The client learns that it holds. */
inline hear(me)
{
	printf("%d holds\n", me);
	phase[me] = HOLDING;
	message[me] = 0;
	watch[me] = 0;
	missed[me] = false;
	leave_line(me);
	for (id : 1 .. ALL) {
		fits = fits && (id == me || !is_inside(id) || !is_inside(me) || beside(held[id], held[me]) || excused)
	}
	assert(fits)
}

inline grant(me)
{
	drop(me);
	fit(want(me));
	check_order(me);
	introduce();
	take(me, LEASE);
	hear(me);
	pass_on(0)
}

/* Sets `watch`: when to ask again if no message comes. */
inline ask_in(me)
{
	is_untaken = 0 < field && field <= CLIENTS && untaken[field];
	for (id : 1 .. CLIENTS) {
		is_untaken = is_untaken || has_many && untaken[id] && ends[id] == ms + 1
	}
	at = 0;
	do
	:: at < length && queue[at] != me && !is_ours(queue[at]) -> at++
	:: else -> break
	od;
	if
	:: room && first != me -> watch[me] = (watch[me] -> watch[me] : 2) /* it may have been told sooner */
	:: room && first == me -> watch[me] = (back -> AT_BACK : 1)
	:: !room && first != me && is_untaken -> watch[me] = ms + 2 /* the owner and the first may hang both */
	:: !room && first != me && !is_untaken && queue[at] != me -> watch[me] = 0
	:: else -> watch[me] = ms + 1
	fi
}

inline queued(me)
{
	if
	:: passed_over -> pass_on(me)
	:: else -> first_waiter(me)
	fi;
	fit(want(first));
	if
	:: room && first != me -> pass_on(me); fit(want(first))
	:: else
	fi;
#ifndef ASK_ALONE
	/* it asks at once; the second looks whether it has */
	if
	:: room && first == me && !back && turn != me -> tell_turn(me)
	:: else
	fi;
#endif
	ask_in(me)
}

#ifdef OVERTAKE
#define is_first(me) true
#else
#define is_first(me) (first == 0 || first == me)
#endif

/* A newcomer asks, or one that waits, or was handed the lock too long ago. */
inline acquire(me)
{
	is_new = phase[me] == OUT;
	printf("%d asks\n", me);
	message[me] = 0;
	watch[me] = 0;
	missed[me] = false;
	notice_end();
	passed_over = false;
	if
	:: !is_new && is_holder(me) ->
		untaken[me] = false;
		set_ttl(me, LEASE);
		left[me] = LEASE;
		hear(me)
	:: else ->
		phase[me] = WAITING;
		notice_loss(me);
		fit(want(me));
		is_free = room && !back;
		find_in_queue(me);
		is_next = is_free && length > 0 && queue[0] == me;
		if
		:: !is_new && at == length -> introduce(); place(me)
		:: else
		fi;
		first_waiter(me);
		if
		:: is_free && is_first(me) -> grant(me)
		:: else ->
			if
			:: is_new -> introduce(); push(me)
			:: else
			fi;
			queued(me)
		fi
	fi
}

inline end_client(me)
{
	phase[me] = GONE;
	message[me] = 0;
	watch[me] = 0;
	left[me] = 0;
	hung[me] = false;
#if LOSSES
	away[me] = false;
	expected[me] = false;
#endif
	missed[me] = false
}

inline renew(me)
{
	message[me] = 0;
	printf("%d renews\n", me);
	notice_end();
	notice_loss(me);
	if
	:: is_holder(me) ->
		revived = revived && broken[me] != 1;
		untaken[me] = false;
#if EVICTIONS
		mode[me] = held[me];
		has_slot[1] = (held[me] == 1 -> me : has_slot[1]);
		has_slot[2] = (held[me] == 2 -> me : has_slot[2]);
		described = field;
#endif
		set_ttl(me, LEASE);
		left[me] = LEASE
	:: else ->
		fit(held[me]);
#ifdef TAKE_UP_ANYWAY
		room = true;
#endif
#if LOSSES
		is_free = room && held_token[me] < lost && (held[me] != ALONE || held_token[me] > token);
#ifdef DROP_SECOND
		is_free = is_free && held_token[me] > token;
#endif
#ifndef REVIVE
		is_free = is_free && !ended[me];
#endif
#else
		is_free = false;
#endif
		if
		:: is_free ->
			revived = revived && broken[me] != 1;
			excused = excused || broken[me];
#if LOSSES && SEVERAL && !defined(OLD_TOKEN)
			tokens++;
			held_token[me] = tokens;
#elif LOSSES && !SEVERAL
			grown = grown && (held[me] != ALONE || held_token[me] >= newest[ALONE]);
#endif
			introduce();
			moved = token;
			what = held[me];
			take_hold(me, LEASE);
#if LOSSES
			newest[held[me]] = (newest[held[me]] > held_token[me] -> newest[held[me]] : held_token[me]);
#endif
			token = (moved > held_token[me] -> moved : held_token[me]);
			pass_on(0)
		:: else ->
			kept = kept && (broken[me] || is_overdue(me) || excused && (!room || held[me] == ALONE));
			ended[me] = true;
			end_client(me)
		fi
	fi;
	assert(revived);
	assert(grown);
	assert(kept)
}

/* It has all of its locks. */
inline begin_command(me)
{
#if LOSSES && SEVERAL
	for (at : 1 .. ALONE) {
		grown = grown && (at != held[me] && beside(at, held[me]) || at == SHARED && held[me] == SHARED ||
			held_token[me] >= newest[at])
	}
	assert(grown)
#else
	skip
#endif
}

inline give_back(me)
{
	printf("%d releases\n", me);
	notice_end();
	kept = kept && (is_holder(me) || broken[me] || excused);
	assert(kept);
	begin_command(me);
	if
	:: is_holder(me) -> end_this(me, false); pass_on(0)
	:: else
	fi;
#ifdef KEEP_FIELD
	field = (ttl -> field : 0);
#endif
	end_client(me)
}

/* The hold stays for the rest of its --min-hold. */
inline keep(me)
{
	printf("%d releases, and its hold is kept\n", me);
	notice_end();
	before = ttl;
	set_ttl(me, 1);
#ifndef FORGET_KEPT
	if
	:: ttl < before && length > 0 && !is_ours(queue[0]) -> tell(queue[0], TURN)
	:: else
	fi;
#endif
	pass_on(0);
	end_client(me)
}

inline leave(me)
{
	printf("%d leaves\n", me);
	notice_end();
	was_first = length > 0 && queue[0] == me;
	drop(me);
	leave_line(me);
	end_client(me);
	if
	:: is_holder(me) -> end_this(me, false); pass_on(0)
#ifndef LEAVE_SILENTLY
	:: !is_holder(me) && (was_first || field == 0) -> pass_on(0)
#endif
	:: else
	fi
}

/* ---- The clients ---- */

#define is_waiting(i) (phase[i] == WAITING || phase[i] == HANDED)
#define is_due(i) (message[i] != 0 || watch[i] == 1 || phase[i] == HOLDING && left[i] <= 1 || away[i])
/* The next sign of life of a waiter, up to 10 s later, shows that one before it has died, or that a holder has died while
 * the first hangs. */
#if CRASHES && W4
#define waits_for_sign (phase[queue[0]] == DEAD || phase[queue[1]] == DEAD || phase[queue[2]] == DEAD || \
	crashes < CRASHES && hung[queue[0]])
#elif CRASHES
#define waits_for_sign (phase[queue[0]] == DEAD || phase[queue[1]] == DEAD || crashes < CRASHES && hung[queue[0]])
#else
#define waits_for_sign false
#endif
#define is_busy(i) (runs(i) && phase[i] != OUT && is_due(i))

#define may_come(i) (phase[i] == OUT && (i == 1 || phase[i - 1] != OUT))
#define must_ask(i) (phase[i] == HANDED && message[i] == GIVEN && left[i] == 0 || message[i] == TURN || watch[i] == 1 || away[i])
#define may_ask(i) (may_come(i) || is_waiting(i) && runs(i) && (must_ask(i) || message[i] == 0 && waits_for_sign))
#define may_renew(i) (phase[i] == HOLDING && runs(i) && (left[i] < LEASE || message[i] == TURN || away[i]))
#define may_return(i) (returns > 0 && phase[i] == GONE && mode[i] == 0 && ends[i] == 0)

proctype client(byte me)
{
	do
	:: d_step { may_ask(me) -> acquire(me) }
	:: d_step { phase[me] == HANDED && runs(me) && message[me] == GIVEN && left[me] > 0 -> hear(me) }
	:: d_step { may_renew(me) -> renew(me) }
	:: d_step { phase[me] == HOLDING && runs(me) && !away[me] && left[me] > 0 -> give_back(me) }
#ifdef BEGIN_UNHEARD
	:: d_step { phase[me] == HOLDING && runs(me) && away[me] && left[me] > 0 && newest[held[me]] > held_token[me] ->
		begin_command(me)
	}
#endif
#if KEEPS
	:: d_step { keeps > 0 && phase[me] == HOLDING && runs(me) && !away[me] && is_holder(me) && left[me] > 1 ->
		keeps--;
		keep(me)
	}
#endif
#if RETURNS
	:: d_step { may_return(me) -> returns = (returns == 9 -> 9 : returns - 1); phase[me] = OUT }
#endif
#if LEAVES
	:: d_step { leaves > 0 && is_waiting(me) && runs(me) && !away[me] -> leaves--; leave(me) }
#endif
#if CRASHES
	:: d_step { crashes > 0 && is_alive(me) && phase[me] != OUT ->
		crashes--;
		end_client(me);
		phase[me] = DEAD;
		printf("%d dies\n", me)
	}
#endif
#if HANGS
	:: d_step { hangs > 0 && runs(me) && phase[me] != OUT -> hangs--; hung[me] = true; printf("%d hangs\n", me) }
	:: d_step { hung[me] ->
		hung[me] = false;
		missed[me] = missed[me] || turn == me && over;
		printf("%d goes on\n", me)
	}
#endif
	:: phase[me] == GONE && returns == 0 || phase[me] == DEAD -> break
	od
}

#if REDISSON
/* It takes the lock as an exclusive one, asks when it is told or when the lease ends that it saw, and renews in time. */
inline r_ask()
{
	printf("%d asks\n", R);
	message[R] = 0;
	watch[R] = 0;
	if
	:: field == 0 && (length == 0 || queue[0] == R) ->
		check_order(R);
		leave_queue(R);
		field = R;
		ttl = LEASE;
		left[R] = LEASE;
		held[R] = ALONE;
		broken[R] = false;
		hear(R)
	:: else ->
		find_in_queue(R);
		if
		:: at == length -> push(R)
		:: else
		fi;
		phase[R] = WAITING;
		knows_end = queue[0] == R;
		watch[R] = (ttl -> ttl : LEASE) + 1 /* some time, at least, if the lock is free */
	fi
}

inline r_unlock()
{
	if
	:: field == R ->
		field = 0;
		ttl = 0;
		if
		:: length > 0 -> tell(queue[0], TURN)
		:: else
		fi
	:: else
	fi;
	printf("%d unlocks\n", R);
	end_client(R)
}

proctype redisson()
{
	d_step { phase[1] != OUT -> r_ask() }
	do
	:: d_step { phase[R] == WAITING && is_due(R) -> r_ask() }
	:: d_step { phase[R] == HOLDING -> r_unlock() }
	:: phase[R] == GONE -> break
	od
}
#endif

#if FORCES || DELETES
inline break_hold(who)
{
	if
	:: is_holder(who) ->
		broken[who] = is_alive(who);
		tell(who, TURN);
		end_this(who, true)
	:: else
	fi
}

byte whom;

/* Somebody breaks all holds, or one, or deletes key 1. */
proctype other()
{
	do
#if FORCES
	:: d_step { forces > 0 && field != 0 && field != R ->
		forces--;
		notice_end();
		for (whom : 1 .. CLIENTS) {
			break_hold(whom)
		}
		whom = 0;
		printf("somebody breaks all holds\n");
		pass_on(0)
	}
	:: atomic { forces > 0 && has_many ->
		forces--;
		if
		:: whom = 1
		:: whom = 2
		:: whom = CLIENTS
		fi;
		d_step { printf("somebody breaks the hold of %d\n", whom); notice_end(); break_hold(whom); whom = 0; pass_on(0) }
	}
#endif
#if DELETES
	:: d_step { deletes > 0 && field != 0 ->
		deletes--;
		for (id : 1 .. ALL) {
			broken[id] = is_holder(id) && is_alive(id)
		}
		field = 0;
		ttl = 0;
		printf("somebody deletes key 1\n")
	}
#endif
	:: all_over || !(forces || deletes) -> break
	od
}
#endif

/* ---- Time ---- */

#define counts_down(i) (watch[i] > 1 || left[i] > 0)

#define is_first_of_line(i) (phase[i] == WAITING && !missed[i] && !away[i])

/* Whether there is room for the first of the waiters, by the leases that go on. */
inline look_at_room()
{
	first = 0;
	for (id : 1 .. SIZE) {
		first = (first == 0 && id <= waiting && is_first_of_line(line[id - 1]) -> line[id - 1] : first)
	}
	room = first != 0 && (field == 0 || has_many);
	slot = (first != 0 -> want(first) : 0);
	if
	:: room && field != 0 ->
		for (id : 1 .. CLIENTS) {
			if
			:: ends[id] <= 1
			:: ends[id] > 1 && are_slots(slot) && are_slots(held[id]) && counts_fit(id, first) -> slot = slot & (ANY - held[id]); room = room && slot != 0
			:: ends[id] > 1 && slot == SHARED && held[id] == SHARED
			:: else -> room = false
			fi
		}
	:: else
	fi;
#if REDISSON
	room = room && (first != R || knows_end); /* else it sleeps until the end that it saw */
#endif
	idle = (room && any_prompt && !waits_for_sign -> idle + 1 : 0);
	in_time = in_time && idle <= IDLE_MOST;
	assert(in_time)
}

inline pass_time()
{
	look_at_room();
	if
	:: ttl > 0 && field != R -> ttl--
	:: else
	fi;
	field = (ttl -> field : 0);
	holders = 0;
	for (id : 1 .. CLIENTS) {
		ends[id] = (ends[id] > 1 -> ends[id] - 1 : ends[id]);
		holders = holders + (ends[id] > 1);
		left[id] = (left[id] > 0 -> left[id] - 1 : 0);
		if
#ifdef OVERDUE
		:: left[id] == 0 && phase[id] == HOLDING && !hung[id] -> end_client(id)
#else
		:: left[id] == 0 && phase[id] == HOLDING -> end_client(id) /* its guard stops COMMAND */
#endif
		:: else
		fi
	}
	for (id : 1 .. ALL) {
		watch[id] = (watch[id] > 1 && watch[id] != AT_BACK -> watch[id] - 1 : watch[id]);
		/* the set has the same time to live as key 1 */
		ends[id] = (holders -> ends[id] : 0)
	}
	over = over || turn != 0;
	printf("tick: ttl %d\n", ttl)
}

#if LOSSES
inline lose_data()
{
	field = 0;
	ttl = 0;
	described = 0;
	length = 0;
	turn = 0;
	over = false;
	hash = false;
	token = 0;
	lost = 0;
	up = false;
	back = false;
	tokens++;
	has_slot[1] = 0;
	has_slot[2] = 0;
	for (id : 1 .. CLIENTS) {
		ends[id] = 0;
		mode[id] = 0;
		untaken[id] = false;
		ended[id] = false;
		broken[id] = 2 * (broken[id] != 0);
		queue[id - 1] = 0;
		message[id] = 0;
		watch[id] = 0;
		phase[id] = (phase[id] == HANDED -> WAITING : phase[id]);
		away[id] = is_alive(id) && phase[id] != OUT;
		expected[id] = away[id] && !hung[id]
	}
	printf("the data are lost\n");
	one_is_back = false
}
#endif

#if EVICTIONS
inline evict()
{
	described = 0;
	turn = 0;
	over = false;
	has_slot[1] = 0;
	has_slot[2] = 0;
	for (id : 1 .. CLIENTS) {
		mode[id] = 0;
		untaken[id] = false
	}
	printf("the hash is deleted\n")
}
#endif

proctype clock()
{
end:
	do
#if !TICKS
	:: false
#else
	:: d_step { !any(is_busy) && !r_is_busy && !back &&
		(ttl > 0 || turn != 0 && !over || any(counts_down) || watch[ALL] > 1) ->
			pass_time()
	}
#endif
#if EVICTIONS
	:: d_step { evictions > 0 && length == 0 -> evictions--; evict() }
#endif
#if BLINDS
	:: d_step { blinds > 0 && !blind -> blinds--; blind = true; printf("the next script has enough of other ends\n") }
#endif
#if LOSSES
	:: d_step { losses > 0 -> losses--; lose_data() }
	:: d_step { back && !any(is_expected) ->
		back = false;
		excused = excused || any(is_away);
		for (id : 1 .. CLIENTS) {
			watch[id] = (watch[id] == AT_BACK -> 1 : watch[id])
		}
		printf("the pause is over\n")
	}
#endif
	od
}

/* What is left when all is over, once a script has come by. */
inline check_what_is_left()
{
	back = false;
	blind = false;
	notice_end();
	first_waiter(0);
	nothing_left = field == 0 && described == 0 && length == 0;
	for (id : 1 .. CLIENTS) {
		nothing_left = nothing_left && ends[id] == 0 && mode[id] == 0 && has_slot[1] != id && has_slot[2] != id
	}
	assert(nothing_left)
}

init
{
	atomic {
		run clock();
#if REDISSON
		run redisson();
#endif
#if FORCES || DELETES
		run other();
#endif
		run client(1);
		run client(2);
#if W3
		run client(3);
#endif
#if W4
		run client(4);
#endif
	}
	d_step { all_over && ttl == 0 && _nr_pr == 2 -> check_what_is_left() }
}

#ifdef FAIR
/* the others may come again and again */
ltl served { [] (phase[CLIENTS] == WAITING -> <> (phase[CLIENTS] == GONE)) }
#endif
