/* A model of `release --stop`, for spin: askers, and the holders that they ask to stop. tests/model/run runs it beside
 * fairlock.pml, in several small configurations, whose numbers are the macros below.
 *
 * An asker writes a mark beside the hold (ask_to_stop() in lua/parts/stop_holders.lua) and publishes a message, by which
 * the holder only renews. The answer to the renewal (lua/scripts/renew.lua) says that the hold was asked. The holder stops
 * COMMAND and gives the lock back. The script that notes this end tells the asker, which asks again, and is answered that
 * all is over. It also asks when the lease ends that it was told, and when its connection is back.
 *
 * The holders are either one at a time, or two on slots (SLOTS 2). Who goes next is not looked at: any client takes the
 * lock that finds room. A holder's request and its answer are one step; fairlock.pml has what happens between them. An
 * asker's requests are under way, get lost, are repeated, and come late.
 *
 * Time goes in ticks. A tick comes only when no client that runs has anything to do, and COMMAND ends in time when it must
 * stop. So `in_time` is strict. COMMAND may end by itself unless ENDLESS is 1.
 *
 * After a loss of data the first that proves it by a token begins the pause, in which nobody is granted the lock. What
 * follows is excused if somebody is granted the lock before a holder is back. An asker that has not heard its first
 * answer has nothing to name: its first request asks anew, or finds the lock free. An asker that is gone before the holder
 * is back writes no mark again.
 *
 * Mutations, to see that the properties can fail:
 *
 *   ASK_ANYBODY      the record of a request does not say which holds it asked: sent again, it asks those that hold now
 *   KEEP_MARK        the mark stays when its hold ends, and asks the next hold of the same owner, too
 *   MESSAGE_ALONE    a holder stops when it hears the message, and no answer to a renewal says that it was asked
 *   MARK_ONCE        a mark that was lost with the data is not written again
 *   BELIEVE_GONE     after a loss of data a hold that is not there counts as over, though it may be taken up again
 *   BELIEVE_PAUSE    ... if it is not there after the pause
 *   FREE_EARLY       a holder that was asked gives the lock back, and then stops COMMAND
 *   END_SILENTLY     the end of a hold is not told to the asker
 *   WAIT_ONLY        an asker asks again only when it is told
 *
 * Not modelled: Redisson's holds and those of acquire, which cannot be asked, going in again, a --min-hold, force, an
 * asker that names one owner or slot, lost requests of a holder.
 */

#ifndef CLIENTS
#define CLIENTS 2
#endif
#ifndef SLOTS
#define SLOTS 1
#endif
#ifndef ASKERS
#define ASKERS 1
#endif
#ifndef LEASE
#define LEASE 2 /* ticks */
#endif
#ifndef TICKS
#define TICKS 1 /* 0: time stands still */
#endif
#ifndef ENDLESS
#define ENDLESS 0 /* 1: COMMAND runs until it is stopped */
#endif
/* How often each of these may happen in one run. */
#ifndef RETURNS
#define RETURNS 0 /* an owner takes the lock again */
#endif
#ifndef CRASHES
#define CRASHES 0 /* of a holder */
#endif
#ifndef HANGS
#define HANGS 0 /* of a holder: SIGSTOP, and SIGCONT at some time */
#endif
#ifndef MUTES
#define MUTES 0 /* a message is lost */
#endif
#ifndef LOSSES
#define LOSSES 0 /* of an asker's connection, with what was on its way in either direction */
#endif
#ifndef QUITS
#define QUITS 0 /* an asker waits no longer, or dies */
#endif
#ifndef RESTARTS
#define RESTARTS 0 /* the server loses all data, and all connections */
#endif
#ifndef BLINDS
#define BLINDS 0 /* a script does not notice an end, since so many others have ended */
#endif

#define SIZE  (CLIENTS + 1)
#define ANYONE 1            /* bit 0 of a set of holds, which no token has: the set is known */
#define bit(token) (1 << (token))
#define AT_BACK 9           /* watch: when the pause is over */

mtype = { OUT, HOLDING, STOPPING, ASKING, GONE, DEAD };

/* ---- The server ---- */

byte token[SIZE];         /* h:OWNER: of the hold, also while its end is unnoticed; 0: none */
byte ttl[SIZE];           /* of its lease; 0: that is over */
byte marks[SIZE];         /* a:OWNER: the set of its askers */
byte memory[3];           /* r:REQUEST: the set of holds that it asked */
byte newest[3];           /* r:REQUEST: the strays of its newest request */
byte tokens;              /* the last one; a time, which goes on when the data is lost */
byte last_token;          /* ... that the hash knows */
byte over;                /* the set of holds whose end hash or log know */
byte lost;                /* tokens up to this one were lost */
byte lost_left;           /* ... ticks for which they can be taken up */
bool is_new;              /* the hash is new, and nobody is back */
bool back;                /* the pause */

