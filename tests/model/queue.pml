/* A model of the queue and of the holders, for spin: our sorted set, Redisson's list with our markers in it, Redisson's
 * scripts; exclusive and shared holds, and two slots; processes that use force or ask to stop. tests/model/run runs it in
 * several small configurations. It defines each macro in macros.h, and says there what it is; a measure of the design is
 * taken out by a macro, too (a mutation), and spin has to find what it was for.
 *
 * One atomic step is one script on the server, or what a client does between two waits. With WIRE requests and answers are
 * under way between steps, get lost, and late copies come. Without it a request and its answer are one step. A connection
 * ends at its client first: the server may still carry out a request that was under way (`orphan`), or not, and keeps
 * the subscription until it sees the end (`lingers`).
 *
 * Time goes in ticks: 5 s for a turn, for a Redisson head that is absent, for a hold that was handed over and is not renewed;
 * LEASE ticks for a lease. With TICKS=1 a tick comes only when no client that runs has anything to do, so `in_time` is
 * strict. A waiter asks when an answer or a message has said so, and gives a sign of life when there was room for two
 * ticks. With TICKS=2 time goes on between any two steps, and a waiter may ask at any time. With TICKS=0 time stands still,
 * and a waiter that no script wakes is `stuck`.
 *
 * A score is in units of 300 s: a marker's is one more than the number of Redisson's ids before it, and each grant of
 * Redisson's takes one from every score. Longer patience, and Redisson's clocks, are STALES: then Redisson's may go first
 * until the next script of ours, which is excused. So is what is given up: after a loss of data, what happens before the
 * first client with a ticket or a token is back, and what those lose that miss the pause; holds that are on their way back
 * when somebody uses force; and the place of a waiter that was dropped before it heard its ticket.
 *
 * Left out: going in again, --no-wait, --max-queue, --min-hold, --once-per, --once-ok, --supersede, --remove, counts of
 * slots, replicas that fail, clusters, plain RLocks, a paused clock of a client, Redisson's clients that come again under the same
 * id, and keys that others delete (tests/scripts and the random walk have those).
 *
 * Coarser than lua/: each question, and each renewal before a head of Redisson's, passes the lock on, and each script looks
 * whether the server has restarted; the first two of ours are told to listen even if they are absent or silent; a late copy
 * is known by a last word only, and not by `strays`; our scripts leave a head of Redisson's whose score has passed.
 */

#include "macros.h"

#define SHARED 4 /* what a client wants, and the mode of a hold; ANY, or one of the slots 1 and 2, else */
#define ALONE  8
#define ANY    3
#define are_slots(wish) ((wish) > 0 && (wish) < SHARED)

#define IDS  (OURS + REDISSON)
#define R    (OURS + 1) /* the first client of Redisson's */
#define SIZE (OURS + REDISSON + 1)
#define ENTRIES (OURS + REDISSON + 11)
#define when(condition, then) if :: condition -> then :: else fi
#define must(property, condition) when(!(condition), property = false); assert(property)
#define want(i) ((i) == 1 -> W1 : ((i) == 2 -> W2 : ((i) == 3 -> W3 : ((i) == 4 && OURS > 3 -> W4 : ALONE))))
#define is_ours(i)   ((i) <= OURS)
#define is_marker(e) ((e) > IDS)
#define marker(t)    (IDS + (t))
#define begins(e)    ((e) - IDS)

#define SHARED_HOLDS 100 /* the field of key 1; an owner, else; 0: there is no such key */
#define SLOT_HOLDS   101
#define SAME    1  /* met; 0: there is no hash */
#define OTHER   2
#define AT_BACK 9  /* watch: when the pause is over */
#define FRESH   2  /* score: for some time yet; 3: for 300 s more, and so on */
#define PASSED  1  /* ... 0: it has none */

mtype = { OUT, WAITING, HOLDING, RETURNING, LEAVING, GONE, DEAD };
mtype = { ASK, RENEW, RELEASE, LEAVE, FORCE, STOP };
mtype = { GRANTED, QUEUED, REMOVED, RENEWED, LOST, DONE };
mtype = { GIVEN, TURN };

/* ---- The server ---- */

byte field, ttl;             /* key 1 */
byte ends[SIZE];             /* key 6: 1 and the ticks that are left; 1: its end is to be noticed */
byte list[SIZE], length;   /* Redisson's list */
byte score[ENTRIES];         /* Redisson's sorted set */
bool expires;                /* both have a time to live */
byte place[SIZE];            /* our sorted set: the ticket; 0: it is not in it */
bool done[SIZE];             /* fairlock_done:{NAME}:ID */
/* our hash: */
bool record[SIZE];           /* w:ID is there */
bool current[SIZE];          /* ... and has the secret of the last question */
bool silent[SIZE];           /* ... its last sign of life is 15 s old */
byte mode[SIZE];             /* h:OWNER, until its end is noticed */
byte token_of[SIZE];  /* ... */
bool untaken[SIZE];          /* ... it was handed over, and not renewed */
byte askers[SIZE]; /* ... the set of those that ask it to stop */
byte has_slot[3];            /* s:SLOT */
byte last_ticket, last_token;
byte lost, lost_left;    /* tokens above this one may be taken up, for so many ticks */
byte turn;                   /* who was told its turn */
bool over;                   /* ... 5 s ago */
byte head, absent;     /* the Redisson id last seen at the head; 1: absent then, 2: for 5 s */
byte met = SAME; /* whether it names this run of the server */
byte up_ticket, up_token;    /* ... and when it was made, if it was made under this run */
bool up;
bool back;       /* the pause after a restart */

byte ticket_clock, token_clock;    /* what the server's clock says, as the last ticket and token that it has made */

/* ---- The clients ---- */

mtype phase[SIZE] = OUT;
mtype request[SIZE];         /* under way on the present connection */
bool sent[SIZE];             /* ... and not carried out yet */
mtype reply[SIZE];   /* on its way back */
byte reply_ticket[SIZE], reply_watch[SIZE], reply_marker[SIZE];
mtype orphan[SIZE];  /* under way on a former connection */
byte orphan_ticket[SIZE];
bool lingers[SIZE];  /* the server has not seen the end of a former connection */
bool repeated[SIZE]; /* it has left a request under way on a former connection */
bool subscribed[SIZE];       /* over the present connection, over which a question was carried out */
byte my_ticket[SIZE];
byte my_token[SIZE];
byte held[SIZE];             /* the mode of its hold */
byte age[SIZE];              /* ticks since the request was sent */
byte left[SIZE];             /* ticks until the deadline */
mtype message[SIZE];         /* on its way */
byte given[SIZE];            /* ... ticks that are left of what it gives */
bool forged[SIZE];           /* ... it has not the secret of the last question */
byte watch[SIZE];            /* 1 and the ticks until it asks; 0: it does not, but for its sign of life */
byte listens[SIZE];    /* to the channel of this marker */
bool hung[SIZE];
bool away[SIZE]; /* the server has restarted, and it is not back */
bool stopping[SIZE];     /* it has heard that it was asked to stop */

