/* How two ranks meet, talk and part over their session (the table in src/runtime/transport/session/peer_session.h). Either rank
   may call the other; both may do so at once. Proves:

     - both ranks use the same connection;
     - a rank that fails to meet its peer is right: the peer has left, died or given up;
     - messages sent before a farewell arrive, and only a rank that died, or never opened the session, is taken for lost;
     - a rank that gives up, at any time, is heard of, although it stays;
     - nobody waits for ever.

     check_model.sh session holds -DGIVE_UP
     check_model.sh session fails -DMUTATE_DROP_EARLY

   A connection is two channels of messages. Closing it, by leaving or by dying, is the message END, behind all others.
   A call is accepted at the peer's listener in the background (the process Accept), and then waits there until the peer
   opens the session. What is said about time in the code (a higher rank calls after a delay) is any time here. */

/* Which ranks may give up or die, at any moment. */
#ifdef GIVE_UP
#define MAY_GIVE_UP true
#else
#define MAY_GIVE_UP false
#endif
#ifdef DIE
#define MAY_DIE true
#else
#define MAY_DIE false
#endif

#define LOW 0
#define HIGH 1
#define NONE 2
#define BY_LOW 0 /* the connection that the lower rank makes */
#define BY_HIGH 1

mtype = { BEGIN, OFFER, ABORT, BYE, END };

/* By connection, the messages from the lower and from the higher rank. */
chan wire[4] = [8] of { mtype };
#define OUT(me, c) wire[2 * (c) + (me)]
#define IN(me, c) wire[2 * (c) + 1 - (me)]

bit called[2];            /* by connection: its maker has connected it */
bit waiting[2];           /* accepted, and waits at the other rank's listener */
bit ended[4];             /* by direction: END was sent */
bit listens[2] = true;
bit gaveUp[2], died[2], left[2], over[2];
byte session[2] = NONE; /* the connection that each rank uses */

inline close(me, c) {
  if
  :: called[c] && !ended[2 * (c) + (me)] -> ended[2 * (c) + (me)] = 1; OUT(me, c)!END
  :: else
  fi
}

inline closeAll(me) {
  listens[me] = false;
  close(me, BY_LOW);
  close(me, BY_HIGH)
}

inline say(me, c, m) {
  if
  :: !ended[2 * (c) + (me)] -> OUT(me, c)!m
  :: else
  fi
}

/* Tells whoever is connected; Accept tells those that come later. */
inline giveUp(me) {
  atomic {
    gaveUp[me] = 1;
#ifndef MUTATE_TELL_SESSION_ONLY
    if
    :: called[me] && session[me] == NONE -> say(me, me, ABORT) /* its own call, not chosen yet */
    :: else
    fi;
    if
    :: waiting[1 - me] && session[me] == NONE -> say(me, 1 - me, ABORT)
    :: else
    fi;
#endif
    if
    :: session[me] != NONE -> say(me, session[me], ABORT)
    :: else
    fi
  }
}

inline open(me, c) {
  session[me] = c;
  assert(session[1 - me] == NONE || session[1 - me] == c)
}

/* Called by a rank that has not met its peer: rightly so? */
#define ABSENT(peer) (left[peer] || died[peer] || gaveUp[peer])

/* The listener of rank `at` accepts connection c. */
proctype Accept(byte at; byte c) {
  atomic {
    (called[c] && listens[at]) || over[1 - at] || !listens[at];
    if
    :: called[c] && listens[at] ->
      waiting[c] = 1;
#ifndef MUTATE_LATE_CALLER_UNTOLD
      if
      :: gaveUp[at] && session[at] == NONE -> say(at, c, ABORT)
      :: else
      fi
#endif
    :: else
    fi
  }
}

inline drop(c) {
  if
  :: waiting[c] && session[LOW] != (c) -> close(LOW, c)
  :: else
  fi
}