/* ---- The holders ---- */

mtype phase[SIZE] = OUT;
byte my_token[SIZE];
byte left[SIZE];          /* ticks until the deadline */
bool message[SIZE];       /* on its way */
bool hung[SIZE];
bool away[SIZE];          /* its connection has ended, and it is not back */
bool gave_back[SIZE];     /* a mutation only: COMMAND runs on */

/* ---- The askers ---- */

mtype state[3] = OUT;
bool sent[3];             /* a request is under way */
bool replied[3];          /* an answer is */
byte reply_names[3];
byte reply_watch[3];
byte names[3];            /* the set of holds that it has asked, from the first answer on */
byte watch[3];            /* 1 and the ticks until it asks */
bool told[3];             /* a message is on its way */
bool orphan[3];           /* a request is under way on a former connection */
byte orphan_names[3];
byte orphan_strays[3];
byte strays[3];

byte returns = RETURNS, crashes = CRASHES, hangs = HANGS, mutes = MUTES, losses = LOSSES, restarts = RESTARTS;
byte blinds = BLINDS, quits = QUITS;

/* ---- What is to be true. Spin names the one that is not. ---- */

byte meant[3];            /* the set of holds that there were when its first request was carried out */
byte waited[3];           /* ticks since then */
byte owed[SIZE];          /* ticks since the mark was written, while COMMAND runs */
bool excused;

bool fits = true;         /* never more than SLOTS hold at once */
bool spared = true;       /* a hold is stopped only if it was there when somebody asked first */
bool heard = true;        /* a holder that was asked and runs learns it within a lease, also if the asker is gone */
bool ended = true;        /* an asker ends when all that it asked is over, not before */
bool in_time = true;      /* ... and not long after */

#define runs(p)      (!hung[p])
#define is_inside(p) ((phase[p] == HOLDING || phase[p] == STOPPING) && left[p] > 0)
#define holds(p)     (token[p] != 0 && ttl[p] > 0)
#define is_alive(p)  (phase[p] == HOLDING || phase[p] == STOPPING)
#define is_asked(p)  (phase[p] == HOLDING && ((meant[1] | meant[2]) & bit(my_token[p])))
#define is_over(p)   (phase[p] == GONE || phase[p] == DEAD)
#define is_away(p)   (away[p] && is_alive(p))
#define is_late_back(p) (away[p] && is_alive(p) && runs(p))
#define must_renew(p) (is_alive(p) && runs(p) && (message[p] || left[p] < LEASE || away[p]))
#define is_busy(p)   (is_alive(p) && runs(p) && (message[p] || left[p] <= 1 || away[p] || phase[p] == STOPPING))
#if CLIENTS > 2
#define any(what)    (what(1) || what(2) || what(3))
#else
#define any(what)    (what(1) || what(2))
#endif
#define is_asking(a) (state[a] == ASKING && (sent[a] || replied[a] || told[a] || watch[a] == 1))
#define is_waiting(a) (state[a] == ASKING)
#define is_behind(a) (state[a] == ASKING && watch[a] == AT_BACK)
#define asker_is_alive(a) (state[a] != GONE || orphan[a])
#if ASKERS > 1
#define any_asker(what) (what(1) || what(2))
#else
#define any_asker(what) what(1)
#endif

/* A turn of the lease for each thing that may keep holder and asker from hearing of each other. */
#define WAIT_MOST (LEASE + (LEASE + 1) * (HANGS + CRASHES + MUTES + RESTARTS))

/* Not part of a state: each script sets them anew. */
hidden byte id, at, count, named, rest, soonest;

/* ---- Scripts ---- */

/* A message before an answer is not heeded: that answer knows of the end. */
inline tell(who)
{
#ifdef END_SILENTLY
	skip
#else
	told[who] = told[who] || state[who] == ASKING && !sent[who]
#endif
}

inline end_hold(who)
{
	over = over | bit(token[who]);
	token[who] = 0;
	ttl[who] = 0;
	if
	:: marks[who] & 2 -> tell(1)
	:: else
	fi;
	if
	:: marks[who] & 4 -> tell(2)
	:: else
	fi;
#ifndef KEEP_MARK
	marks[who] = 0
#endif
}