/* those that use force, or ask to stop */
mtype kind[3];     /* FORCE or STOP; 0: it has not begun; DONE: it has ended */
byte named[3];     /* the token that it saw */
byte deadline[3];  /* ... ticks until the lease that it saw is over */
bool under_way[3], late_copy[3], told[3];
bool is_lost[3];             /* the server may have lost the hold, and it may be taken up again until the deadline */

byte crashes = CRASHES, hangs = HANGS, losses = LOSSES, mutes = MUTES, forgeries = FORGERIES, leaves = LEAVES;
byte restarts = RESTARTS, steps = STEPS, stalls = STALLS, stales = STALES, blinds = BLINDS;
bool blind;                  /* so many other leases have ended that the next script does not notice these */

/* ---- What is to be true. Spin names the one that is not. ---- */

byte line[SIZE], waiting;    /* who waits, in the order in which they came */
bool missed[SIZE];           /* it has missed its turn, and has not asked since */
byte broken[SIZE];           /* its hold, on purpose; 2: data were lost since */
bool expected[SIZE];   /* it held or waited at the restart, ran, and is not back */
bool one_is_back, excused;
bool swept;      /* Redisson's scripts have dropped a marker, and no script of ours has come since */
byte newest[9];    /* the largest token of a hold of each mode */
byte idle;                   /* for so many ticks there was room for the first */
byte deaf[SIZE];   /* for so many ticks a holder has been asked, and has not heard it */

bool fits = true;            /* holders fit together, on the server and by their own deadlines */
bool order = true;           /* none of ours overtakes a living one of ours that came earlier */
bool fair = true;            /* nor do Redisson's overtake ours, or ours Redisson's */
bool in_time = true;         /* a waiter that is first is served when there is room */
bool kept = true;            /* a hold is lost only if it was broken, or not renewed in time */
bool revived = true;         /* a hold that was broken stays broken */
bool grown = true;           /* tokens grow */
bool late = true;            /* no process that has ended in good order is granted the lock or queued */
bool spared = true;          /* a request about a hold touches no other one */
bool heard = true;           /* a holder that was asked to stop learns it within a lease */
bool ended = true;           /* an asker ends when the hold is over, not before */
bool lists = true;           /* list and sets agree at the end of each script */
bool nothing_left = true;

#define is_alive(i)   (phase[i] != GONE && phase[i] != DEAD)
#define runs(i)       (is_alive(i) && phase[i] != OUT && !hung[i])
#define has_former(i) (lingers[i] || orphan[i] != 0)
#define present(i)    (subscribed[i] || lingers[i])
#define is_inside(i)  (phase[i] == HOLDING && left[i] > 0 && !broken[i])
#define is_prompt(i)  (phase[i] == WAITING && !hung[i] && !missed[i] && (subscribed[i] || !is_ours(i)) && !is_holder(i))
#define must_wait_for(i) (is_prompt(i) || expected[i] && phase[i] == WAITING && !hung[i] && (KEEPS_DATA || one_is_back))
#define has_many      (field >= SHARED_HOLDS)
#define is_holder(i)  (field == (i) || has_many && ends[i] > 1)
#define beside(a, b)  ((a) == SHARED && (b) == SHARED || are_slots(a) && are_slots(b) && (a) != (b))
#define is_theirs(e)  (REDISSON && (e) > OURS && (e) <= IDS)

#define any(what) (what(1) || OURS > 1 && what(2) || OURS > 2 && what(3) || OURS > 3 && what(4))
#define any_theirs(what) (REDISSON > 0 && what(IDS) || REDISSON > 1 && what(R))
#define any_of_all(what) (any(what) || any_theirs(what))
#define any_asker(what) (what(1) || what(2))
#define is_away(i) ((away[i] || expected[i]) && is_alive(i))
#define all_over (!any_of_all(is_alive))

/* Not part of a state: each script sets them anew. */
hidden byte at, to, moved, entry, k, n, who_else, first, oldest, second, after, from, until, where, slot, ms, handed;
hidden byte what, holders, before, front, listeners, r3, has;
hidden byte passes, tells, caller, room, stop, with_silent, is_dead, had_turn, had_others, is_new, is_known;
hidden byte its_ticket, its_token, answer_ticket, answer_watch, answer_marker;
hidden byte is_copy; /* its process has gone on, or is dead */
hidden mtype asked, answer;

/* ---- Redisson's list, and our set ---- */

/* Sets `to`: how many are left. */
#define drop_from(array, who) \
	to = 0; \
	for (at : 0 .. SIZE - 1) { \
		moved = array[at]; \
		array[at] = 0; \
		when(moved != 0 && moved != who, array[to] = moved; to++) \
	}

inline remove_entry(who)
{
	entry = who;
	drop_from(list, entry);
	length = to;
	score[entry] = 0
}

inline put_at(index, who)
{
	entry = who;
	at = length;
	do
	:: at > index -> list[at] = list[at - 1]; at--
	:: else -> break
	od;
	list[index] = entry;
	length++;
	score[entry] = FRESH
}

/* Sets `where`: 1 and the place in the list of the marker of this ticket, or 0; and which tickets belong to it. */
inline find_batch(ticket)
{
	where = 0;
	from = 0;
	until = 255;
	for (at : 0 .. SIZE - 1) {
		when(is_marker(list[at]) && at > 0 && begins(list[at]) > ticket && until == 255, until = begins(list[at]));
		when(is_marker(list[at]) && (at == 0 || begins(list[at]) <= ticket),
			where = at + 1; from = (at == 0 -> 0 : begins(list[at])))
	}
}

/* Takes one of ours out of the set, and its marker out of the list, if that was the last of its batch. */
inline take_out(who)
{
	when(place[who] != 0,
		find_batch(place[who]);
		place[who] = 0;
		had_others = false;
		for (n : 1 .. OURS) { had_others = had_others || place[n] != 0 && place[n] >= from && place[n] < until }
		had_others = had_others || KEEP_MARKER && where != 1;
		when(where != 0 && !had_others, remove_entry(list[where - 1])));
	record[who] = false; current[who] = false; silent[who] = false;
	when(turn == who, turn = 0; over = false)
}

/* Sets `second`: the next of ours behind this ticket. */
inline next_of_ours(ticket)
{
	second = 0;
	for (n : 1 .. OURS) { second = (place[n] > ticket && (second == 0 || place[n] < place[second]) -> n : second) }
}

/* ---- What is promised about the order ---- */

inline leave_line(who)
{
	drop_from(line, who);
	waiting = to
}

inline join_line(who)
{
	is_known = false;
	for (at : 0 .. SIZE - 1) { is_known = is_known || line[at] == who }
	when(!is_known, line[waiting] = who; waiting++)
}

inline check_order(who)
{
	for (at : 0 .. SIZE - 1) {
		if
		:: at >= waiting || line[at] == who || phase[who] != WAITING -> break
		:: else ->
			if
			:: is_ours(who) && is_ours(line[at]) -> must(order, !must_wait_for(line[at]))
			:: else -> must(fair, !is_prompt(line[at]) || swept)
			fi
		fi
	}
	excused = excused || !KEEPS_DATA && !one_is_back && !expected[who] && any(is_away)
}

/* ---- Capacity ---- */