/* An open session: both ranks wait for the other's offer, then one of them leaves, or both. */
inline talk(me) {
  atomic { say(me, session[me], OFFER) };
  do
  :: atomic { IN(me, session[me])?message ->
       if
       :: me == LOW && !heard -> heard = 1; drop(BY_HIGH)
       :: else
       fi
     }
     if
     :: message == OFFER -> offered = 1
     :: message == ABORT -> assert(gaveUp[1 - me]); goto leave
     :: message == BYE -> assert(offered); goto leave
     :: message == END -> assert(died[1 - me] || session[1 - me] == NONE); goto leave
     :: message == BEGIN -> assert(me == HIGH)
     fi
  :: offered -> goto leave
  :: MAY_GIVE_UP && !gaveUp[1 - me] -> giveUp(me); goto stay
  :: MAY_DIE -> goto die
  od
}

inline part(me) {
  skip;
stay:
  over[1 - me] || gaveUp[1 - me]; /* the program keeps the communicator for as long as it likes */
  goto leave;
die:
  atomic { died[me] = 1; closeAll(me); over[me] = 1 };
  goto end;
leave:
  atomic {
    left[me] = 1;
#ifndef MUTATE_NO_BYE
    if
    :: session[me] != NONE && !gaveUp[me] -> say(me, session[me], BYE)
    :: else
    fi;
#endif
    closeAll(me);
    over[me] = 1
  };
end:
  skip
}

proctype Low() {
  mtype message;
  bit heard, offered;

  if
  :: skip
  :: MAY_GIVE_UP -> giveUp(LOW); goto stay
  :: MAY_DIE -> goto die
  fi;
  /* Somebody has called: take that. */
  atomic {
    if
    :: waiting[BY_HIGH] -> open(LOW, BY_HIGH); OUT(LOW, BY_HIGH)!BEGIN
    :: else
    fi
  };
  if
  :: session[LOW] == NONE ->
    if
    :: atomic { listens[HIGH] -> called[BY_LOW] = 1; open(LOW, BY_LOW); OUT(LOW, BY_LOW)!BEGIN;
#ifdef MUTATE_DROP_EARLY
         drop(BY_HIGH)
#endif
       }
    :: atomic { !listens[HIGH] -> assert(ABSENT(HIGH)); goto leave }
    :: MAY_GIVE_UP && !gaveUp[HIGH] -> giveUp(LOW); goto stay
    :: MAY_DIE -> goto die
    fi
  :: else
  fi;
  talk(LOW);
  part(LOW)
}

proctype High() {
  mtype message;
  bit heard, offered;

  do
  :: atomic { waiting[BY_LOW] && nempty(IN(HIGH, BY_LOW)) && session[HIGH] == NONE -> IN(HIGH, BY_LOW)?message ->
       if
       :: message == BEGIN -> open(HIGH, BY_LOW); close(HIGH, BY_HIGH); break
       :: else -> assert(ABSENT(LOW)); goto leave
       fi
     }
  :: atomic { called[BY_HIGH] && nempty(IN(HIGH, BY_HIGH)) && session[HIGH] == NONE -> IN(HIGH, BY_HIGH)?message ->
       if
       :: message == BEGIN -> open(HIGH, BY_HIGH); break
       :: else -> assert(ABSENT(LOW)); goto leave
       fi
     }
#ifndef MUTATE_NEVER_CALLS
  :: atomic { !called[BY_HIGH] ->
       if
       :: listens[LOW] ->
         called[BY_HIGH] = 1
#ifdef MUTATE_NO_BEGIN
         ;
         open(HIGH, BY_HIGH);
         break
#endif
       :: !listens[LOW] -> assert(ABSENT(LOW)); goto leave
       fi
     }
#endif
  :: MAY_GIVE_UP && !gaveUp[LOW] -> giveUp(HIGH); goto stay
  :: MAY_DIE -> goto die
  od;
  talk(HIGH);
  part(HIGH)
}

init {
  atomic {
    run Low();
    run High();
    run Accept(HIGH, BY_LOW);
    run Accept(LOW, BY_HIGH)
  }
}