inline notice_ends()
{
	for (id : 1 .. CLIENTS) {
		if
		:: token[id] != 0 && ttl[id] == 0 && !(BLINDS && blinds > 0) -> end_hold(id)
		:: else
		fi
	}
}

/* A token from before shows that the hash is new. */
inline notice_loss()
{
	if
	:: is_new -> is_new = false; back = true
	:: else
	fi
}

#define can_be_lost(its_token) ((its_token) <= lost && lost_left > 0 && !(over & bit(its_token)) && \
	(SLOTS > 1 || (its_token) > last_token))

inline count_holds()
{
	count = 0;
	for (at : 1 .. CLIENTS) {
		count = count + holds(at)
	}
}

inline acquire(me)
{
	notice_ends();
	tokens++;
	last_token = tokens;
	token[me] = tokens;
	ttl[me] = LEASE;
#ifndef KEEP_MARK
	marks[me] = 0;
#endif
	excused = excused || any(is_away);
	my_token[me] = tokens;
	left[me] = LEASE;
	message[me] = false;
	phase[me] = HOLDING;
	count = 0;
	for (at : 1 .. CLIENTS) {
		count = count + (is_inside(at) || gave_back[at] && left[at] > 0)
	}
	fits = fits && (count <= SLOTS || excused);
	assert(fits);
	printf("%d is granted %d\n", me, my_token[me])
}

inline end_client(me, how)
{
	phase[me] = how;
	my_token[me] = 0;
	left[me] = 0;
	message[me] = false;
	hung[me] = false;
	away[me] = false;
	gave_back[me] = false;
	owed[me] = 0
}

inline stop(me)
{
	printf("%d stops, as it was asked\n", me);
	spared = spared && (excused || ((meant[1] | meant[2]) & bit(my_token[me])));
	assert(spared);
	phase[me] = STOPPING;
	owed[me] = 0
}

inline renew(me)
{
	notice_ends();
#if RESTARTS
	if
	:: away[me] -> notice_loss()
	:: else
	fi;
#endif
	count_holds();
	if
	:: token[me] == my_token[me] && holds(me) ->
		ttl[me] = LEASE;
		left[me] = LEASE
	:: !(token[me] == my_token[me] && holds(me)) && can_be_lost(my_token[me]) && count < SLOTS && token[me] == 0 ->
		token[me] = my_token[me];
		last_token = (my_token[me] > last_token -> my_token[me] : last_token);
		marks[me] = 0;
		ttl[me] = LEASE;
		left[me] = LEASE;
		printf("%d takes up %d\n", me, my_token[me])
	:: else -> printf("%d has lost %d\n", me, my_token[me]); left[me] = 0
	fi;
	away[me] = false;
	if
	:: left[me] == 0 -> end_client(me, GONE)
#ifdef MESSAGE_ALONE
	:: left[me] > 0 && message[me] && phase[me] == HOLDING -> stop(me)
#else
	:: left[me] > 0 && marks[me] && phase[me] == HOLDING -> stop(me)
#endif
	:: else
	fi;
	message[me] = false
}

inline release(me)
{
	notice_ends();
	if
	:: token[me] == my_token[me] && holds(me) -> end_hold(me)
	:: else
	fi;
	printf("%d gives back\n", me)
}

#ifdef BELIEVE_PAUSE
#define waits_for_lost back
#else
#define waits_for_lost true
#endif

/* has: the holds that it names. Sets `named`, `rest` and `soonest`. */
inline ask(me, has, old)
{
	named = has;
	rest = 0;
	soonest = 0;
	if
	:: old < newest[me] -> printf("a late copy of asker %d\n", me)
	:: else ->
		newest[me] = old;
		notice_ends();
#if RESTARTS
		if
		:: has > ANYONE -> notice_loss()
		:: else
		fi;
#endif
#ifndef ASK_ANYBODY
		named = (named == 0 -> memory[me] : named);
#endif
		if
		:: named == 0 ->
			named = ANYONE;
			for (id : 1 .. CLIENTS) {
				named = (holds(id) -> named | bit(token[id]) : named)
			}
		:: else
		fi;
		meant[me] = (meant[me] == 0 -> named : meant[me]);
		memory[me] = (memory[me] == 0 -> named : memory[me]);
		for (id : 1 .. CLIENTS) {
			if
			:: holds(id) && (named & bit(token[id])) ->
#ifdef MARK_ONCE
				marks[id] = (has == 0 -> marks[id] | (1 << me) : marks[id]);
#else
				marks[id] = marks[id] | (1 << me);
#endif
				message[id] = is_alive(id) && !away[id];
				rest = rest | bit(token[id]);
				soonest = (soonest == 0 || ttl[id] < soonest -> ttl[id] : soonest)
			:: else
			fi
		}
		/* those that were lost with the data, and may be taken up */
#if RESTARTS && !defined(BELIEVE_GONE)
		for (id : 1 .. 6) {
			if
			:: (named & bit(id)) && !(rest & bit(id)) && can_be_lost(id) && waits_for_lost ->
				rest = rest | bit(id);
				soonest = (back -> AT_BACK : (soonest == 0 || lost_left < soonest -> lost_left : soonest))
			:: else
			fi
		}
#endif
		printf("asker %d asks: %d, of these are left %d\n", me, named, rest)
	fi
}