#define is_free(n) (SLOT_TWICE || has_slot[n] == 0 || !SLOT_LOST && ends[has_slot[n]] <= 1)

/* Sets `room`, `slot` and `ms`: when there may be room. `wish` is a wish, or the mode of a hold. */
inline fit(wish)
{
	room = field == 0 || field == SHARED_HOLDS && (wish) == SHARED;
	slot = (room && are_slots(wish) -> 2 - ((wish) & 1) : 0);
	ms = ttl;
	when(field == SLOT_HOLDS && are_slots(wish),
		ms = 99;
		for (n : 1 .. 2) {
			if
			:: ((wish) & n) && slot == 0 && is_free(n) -> room = true; slot = n
			:: ((wish) & n) && has_slot[n] != 0 && ends[has_slot[n]] > 1 && ends[has_slot[n]] <= ms ->
				ms = ends[has_slot[n]] - 1
			:: else
			fi
		}
		ms = (ms == 99 -> ttl : ms))
}

/* Sets the time to live of key 1: the last lease that goes on. */
inline set_last_end()
{
	ttl = 0;
	for (n : 1 .. OURS) { ttl = (ends[n] > ttl + 1 -> ends[n] - 1 : ttl) }
}

inline set_ttl(who, ticks)
{
	ttl = ticks;
	when(has_many, ends[who] = ticks + 1; set_last_end());
	ttl = (SHORTEN -> ticks : ttl)
}

/* ---- Telling ---- */

/* A message that comes while a request is on its way is not heeded: its answer knows more. */
inline publish(who, what_message)
{
	when(subscribed[who] && !sent[who] && message[who] != GIVEN &&
		(phase[who] == WAITING || phase[who] == HOLDING && is_ours(who)),
		message[who] = what_message; given[who] = 0)
}

/* `first MS`. The answer says it to the caller. */
inline announce(who, ticks)
{
	when(is_ours(who) && (who != caller || is_copy) && subscribed[who] && !sent[who] && phase[who] == WAITING && TICKS == 1,
		reply_watch[who] = (reply[who] != 0 -> ticks : reply_watch[who]);
		watch[who] = (reply[who] != 0 || watch[who] != 0 && watch[who] < ticks -> watch[who] : ticks))
}

/* Tells the first of ours behind the ticket `after` that is present and not silent. */
inline tell_second(ticks)
{
	do
	:: true ->
		next_of_ours(after);
		if
		:: second != 0 && (!present(second) || silent[second]) ->
			after = place[second];
			when(DROP_ANYWHERE && !present(second) && !back, take_out(second))
		:: else -> break
		fi
	od;
	when(second != 0, announce(second, ticks))
}

/* ---- Holds ---- */

#define check_fits(who, counts) \
	for (k : 1 .. IDS) { must(fits, k == who || !counts(k) || beside(held[k], held[who])) }

inline check_inside(who)
{
	when(is_inside(who) && !excused, check_fits(who, is_inside))
}

/* A hold of this mode, after a grant or a take-up. */
inline take_hold(who, ticks)
{
	held[who] = what;
	check_fits(who, is_holder);
	field = (what == ALONE -> who : (what == SHARED -> SHARED_HOLDS : SLOT_HOLDS));
	mode[who] = what;
	when(are_slots(what), has_slot[what] = who);
	set_ttl(who, ticks);
	turn = 0;
	over = false
}

/* The next token. The clock may have been set back. */
inline new_token(who)
{
	when(RESTARTS || FORCES || STOPS || STEPS,
		token_clock = (token_clock > last_token || CLOCK_TOKEN -> token_clock : last_token) + 1;
		last_token = token_clock;
		token_of[who] = last_token;
		must(grown, last_token > newest[0] || steps < STEPS && restarts < RESTARTS);
		newest[0] = (last_token > newest[0] -> last_token : newest[0]))
}

/* Gives the hold that fit() has found. */
inline take(who, ticks)
{
	check_order(who);
	must(late, phase[who] != GONE);
	what = (slot -> slot : want(who));
	take_out(who);
	take_hold(who, ticks);
	new_token(who);
	newest[what] = last_token;
	broken[who] = 0;
	askers[who] = 0;
	printf("%d is given %d for %d\n", who, what, ticks)
}

inline end_hold(who)
{
	when(are_slots(mode[who]) && (has_slot[mode[who]] == who || FREE_OTHERS), has_slot[mode[who]] = 0);
	mode[who] = 0; token_of[who] = 0; untaken[who] = false;
	for (at : 1 .. 2) {
		told[at] = told[at] || (askers[who] & (1 << at)) && kind[at] == STOP && !under_way[at] && !END_SILENTLY
	}
	askers[who] = 0
}

/* Sets `with_silent`: one that was handed the lock did not renew it. */
inline notice_ends()
{
	with_silent = SKIP_SILENT;
	for (k : 1 .. OURS) {
		is_dead = mode[k] != 0 && !is_holder(k) && (ends[k] == 0 || !has_many || !blind && !SLOT_LOST);
		when(is_dead,
			with_silent = with_silent || untaken[k];
			ends[k] = 0;
			end_hold(k))
	}
	blind = false;
	when(turn != 0,
		fit(want(turn));
		turn = (room -> turn : 0);
		over = over && room)
}

/* ---- The head of the queue ---- */

/* Sets `oldest`, and `front`: the ticket with which the second batch begins. Where the marker of the oldest is not there,
 * since Redisson's scripts have dropped it or the oldest comes back, it gets one. */
inline mark_head()
{
	next_of_ours(0);
	oldest = second;
	front = 255;
	for (at : 0 .. SIZE - 1) { front = (is_marker(list[at]) && at > 0 && front == 255 -> begins(list[at]) : front) }
	when(oldest != 0 && !is_marker(list[0]) && place[oldest] < front,
		if
		:: AT_TAIL && length > 0 -> put_at(length, marker(place[oldest])); front = begins(entry)
		:: else -> put_at(0, marker(place[oldest]))
		fi)
}

/* Sets `first`: the waiter that is next, of those that live. me: the caller, which does. */
inline first_waiter(me)
{
	first = 0;
	do
	:: true ->
		mark_head();
		if
		:: oldest == 0 && length == 0 -> first = 0; break
		:: is_marker(list[0]) ->
			first = oldest;
			had_turn = false;
			when(turn == first && over, fit(want(first)); had_turn = room);
			with_silent = with_silent || had_turn;
			is_dead = !present(first) && !SKIP_PRESENCE;
			if
			:: first == me || back || !is_dead && !had_turn && !(with_silent && silent[first]) -> break
			:: else -> take_out(first); when(!is_dead, publish(first, TURN))
			fi
		:: is_theirs(list[0]) ->
			first = list[0];
			absent = (head != first || present(first) -> 0 : absent);
			absent = (absent == 0 && !present(first) -> 1 : absent);
			head = first;
			if
			:: absent == 2 || turn == first && over && field == 0 ->
				printf("%d is passed over\n", first);
				remove_entry(first);
				leave_line(first);
				publish(first, TURN);
				turn = (turn == first -> 0 : turn); over = over && turn != 0; head = 0; absent = 0
			:: else -> break
			fi
		fi
	od
}

/* Gives the lock on, and tells the next what to do. */
inline pass_on()
{
	handed = 0;
	stop = false;
	do
	:: stop -> break
	:: else ->
		first_waiter(caller);
		stop = true;
		room = false;
		when(first != 0, fit(want(first)));
		when(room && !back && handed < HANDED_MOST && is_ours(first) && record[first] && turn != first,
			forged[first] = !current[first];
			untaken[first] = true;
			take(first, 1);
			publish(first, GIVEN);
			given[first] = (message[first] == GIVEN -> 1 : 0);
			handed++;
			first = (STOP_AFTER_ONE -> 0 : first);
			stop = STOP_AFTER_ONE)
	od;
	ms = (room -> AT_BACK : ms + 1);
	if
	:: first != 0 && is_ours(first) && !(room && !back) ->
		announce(first, ms);
		after = place[first];
		when(room, tell_second(ms))
	:: first != 0 && !is_ours(first) && !(room && !back) -> after = 0; tell_second(ms)
	:: first != 0 && room && !back && turn != first ->
		turn = first;
		over = false;
		publish(first, TURN);
		after = (is_ours(first) -> place[first] : 0);
		tell_second(2)
	:: else
	fi
}

/* ---- At the end of a script ---- */

/* Each marker has a batch, each of ours a marker, and each id of the list a score. */
inline check_lists()
{
	has = 0;
	for (k : 1 .. OURS) {
		when(place[k] != 0, find_batch(place[k]); lists = lists && where != 0; has = has | (1 << where))
	}
	holders = 0;
	for (n : 1 .. ENTRIES - 1) { holders = holders + (score[n] != 0) }
	lists = lists && holders == length;
	for (at : 0 .. SIZE - 1) {
		lists = lists && (at < length) == (list[at] != 0 && score[list[at]] != 0);
		lists = lists && (!is_marker(list[at]) || (has & (1 << (at + 1))))
	}
	assert(lists)
}

/* The scores, the time to live, and who listens to the marker that Redisson's unlock will tell. */
inline settle(me)
{
	mark_head();
	n = 0;
	expires = length > 0;
	moved = 0;
	for (at : 0 .. SIZE - 1) {
		if
		:: is_marker(list[at]) ->
			moved = (moved == 0 -> list[at] : moved);
			score[list[at]] = FRESH + (FLAT_SCORE -> 0 : n)
		:: is_theirs(list[at]) ->
			n++;
			expires = false;
			score[list[at]] = (at == 0 && score[list[at]] < FRESH -> FRESH : score[list[at]])
		:: else
		fi
	}
	answer_marker = 0;
	when(moved != 0 && (is_theirs(field) || n > 0) && !NO_LISTENER,
		listeners = 0;
		holders = 0;
		for (at : 1 .. OURS) {
			listeners = listeners + (listens[at] == moved && subscribed[at]);
			holders = holders + (place[at] != 0)
		}
		after = 0;
		for (at : 1 .. 2) {
			next_of_ours(after);
			if
			:: at == 2 && ONE_LISTENER
			:: second == me && second != 0 && !(at == 2 && ONE_LISTENER) -> answer_marker = moved
			:: second != me && second != 0 && (listeners < 2 && listeners < holders || tells) -> publish(second, TURN)
			:: else
			fi;
			after = (second -> place[second] : 255)
		});
	swept = false;
	tells = false;
	check_lists()
}

/* ---- The scripts ---- */

/* A hash that first meets a server says when. An older ticket or token proves that data were lost. Another run of the
 * server is a restart, which matters if there are waiters. */
inline check_run(me, ticket, token)
{
	next_of_ours(0);
	when(met == OTHER && second != 0 && !FORGET_RUN, back = true; turn = 0; over = false);
	when(met == 0, up = true; up_ticket = ticket_clock; up_token = token_clock; lost = 0; lost_left = LEASE);
	met = SAME;
	is_known = (ticket) == 0 || (ticket) > up_ticket && (ticket) <= last_ticket;
	is_known = is_known && ((token) == 0 || (token) > up_token && (token) <= last_token);
	when(up && !is_known && !FORGET_UP, back = true; turn = 0; over = false; up = false);
	one_is_back = one_is_back || expected[me] && ((ticket) != 0 || (token) != 0)
}

/* When to ask again. */
inline ask_in(me)
{
	next_of_ours(0);
	if
	:: TICKS == 1 && first == me -> answer_watch = (room && !back -> 2 : ms)
	:: TICKS == 1 && first != me && !is_ours(first) && second == me ->
		answer_watch = (room && !back || absent != 0 -> 2 : ms)
	:: else -> answer_watch = (TICKS == 1 && place[me] != 0 && room -> (watch[me] -> watch[me] : 2) : 0)
	fi
}

inline acquire(me, ticket)
{
	if
	:: done[me] && !NO_DONE -> answer = REMOVED
	:: is_holder(me) && (!done[me] || NO_DONE) ->
		untaken[me] = false;
		set_ttl(me, LEASE);
		answer = GRANTED
	:: else ->
		has = (ticket -> ticket : place[me]);
		when(place[me] != has && !MOVE_ALONE, take_out(me)); /* a late copy has queued it anew */
		is_new = has == 0;
		when(!is_new,
			place[me] = has;
			last_ticket = (has > last_ticket -> has : last_ticket));
		first_waiter(me);
		fit(want(me));
		if
		:: room && !back && (first == me || first == 0) ->
			take(me, LEASE);
			answer = GRANTED;
			passes = true
		:: else ->
			must(late, phase[me] != GONE);
			when(is_new,
				ticket_clock = (ticket_clock > last_ticket || CLOCK_TICKET -> ticket_clock : last_ticket) + 1;
				last_ticket = ticket_clock;
				place[me] = last_ticket;
				when((length == 0 || !is_marker(list[length - 1])) && !NO_MARKER, put_at(length, marker(place[me])));
				/* it has not heard of an earlier place */
				when(my_ticket[me] == 0 && reply_ticket[me] == 0, leave_line(me)));
			record[me] = true; current[me] = !is_copy; silent[me] = false;
			when(is_alive(me), join_line(me));
			answer = QUEUED;
			answer_ticket = place[me];
			caller = me;
			passes = true
		fi
	fi
}

inline renew(me)
{
	passes = is_theirs(list[0]) && !RENEW_BLINDLY;
	if
	:: is_holder(me) ->
		untaken[me] = false;
		set_ttl(me, LEASE);
		answer = RENEWED
	:: else ->
		fit(held[me]);
		/* the server has lost this grant, and nobody else's since */
		is_known = !(its_token > last_token || held[me] != ALONE && lost_left > 0 && its_token > lost && !DROP_SECOND);
		room = (room || TAKE_UP_ANYWAY) && (!is_known || REVIVE);
		if
		:: room ->
			must(revived, broken[me] != 1);
			excused = excused || broken[me] != 0;
			when(held[me] != ALONE && its_token > last_token && lost_left == 0, lost = last_token; lost_left = LEASE);
			what = held[me];
			must(grown, SEVERAL || held[me] != ALONE || its_token >= newest[ALONE] || excused);
			take_hold(me, LEASE);
			printf("%d takes its hold up\n", me);
			if
			:: SEVERAL && !OLD_TOKEN -> new_token(me)
			:: else -> token_of[me] = its_token; last_token = (its_token > last_token -> its_token : last_token)
			fi;
			answer = RENEWED;
			passes = true
		:: else ->
			answer = LOST
		fi
	fi
}