/* ---- The clients ---- */

proctype holder(byte me)
{
	do
	:: d_step { phase[me] == OUT && !back && (me == 1 || phase[me - 1] != OUT) ->
		count_holds();
		phase[me] = (count < SLOTS -> HOLDING : OUT);
		if
		:: phase[me] == HOLDING -> acquire(me)
		:: else
		fi
	}
	:: d_step { must_renew(me) -> renew(me) }
#ifdef FREE_EARLY
	:: d_step { phase[me] == STOPPING && runs(me) && !gave_back[me] -> release(me); gave_back[me] = true }
	:: d_step { phase[me] == STOPPING && runs(me) && gave_back[me] -> end_client(me, GONE) }
#else
	:: d_step { phase[me] == STOPPING && runs(me) && !away[me] ->
		release(me);
		end_client(me, GONE);
		phase[me] = (returns > 0 -> OUT : GONE);
		returns = (returns > 0 -> returns - 1 : 0)
	}
#endif
#if !ENDLESS
	:: d_step { phase[me] == HOLDING && runs(me) && !away[me] ->
		release(me);
		end_client(me, GONE);
		phase[me] = (returns > 0 -> OUT : GONE);
		returns = (returns > 0 -> returns - 1 : 0)
	}
#endif
#if CRASHES
	:: d_step { crashes > 0 && is_alive(me) -> crashes--; end_client(me, DEAD); printf("%d dies\n", me) }
#endif
#if HANGS
	:: d_step { hangs > 0 && is_alive(me) && runs(me) -> hangs--; hung[me] = true; printf("%d hangs\n", me) }
	:: d_step { hung[me] -> hung[me] = false; printf("%d goes on\n", me) }
#endif
#if MUTES
	:: d_step { mutes > 0 && message[me] -> mutes--; message[me] = false; printf("a message to %d is lost\n", me) }
#endif
	:: is_over(me) || !any_asker(asker_is_alive) && !any(is_asked) -> break
	od
}

inline check_end(me)
{
	for (id : 1 .. CLIENTS) {
		ended = ended && (!is_inside(id) || !(meant[me] & bit(my_token[id])) || excused)
	}
	assert(ended)
}

proctype asker(byte me)
{
	d_step { phase[1] != OUT && (me == 1 || state[1] != OUT) -> state[me] = ASKING; sent[me] = true }
	do
	/* the server */
	:: d_step { sent[me] ->
		ask(me, names[me], strays[me]);
		sent[me] = false;
		replied[me] = true;
		reply_names[me] = named;
		reply_watch[me] = (rest -> soonest + 1 : 0);
		reply_watch[me] = (rest && soonest == AT_BACK -> AT_BACK : reply_watch[me])
	}
	/* the asker */
	:: d_step { replied[me] ->
		replied[me] = false;
		names[me] = (names[me] -> names[me] : reply_names[me]);
		watch[me] = reply_watch[me];
		reply_names[me] = 0;
		reply_watch[me] = 0;
#ifdef WAIT_ONLY
		state[me] = (watch[me] == 0 -> GONE : ASKING);
		watch[me] = 0;
#else
		state[me] = (watch[me] == 0 -> GONE : ASKING);
#endif
		if
		:: state[me] == GONE -> printf("asker %d ends\n", me); check_end(me); told[me] = false; waited[me] = 0
		:: else
		fi
	}
	:: d_step { state[me] == ASKING && !sent[me] && !replied[me] && (told[me] || watch[me] == 1) ->
		told[me] = false;
		watch[me] = 0;
		sent[me] = true
	}
#if QUITS
	:: d_step { quits > 0 && state[me] == ASKING && !orphan[me] ->
		quits--;
		printf("asker %d is gone\n", me);
		orphan[me] = sent[me];
		orphan_names[me] = (sent[me] -> names[me] : 0);
		orphan_strays[me] = (sent[me] -> strays[me] : 0);
		sent[me] = false;
		replied[me] = false;
		reply_names[me] = 0;
		reply_watch[me] = 0;
		told[me] = false;
		watch[me] = 0;
		waited[me] = 0;
		state[me] = GONE
	}
#endif
#if MUTES
	:: d_step { mutes > 0 && told[me] -> mutes--; told[me] = false; printf("a message to asker %d is lost\n", me) }
#endif
#if LOSSES
	:: d_step { losses > 0 && state[me] == ASKING && !orphan[me] ->
		losses--;
		printf("asker %d loses its connection\n", me);
		orphan[me] = sent[me];
		orphan_names[me] = (sent[me] -> names[me] : 0);
		orphan_strays[me] = (sent[me] -> strays[me] : 0);
		strays[me] = strays[me] + (sent[me] || replied[me]);
		replied[me] = false;
		reply_names[me] = 0;
		reply_watch[me] = 0;
		told[me] = false;
		watch[me] = 0;
		sent[me] = true
	}
#endif
#if LOSSES || QUITS
	:: d_step { orphan[me] ->
		printf("a late copy\n");
		ask(me, orphan_names[me], orphan_strays[me]);
		orphan[me] = false;
		orphan_names[me] = 0;
		orphan_strays[me] = 0
	}
	:: d_step { orphan[me] -> orphan[me] = false; orphan_names[me] = 0; orphan_strays[me] = 0 }
#endif
	:: state[me] == GONE && !orphan[me] -> break
	od
}