/* Ends a hold, and key 1 with the last lease that goes on. */
inline end_this(who)
{
	before = ttl;
	ttl = 0;
	when(has_many, ends[who] = 0; set_last_end());
	if
	:: ttl == 0 && !(KEEP_FIELD && has_many) ->
		for (who_else : 1 .. OURS) {
			when(has_many && ends[who_else] != 0 && who_else != who, ends[who_else] = 0; end_hold(who_else))
		}
		field = 0
	:: else -> ttl = (ttl -> ttl : before)
	fi;
	/* Redisson's sleeps until the end that it saw */
	when(0 < ttl && ttl < before && is_theirs(list[0]) && !FORGET_HEAD, publish(list[0], TURN));
	end_hold(who)
}

/* release of the own hold, or leave: a late copy may have queued the holder, and the waiter may have been granted the lock. */
inline leave(me)
{
	done[me] = done[me] || repeated[me];
	answer = DONE;
	next_of_ours(0);
	passes = is_holder(me) || asked == LEAVE && (second == me || field == 0) && !LEAVE_SILENTLY;
	when(asked == LEAVE || !KEEP_PLACE, take_out(me));
	tells = asked == LEAVE && !COUNT_LEAVER;
	when(is_holder(me), end_this(me))
}

/* Spin takes a script in two steps. */
inline script(me)
{
	its_token = (asked == RENEW -> my_token[me] : 0);
	check_run(me, its_ticket, its_token);
	notice_ends();
	passes = false;
	caller = 0;
	answer_ticket = 0; answer_watch = 0;
	is_dead = done[me] || is_copy && !is_alive(me);
	if
	:: asked == ASK -> acquire(me, its_ticket)
	:: asked == RENEW && is_dead -> answer = LOST
	:: asked == RENEW && !is_dead -> renew(me)
	:: asked == RELEASE || asked == LEAVE -> leave(me)
	fi
}

inline end_script(me)
{
	when(passes, pass_on());
	when(caller != 0, ask_in(me));
	settle(me);
	expected[me] = false;
	when(!is_copy,
		reply[me] = answer; reply_ticket[me] = answer_ticket;
		reply_watch[me] = answer_watch; reply_marker[me] = answer_marker);
	printf("%d: %e (copy: %d) answered %e; held by %d, list %d %d %d, places %d %d %d, turn %d\n", me, asked, is_copy,
		answer, field, list[0], list[1], list[SIZE - 1], place[1], place[SIZE - 2], place[OURS], turn)
}

/* ---- Those that look, and then use force or ask to stop ---- */

#define can_be_lost(token) ((token) > last_token || lost_left > 0 && (token) > lost)

/* A request to break the hold of a token, or to ask it to stop. `r3`: that hold. */
inline carry_out_for(a)
{
	its_token = (a <= FORCES -> 0 : named[a]);
	check_run(0, 0, its_token);
	notice_ends();
	r3 = 0;
	for (n : 1 .. OURS) { r3 = (is_holder(n) && (token_of[n] == named[a] || ASK_ANYBODY) -> n : r3) }
	must(spared, r3 == 0 || token_of[r3] == named[a]);
	if
	:: a <= FORCES && r3 == 0 -> kind[a] = DONE
	:: a <= FORCES && r3 != 0 ->
		printf("the hold of %d is broken\n", r3);
		broken[r3] = (is_alive(r3) -> 1 : 0);
		missed[r3] = phase[r3] == WAITING;
		lost = (KEEP_LOST || named[a] < lost -> lost : named[a]);
		publish(r3, TURN);
		end_this(r3);
		caller = 0;
		pass_on();
		kind[a] = DONE
	:: a > FORCES && r3 != 0 ->
		askers[r3] = askers[r3] | (1 << a);
		publish(r3, TURN);
		deadline[a] = 1 + (has_many -> ends[r3] - 1 : ttl);
		is_lost[a] = false
	:: a > FORCES && r3 == 0 && can_be_lost(named[a]) && !BELIEVE_GONE &&
		!((is_lost[a] || BELIEVE_DEADLINE) && deadline[a] == 1) ->
			deadline[a] = (is_lost[a] || BELIEVE_DEADLINE -> deadline[a] : 1 + LEASE);
			is_lost[a] = true
	:: else ->
		for (n : 1 .. OURS) { must(ended, !(is_inside(n) && my_token[n] == named[a] && !excused)) }
		printf("asker %d ends\n", a);
		kind[a] = DONE;
		deadline[a] = 0
	fi;
	settle(0)
}

proctype asker(byte me)
{
	do
	:: d_step { kind[me] == 0 && field != 0 && !is_theirs(field) ->
		kind[me] = (me <= FORCES -> FORCE : STOP);
		r3 = 0;
		for (n : 1 .. OURS) { r3 = (is_holder(n) && (r3 == 0 || me == 2) -> n : r3) }
		named[me] = token_of[r3];
		deadline[me] = 1 + LEASE;
		under_way[me] = true;
		printf("asker %d sees %d\n", me, r3)
	}
	:: d_step { under_way[me] || late_copy[me] ->
		late_copy[me] = late_copy[me] && under_way[me];
		asked = (under_way[me] -> 0 : kind[me]); /* the answer to a copy goes nowhere */
		under_way[me] = false;
		carry_out_for(me);
		kind[me] = (asked != 0 -> asked : kind[me])
	}
	:: d_step { kind[me] == STOP && !under_way[me] && (told[me] || deadline[me] == 1) ->
		under_way[me] = true; told[me] = false
	}
	:: d_step { losses > 0 && under_way[me] && !late_copy[me] -> losses--; late_copy[me] = true }
	:: d_step { kind[me] == 0 && all_over || kind[me] == DONE && !late_copy[me] ->
		kind[me] = DONE; named[me] = 0; deadline[me] = 0;
		told[me] = false; is_lost[me] = false; under_way[me] = false
	} -> break
	od
}

/* ---- A client of ours ---- */

inline make_request(me, what_request)
{
	printf("%d sends %e\n", me, what_request);
	request[me] = what_request;
	sent[me] = true;
	age[me] = 0; watch[me] = 0;
	message[me] = 0; given[me] = 0; forged[me] = false /* it would come while we ask */
}

inline close_connection(me)
{
	subscribed[me] = false; sent[me] = false; listens[me] = 0;
	reply[me] = 0; reply_ticket[me] = 0; reply_watch[me] = 0; reply_marker[me] = 0;
	message[me] = 0; given[me] = 0; forged[me] = false
}

inline forget_former(me)
{
	orphan[me] = 0; orphan_ticket[me] = 0; lingers[me] = false
}

/* The present connection becomes a former one. */
inline drop_connection(me)
{
	lingers[me] = WIRE && subscribed[me];
	orphan[me] = (WIRE && sent[me] -> request[me] : 0);
	orphan_ticket[me] = (orphan[me] == ASK -> my_ticket[me] : 0);
	repeated[me] = WIRE && (repeated[me] || request[me] != 0);
	close_connection(me)
}

/* how: GONE is good order, DEAD is not */
inline end_client(me, how)
{
	printf("%d ends: %e\n", me, how);
	if
	:: how == GONE && request[me] == 0 || has_former(me) -> close_connection(me)
	:: else -> drop_connection(me)
	fi;
	phase[me] = how;
	request[me] = 0; age[me] = 0; left[me] = 0; watch[me] = 0; my_ticket[me] = 0;
	hung[me] = false; missed[me] = false; away[me] = false; expected[me] = false;
	stopping[me] = false; broken[me] = 0; repeated[me] = false; deaf[me] = 0;
	leave_line(me)
}

inline start(me)
{
	phase[me] = HOLDING;
	message[me] = 0; given[me] = 0; watch[me] = 0; listens[me] = 0; missed[me] = false; my_ticket[me] = 0;
	leave_line(me);
	check_inside(me)
}

inline take_reply(me)
{
	answer = reply[me];
	request[me] = 0;
	reply[me] = 0;
	printf("%d hears %e\n", me, answer);
	if
	:: answer == GRANTED || answer == RENEWED ->
		left[me] = (LEASE > age[me] -> LEASE - age[me] : 0);
		age[me] = 0;
		my_token[me] = token_of[me];
		if
		:: answer == GRANTED && left[me] == 0 -> make_request(me, ASK)
		:: answer == RENEWED && left[me] == 0 -> end_client(me, DEAD)
		:: answer == GRANTED && left[me] > 0 -> start(me)
		:: answer == RENEWED && left[me] > 0 ->
			stopping[me] = askers[me] != 0 && !NOT_TOLD;
			check_inside(me)
		fi
	:: answer == QUEUED ->
		age[me] = 0;
		my_ticket[me] = reply_ticket[me];
		reply_ticket[me] = 0;
		watch[me] = reply_watch[me];
		reply_watch[me] = 0;
		is_new = reply_marker[me] != 0 && listens[me] != reply_marker[me];
		listens[me] = reply_marker[me];
		reply_marker[me] = 0;
		/* it subscribes, and asks once more */
		when(is_new && message[me] != GIVEN && !LISTEN_ONLY, make_request(me, ASK))
	:: answer == LOST ->
		/* force gives up those that are on their way back after a loss of data */
		must(kept, left[me] == 0 || broken[me] || excused || FORCES && restarts < RESTARTS);
		end_client(me, DEAD)
	:: answer == DONE || answer == REMOVED -> end_client(me, GONE)
	fi
}

/* Sends the request that was under way again; without one, sends a new one. */
inline come_back(me)
{
	if
	:: request[me] == 0 && phase[me] == WAITING -> make_request(me, ASK)
	:: request[me] == 0 && phase[me] == HOLDING -> make_request(me, RENEW)
	:: else -> sent[me] = true; age[me] = 0
	fi
}

#define is_idle(i)   (request[i] == 0 && !hung[i] && !away[i])
#define must_ask(i)  (phase[i] == WAITING && request[i] == 0 && (message[i] == TURN || \
	message[i] == GIVEN && (is_doubtful(i) || given[i] == 0) || watch[i] == 1))
#define must_renew(i) (phase[i] == HOLDING && request[i] == 0 && left[i] > 0 && !stopping[i] && \
	(message[i] == TURN || left[i] <= 1))
#define is_busy(i)   (runs(i) && (request[i] != 0 || message[i] == GIVEN || must_ask(i) || must_renew(i) || away[i] || \
	stopping[i] || FAIR && phase[i] == HOLDING))
#define is_doubtful(i) (forged[i] && !BELIEVE_ANYBODY)

proctype fairlock(byte me)
{
	do
	:: d_step { phase[me] == OUT && (me == 1 || phase[me - 1] != OUT) -> phase[me] = WAITING; make_request(me, ASK) }
	:: atomic {
		if
		:: d_step { sent[me] && !away[me] && (WIRE || !hung[me]) ->
			is_copy = false;
			asked = request[me];
			its_ticket = (asked == ASK && !FORGET_TICKET -> my_ticket[me] : 0);
			sent[me] = false; subscribed[me] = true;
			missed[me] = missed[me] && asked != ASK
		}
		/* a late copy, whose answer goes nowhere */
		:: d_step { orphan[me] != 0 ->
			is_copy = true;
			asked = orphan[me];
			its_ticket = orphan_ticket[me];
			lingers[me] = lingers[me] || asked == ASK;
			orphan[me] = 0; orphan_ticket[me] = 0
		}
		fi;
		d_step { script(me) };
		d_step { end_script(me); when(!is_copy && !WIRE, take_reply(me)) }
	}
	:: d_step { WIRE && reply[me] != 0 && !hung[me] -> take_reply(me) }
	:: d_step { has_former(me) -> printf("the server sees the end of a connection of %d\n", me); forget_former(me) }
	/* Without time, and with nothing under way, signs of life would hide that a script forgets to wake a waiter. */
	:: d_step { is_idle(me) && (must_ask(me) || TICKS == 2 && phase[me] == WAITING) -> make_request(me, ASK) }
	:: d_step { is_idle(me) && phase[me] == WAITING && message[me] == GIVEN && given[me] > 0 && !is_doubtful(me) ->
		printf("%d was given the lock\n", me);
		my_token[me] = token_of[me];
		left[me] = given[me];
		start(me)
	}
	:: d_step { is_idle(me) && (must_renew(me) || TICKS == 2 && phase[me] == HOLDING && left[me] > 0 && left[me] < LEASE) ->
		make_request(me, RENEW)
	}
	:: d_step { is_idle(me) && phase[me] == HOLDING ->
		/* it has all of its locks, and COMMAND begins */
		for (n : 1 .. ALONE) {
			must(grown, !SEVERAL || n != held[me] && beside(n, held[me]) || n == SHARED && held[me] == SHARED ||
				my_token[me] >= newest[n])
		}
		phase[me] = RETURNING;
		make_request(me, RELEASE)
	}
	:: d_step { away[me] && !hung[me] -> away[me] = false; come_back(me) }
	/* what goes wrong */
	:: d_step { leaves > 0 && phase[me] == WAITING && !hung[me] && !away[me] &&
		(WIRE && !has_former(me) || request[me] == 0) ->
			leaves--;
			when(request[me] != 0, drop_connection(me));
			phase[me] = LEAVING;
			make_request(me, LEAVE)
	}
	:: d_step { WIRE && losses > 0 && !away[me] && is_alive(me) && phase[me] != OUT && !hung[me] && !has_former(me) ->
		losses--;
		printf("%d loses its connection\n", me);
		drop_connection(me);
		come_back(me)
	}
	:: d_step { crashes > 0 && is_alive(me) && phase[me] != OUT && !has_former(me) &&
		(TICKS || !is_holder(me) && message[me] == 0 && request[me] == 0) ->
			crashes--;
			end_client(me, DEAD)
	}
	:: d_step { hangs > 0 && runs(me) -> hangs--; hung[me] = true; printf("%d hangs\n", me) }
	:: d_step { hung[me] ->
		hung[me] = false;
		missed[me] = phase[me] == WAITING;
		watch[me] = (TICKS == 1 && missed[me] -> 1 : watch[me]); /* its sign of life is overdue */
		printf("%d goes on\n", me)
	}
	:: d_step { forgeries > 0 && phase[me] == WAITING && request[me] == 0 && subscribed[me] && message[me] == 0 ->
		printf("a forged message to %d\n", me);
		forgeries--;
		message[me] = GIVEN; given[me] = 1; forged[me] = true
	}
	:: d_step { mutes > 0 && message[me] != 0 ->
		printf("a message to %d is lost\n", me);
		mutes--;
		message[me] = 0; given[me] = 0; forged[me] = false;
		missed[me] = phase[me] == WAITING
	}
	:: d_step { !is_alive(me) && !has_former(me) -> subscribed[me] = false } -> break
	od
}