/* ---- Time, and the server's end ---- */

inline pass_time()
{
	for (id : 1 .. CLIENTS) {
		ttl[id] = (ttl[id] > 0 -> ttl[id] - 1 : 0);
		left[id] = (left[id] > 0 -> left[id] - 1 : 0);
		owed[id] = (is_asked(id) && marks[id] -> owed[id] + 1 : 0);
		heard = heard && owed[id] <= LEASE;
		if
		:: is_alive(id) && left[id] == 0 -> end_client(id, GONE) /* its guard stops COMMAND */
		:: else
		fi
	}
	for (id : 1 .. ASKERS) {
		watch[id] = (watch[id] > 1 && watch[id] != AT_BACK -> watch[id] - 1 : watch[id]);
		waited[id] = waited[id] + (state[id] == ASKING);
		in_time = in_time && waited[id] <= WAIT_MOST
	}
	lost_left = (lost_left > 0 && !back -> lost_left - 1 : lost_left);
	printf("tick\n");
	assert(in_time);
	assert(heard)
}

#if RESTARTS
inline lose_data()
{
	printf("the data are lost\n");
	for (id : 1 .. CLIENTS) {
		token[id] = 0;
		ttl[id] = 0;
		marks[id] = 0;
		message[id] = false;
		owed[id] = 0;
		away[id] = is_alive(id)
	}
	for (id : 1 .. ASKERS) {
		memory[id] = 0;
		newest[id] = 0;
		meant[id] = (names[id] && state[id] == ASKING -> meant[id] : 0);
		orphan[id] = false;
		orphan_names[id] = 0;
		orphan_strays[id] = 0;
		replied[id] = false;
		reply_names[id] = 0;
		reply_watch[id] = 0;
		told[id] = false;
		watch[id] = 0;
		sent[id] = state[id] == ASKING
	}
	over = 0;
	last_token = 0;
	lost = tokens;
	lost_left = LEASE;
	is_new = true;
	back = false
}
#endif

#define has_ttl(p) (ttl[p] > 0)

proctype clock()
{
end:
	do
#if !TICKS
	:: false
#else
	:: d_step { !any(is_busy) && !any_asker(is_asking) && !back && (any(has_ttl) || any_asker(is_waiting)) -> pass_time() }
#endif
#if BLINDS
	:: d_step { blinds > 0 -> blinds-- }
#endif
#if RESTARTS
	:: d_step { restarts > 0 -> restarts--; lose_data() }
	:: d_step { back && !any(is_late_back) ->
		back = false;
		for (id : 1 .. ASKERS) {
			watch[id] = (watch[id] == AT_BACK -> 1 : watch[id]);
			reply_watch[id] = (reply_watch[id] == AT_BACK -> 1 : reply_watch[id])
		}
		printf("the pause is over\n")
	}
#endif
	od
}

init
{
	atomic {
		run clock();
		run holder(1);
		run holder(2);
#if CLIENTS > 2
		run holder(3);
#endif
		run asker(1);
#if ASKERS > 1
		run asker(2);
#endif
	}
}