/* ---- Redisson's scripts and clients ---- */

/* Drops the heads whose score has passed. */
inline r_sweep()
{
	do
	:: length > 0 && score[list[0]] == PASSED ->
		entry = list[0];
		printf("Redisson drops %d\n", entry);
		swept = swept || is_marker(entry) && stales < STALES;
		when(!is_marker(entry), leave_line(entry));
		remove_entry(entry)
	:: else -> break
	od
}

inline r_ask(me)
{
	r_sweep();
	message[me] = 0;
	if
	:: field == 0 && (length == 0 || list[0] == me) ->
		printf("%d takes the lock\n", me);
		check_order(me);
		remove_entry(me);
		/* the patience that it had */
		for (n : 1 .. ENTRIES - 1) { score[n] = (score[n] > PASSED -> score[n] - 1 : score[n]) }
		field = me; ttl = LEASE; left[me] = LEASE; held[me] = ALONE; subscribed[me] = false; phase[me] = HOLDING;
		leave_line(me);
		check_fits(me, is_holder);
		check_inside(me)
	:: else ->
		when(score[me] == 0,
			n = (length > 0 -> score[list[length - 1]] + 1 : FRESH);
			put_at(length, me);
			score[me] = n;
			join_line(me));
		watch[me] = (TICKS == 1 -> (ttl -> ttl + 1 : 2) : 0);
		sent[me] = !subscribed[me]; /* it asks again when it has subscribed */
		subscribed[me] = true
	fi
}

inline r_end(me, how)
{
	phase[me] = how;
	sent[me] = false; message[me] = 0; watch[me] = 0; left[me] = 0; subscribed[me] = false; broken[me] = 0;
	leave_line(me)
}

proctype redisson(byte me)
{
	d_step { phase[1] != OUT && (me == R || phase[me - 1] != OUT) -> phase[me] = WAITING; sent[me] = true }
	do
	:: d_step { sent[me] -> sent[me] = false; r_ask(me) }
	:: d_step { phase[me] == WAITING && !sent[me] && (message[me] != 0 || watch[me] == 1 ||
		TICKS == 2 && field == 0 && (length == 0 || list[0] == me || score[list[0]] == PASSED || score[me] == 0)) ->
			message[me] = 0;
			watch[me] = 0;
			sent[me] = true
	}
	:: d_step { phase[me] == HOLDING ->
		printf("%d unlocks\n", me);
		r_sweep();
		/* tells the first entry of the list; where that is a marker, those who listen */
		when(field == me,
			field = 0; ttl = 0;
			for (k : 1 .. OURS) { when(listens[k] == list[0] && list[0] != 0, publish(k, TURN)) }
			when(is_theirs(list[0]), publish(list[0], TURN)));
		r_end(me, GONE)
	}
	/* the next finds out with time */
	:: d_step { leaves > 0 && phase[me] == WAITING && !sent[me] && (TICKS || field != 0) ->
		printf("%d gives up\n", me);
		leaves--;
		is_known = false;
		for (at : 0 .. SIZE - 1) {
			score[list[at]] = (is_known && score[list[at]] > PASSED -> score[list[at]] - 1 : score[list[at]]);
			is_known = is_known || list[at] == me
		}
		remove_entry(me);
		r_end(me, GONE)
	}
	:: d_step { crashes > 0 && is_alive(me) && TICKS -> crashes--; printf("%d dies\n", me); r_end(me, DEAD) }
	:: !is_alive(me) -> break
	od
}

/* ---- The server's restart ---- */

inline lose_data()
{
	turn = 0; over = false; last_ticket = 0; last_token = 0; lost = 0; lost_left = 0;
	met = 0; up = false; up_ticket = 0; up_token = 0; back = false; has_slot[1] = 0; has_slot[2] = 0;
	field = 0; ttl = 0; length = 0; expires = false;
	for (n : 0 .. ENTRIES - 1) { score[n] = 0 }
	for (n : 0 .. SIZE - 1) { list[n] = 0 }
	for (k : 1 .. OURS) {
		record[k] = false; current[k] = false; silent[k] = false; ends[k] = 0; place[k] = 0; done[k] = false;
		mode[k] = 0; token_of[k] = 0; untaken[k] = false; askers[k] = 0;
		broken[k] = 2 * (broken[k] != 0);
		when(phase[k] == WAITING && my_ticket[k] == 0, leave_line(k))
	}
	for (k : OURS + 1 .. IDS + 1) { when(k <= IDS, leave_line(k); left[k] = 0) } /* they come anew, and take up no lock */
}

/* All connections end, and what was on its way is lost. */
inline restart()
{
	for (k : 1 .. OURS) {
		forget_former(k);
		close_connection(k);
		when(is_alive(k) && phase[k] != OUT,
			away[k] = true;
			expected[k] = (phase[k] == HOLDING || phase[k] == WAITING && (KEEPS_DATA -> place[k] : my_ticket[k]) != 0);
			watch[k] = 0)
	}
	for (k : 1 .. 2) {
		under_way[k] = under_way[k] || told[k];
		late_copy[k] = false;
		told[k] = false
	}
	one_is_back = false;
	met = (met -> OTHER : 0);
	when(!KEEPS_DATA, lose_data());
	printf("the server restarts\n")
}

/* ---- Time ---- */

#define is_theirs_alive(e) (is_theirs(e) && is_alive(e)) /* its watchdog renews */
#define counts_down(i) (watch[i] > 1 || left[i] > 0 || given[i] > 0)
#define r_is_busy(i)   (is_alive(i) && phase[i] != OUT && (sent[i] || message[i] != 0 || watch[i] == 1 || \
	FAIR && phase[i] == HOLDING))
#define asker_waits(a) (kind[a] == STOP && deadline[a] > 1)
#define asker_is_busy(a) (under_way[a] || kind[a] == STOP && (told[a] || deadline[a] == 1))
#define is_late_back(i) (expected[i] && runs(i))
#define is_first_of_line(i) ((phase[i] == WAITING || phase[i] == LEAVING) && !(missed[i] && hung[i]) && !away[i] && \
	!is_holder(i))
#define may_ask(i) (phase[i] == WAITING && !hung[i])

/* Whether there is room for the first of the waiters, by the leases that go on. */
inline look_at_room()
{
	first = 0;
	for (at : 0 .. SIZE - 1) {
		first = (first == 0 && at < waiting && is_first_of_line(line[at]) -> line[at] : first)
	}
	room = first != 0 && (field == 0 || has_many);
	slot = (first != 0 -> want(first) : 0);
	when(room && field != 0,
		for (k : 1 .. OURS) {
			if
			:: ends[k] <= 1
			:: ends[k] > 1 && are_slots(slot) && are_slots(held[k]) ->
				slot = slot & (ANY - held[k]);
				room = room && slot != 0
			:: ends[k] > 1 && slot == SHARED && held[k] == SHARED
			:: else -> room = false
			fi
		});
	idle = (room && (any(may_ask) || list[0] == first) -> idle + 1 : 0); /* Redisson's alone wait for our dead */
	must(in_time, idle <= IDLE);
	/* a sign of life */
	for (k : 1 .. OURS) { watch[k] = (idle == 2 && phase[k] == WAITING && !hung[k] -> 2 : watch[k]) }
}

#define misses(i) (missed[i] || phase[i] == WAITING || phase[i] == LEAVING)

inline pass_time()
{
	when(TICKS == 1,
		look_at_room();
		over = over || turn != 0;
		absent = (absent == 1 && !present(head) -> 2 : absent));
	when(ttl > 0 && !is_theirs_alive(field), ttl--);
	when(ttl == 0 && field != 0 && !has_many, missed[field] = misses(field); field = 0);
	for (k : 1 .. OURS) {
		when(ends[k] == 2, missed[k] = misses(k));
		ends[k] = (ends[k] > 1 -> ends[k] - 1 : ends[k]);
		age[k] = ((request[k] == ASK || request[k] == RENEW) && age[k] < LEASE -> age[k] + 1 : age[k]);
		given[k] = (given[k] > 0 && !COUNT_FROM_HEARING -> given[k] - 1 : given[k]);
		left[k] = (left[k] > 0 -> left[k] - 1 : 0);
		deaf[k] = (askers[k] != 0 && phase[k] == HOLDING && runs(k) && !stopping[k] -> deaf[k] + 1 : 0);
		must(heard, deaf[k] <= LEASE);
		silent[k] = silent[k] || TICKS == 1 && record[k] && phase[k] == WAITING && hung[k];
		when(left[k] == 0 && phase[k] == HOLDING && !has_former(k), end_client(k, DEAD) /* its guard stops COMMAND */)
	}
	field = (ttl == 0 -> 0 : field);
	for (k : 1 .. OURS) { ends[k] = (ttl == 0 -> 0 : ends[k]) } /* the set has the same time to live as key 1 */
	for (k : 1 .. IDS) { watch[k] = (watch[k] > 1 && watch[k] != AT_BACK -> watch[k] - 1 : watch[k]) }
	for (k : 1 .. 2) { deadline[k] = (deadline[k] > 1 -> deadline[k] - 1 : deadline[k]) }
	lost_left = (lost_left > 0 && !back -> lost_left - 1 : 0);
	printf("tick: ttl %d, held by %d\n", ttl, field)
}

#define is_held_up(i) (phase[i] == HOLDING && left[i] == 1 && has_former(i)) /* it is about to end */
#define is_waiting(i) (phase[i] == WAITING)

active proctype clock()
{
end:
	do
	:: d_step { TICKS == 1 && !any(is_busy) && !any_theirs(r_is_busy) && !any_asker(asker_is_busy) && !back &&
		(ttl > 0 && !is_theirs_alive(field) || turn != 0 && !over || any_of_all(counts_down) || any_asker(asker_waits) ||
		 absent == 1 || lost_left > 0 || field == 0 && any(is_waiting)) -> pass_time()
	}
	:: d_step { TICKS == 2 && (ttl > 0 && !is_theirs_alive(field) || any(counts_down)) && !any(is_held_up) -> pass_time() }
	:: d_step { TICKS == 2 && turn != 0 && !over && !is_prompt(turn) -> over = true }
	:: d_step { TICKS == 2 && absent == 1 && !is_alive(head) -> absent = 2 }
	:: d_step { stales > 0 && length > 0 && (is_marker(list[0]) || is_marker(list[1])) ->
		stales--;
		k = (is_marker(list[0]) -> list[0] : list[1]);
		printf("the score of %d passes\n", k);
		score[k] = PASSED
	}
	/* the score of a dead waiter passes in the end */
	:: d_step { length > 0 && score[list[0]] > PASSED && (is_marker(list[0]) -> !any(is_waiting) : !is_alive(list[0])) ->
		score[list[0]] = PASSED
	}
	:: d_step { restarts > 0 && !all_over -> restarts--; restart() }
	:: d_step { back && !any(is_late_back) ->
		back = false;
		excused = excused || any(is_away);
		for (k : 1 .. OURS) {
			expected[k] = false;
			watch[k] = (watch[k] == AT_BACK -> 1 : watch[k])
		}
		printf("the pause is over\n")
	}
	:: d_step { blinds > 0 && !blind -> blinds--; blind = true }
	:: d_step { steps > 0 -> steps--; ticket_clock = 0; token_clock = 0; printf("the clock is set back\n") }
	:: d_step { stalls > 0 && any(is_waiting) ->
		stalls--;
		for (k : 1 .. OURS) {
			silent[k] = record[k];
			watch[k] = (phase[k] == WAITING && !hung[k] -> 1 : watch[k])
		}
		printf("the server stalls\n")
	}
	od
}

/* When all is over, one more client looks: it must find nothing. */
inline check_what_is_left()
{
	/* Redisson's scripts may be the last, and set no time to live when a waiter of theirs has gone. */
	nothing_left = length == 0 || expires || REDISSON && !GAP_EXPIRY;
	back = false;
	blind = false;
	for (k : 1 .. IDS) {
		nothing_left = nothing_left && !(phase[k] == GONE && (place[k] != 0 || score[k] != 0)) && !subscribed[k]
	}
	assert(nothing_left);
	notice_ends();
	for (r3 : 0 .. SIZE) {
		head = list[0]; /* Redisson's have been absent for 5 s */
		absent = 2;
		first_waiter(0)
	}
	settle(0);
	nothing_left = first == 0 && field == 0 && length == 0;
	for (k : 1 .. OURS) {
		nothing_left = nothing_left && ends[k] == 0 && mode[k] == 0 && place[k] == 0 &&
			has_slot[1] != k && has_slot[2] != k
	}
	assert(nothing_left)
}

init
{
	atomic {
		k = 1;
		do
		:: k <= OURS -> run fairlock(k); k++
		:: k > OURS && k <= IDS -> run redisson(k); k++
		:: k > IDS && k <= IDS + FORCES + STOPS -> run asker(k - IDS); k++
		:: else -> break
		od;
		k = 0
	}
	d_step { _nr_pr == 2 && (ttl == 0 || !TICKS) -> check_what_is_left() }
}

#if FAIR
ltl served { <> (all_over) }
#endif
