/* The mailboxes of src/runtime/transport/local/mailbox.h and the exchange through them (src/runtime/collectives/meeting.h).
   Proves that the memory orders that the ranks ask for suffice on any machine:

     - no rank finds the descriptor of another operation in a slot, nor one that is being written;
     - other ranks use a rank's buffers only after it has posted and before it has left the operation, as far as memory
       tells: there is no data race between it and them;
     - the buffers of a rank that gives up belong to it alone once it has seen that no other rank is inside a visit;
     - no rank waits for ever, as long as none gives up.

     check_model.sh mailbox holds -DOPS=4
     check_model.sh mailbox fails -DMUTATE_LEFT_RELAXED

   Memory is that of C++, by vector clocks: a rank's time advances with each of its releases, `knows` says up to when it
   knows what the others have done, a release passes that on, and an acquire receives it. Plain accesses that conflict must
   be ordered by that. A load of `left` returns any value that is not older than the one that the rank had before. `number`
   is loaded until it is the awaited one; the model asserts that it is never a later one. The flags of visits and of ranks
   that give up are sequentially consistent, as are the steps of this model. Kinds of operations are chosen freely. */

#ifndef RANKS
#define RANKS 2
#endif
#ifndef SLOTS
#define SLOTS 2 /* really 32; of staging areas 32 or 8, by the same rule; for the ring see staging_ring_test.cc */
#endif
#ifndef OPS
#define OPS 4
#endif

/* The kinds of operations there are, ORed. */
#define SMALL 1     /* inline or staged data of all ranks */
#define BROADCAST 2 /* such data of rank 0 alone, which does not wait for the others */
#define LARGE 4     /* in the buffers of all ranks */
#define REDUCE 8    /* such data of all ranks but rank 0, which alone waits for the others */
#ifndef KINDS
#define KINDS 15
#endif

/* How many operations that brought it data a rank may have left without saying so. */
#ifdef MUTATE_MORE_UNTOLD
#define UNTOLD SLOTS
#else
#define UNTOLD (SLOTS - 1)
#endif

/* -------------------------------------------------------------------------------------------- what can be done wrong */

#ifdef MUTATE_NUMBER_RELAXED
#define NUMBER_TELLS false
#else
#define NUMBER_TELLS true
#endif

#ifdef MUTATE_LEFT_RELAXED
#define LEFT_TELLS false
#else
#define LEFT_TELLS true
#endif

#ifdef MUTATE_SLOT_OFF_BY_ONE
#define NEEDED(op) ((op) - SLOTS - 1)
#else
#define NEEDED(op) ((op) - SLOTS)
#endif

#ifdef MUTATE_VISIT_ENDS_RELAXED
#define VISIT_TELLS false
#else
#define VISIT_TELLS true
#endif

/* ------------------------------------------------------------------------------------------------------- the memory */

#define SLOT(op) ((op) % SLOTS)

typedef Clock {
  byte upTo[RANKS];
}
Clock knows[RANKS]; /* its own time among them */

typedef Mailbox {
  byte number[SLOTS];
  Clock numberTells[SLOTS];
  byte left;
  Clock leftTells[OPS + 1]; /* by value */
  /* The descriptor, a plain access: when it was written, and when each rank last read it. */
  byte written[SLOTS];
  Clock readAt[SLOTS];
  bit gaveUp, visiting;
  Clock visitTells;
}
Mailbox mailbox[RANKS];

/* A rank's buffers, by the share that a rank works on: when each last accessed it. The owner accesses all. */
typedef Buffers {
  byte owner;
  Clock worker;
}
Buffers buffers[RANKS];
bit gone[RANKS]; /* freed, by an owner that gave up */

inline learn(clock) {
  i = 0;
  do
  :: i < RANKS ->
    if
    :: clock.upTo[i] > knows[me].upTo[i] -> knows[me].upTo[i] = clock.upTo[i]
    :: else
    fi;
    i++
  :: else -> break
  od;
  i = 0
}

inline tell(clock) {
  i = 0;
  do
  :: i < RANKS -> clock.upTo[i] = knows[me].upTo[i]; i++
  :: else -> break
  od;
  i = 0;
  knows[me].upTo[me]++
}

/* -------------------------------------------------------------------------------------------------------- the ranks */

byte plan[OPS + 1]; /* of every operation, once a rank has come to it */

inline choose(op) {
  if
  :: plan[op] -> skip
  :: else ->
    if
    :: KINDS & SMALL -> plan[op] = SMALL
    :: KINDS & BROADCAST -> plan[op] = BROADCAST
    :: KINDS & LARGE -> plan[op] = LARGE
    :: KINDS & REDUCE -> plan[op] = REDUCE
    fi
  fi
}

#define BRINGS_TO(op, from, to) (plan[op] == BROADCAST -> (from) == 0 : plan[op] != REDUCE || (to) == 0)
#define IS_BROUGHT(op) (plan[op] == BROADCAST && me != 0 || plan[op] == REDUCE && me == 0)
#define POSTS(op) (plan[op] != BROADCAST || me == 0)
#define AWAITS(op, other) ((other) != me && BRINGS_TO(op, other, me))

#define GIVEN_UP mailbox[0].gaveUp

inline useOwnBuffers() {
  other = 0;
  do
  :: other < RANKS ->
    assert(other == me || knows[me].upTo[other] >= buffers[me].worker.upTo[other]); /* no race */
    other++
  :: else -> break
  od;
  other = 0;
  buffers[me].owner = knows[me].upTo[me]
}

/* The share of all buffers that is this rank's. */
inline workInBuffers() {
  other = 0;
  do
  :: other < RANKS ->
    assert(!gone[other]);
    assert(other == me || knows[me].upTo[other] >= buffers[other].owner); /* no race */
    buffers[other].worker.upTo[me] = knows[me].upTo[me];
    other++
  :: else -> break
  od;
  other = 0
}

/* Loads left of the others until all are at least at `least`. */
inline awaitLeft(least) {
  other = 0;
  do
  :: other < RANKS && (other == me || leftSeen.upTo[other] >= (least)) -> other++
  :: other < RANKS && other != me && leftSeen.upTo[other] < (least) ->
    atomic {
      mailbox[other].left >= (least) || GIVEN_UP;
      if
      :: GIVEN_UP -> goto giveUp
      :: else
      fi;
      /* any value that was stored, from there to the newest */
      got = (least);
      do
      :: got < mailbox[other].left -> got++
      :: mailbox[other].leftTells[got].upTo[other] > 0 || got == 0 -> break
      od;
      leftSeen.upTo[other] = got;
      if
      :: LEFT_TELLS -> learn(mailbox[other].leftTells[got])
      :: else
      fi;
      got = 0;
      other++
    }
  :: other == RANKS -> break
  od;
  other = 0
}

inline post(op) {
  other = 0;
  do
  :: other < RANKS ->
    assert(other == me || knows[me].upTo[other] >= mailbox[me].readAt[SLOT(op)].upTo[other]); /* not overwritten too early */
    other++
  :: else -> break
  od;
  other = 0;
  mailbox[me].written[SLOT(op)] = knows[me].upTo[me];
  mailbox[me].number[SLOT(op)] = op;
  tell(mailbox[me].numberTells[SLOT(op)])
}

inline readDescriptor(op) {
  assert(mailbox[other].number[SLOT(op)] == op);
  if
  :: NUMBER_TELLS -> learn(mailbox[other].numberTells[SLOT(op)])
  :: else
  fi;
  /* It has left the operation before. */
  if
  :: leftSeen.upTo[other] < op - 1 -> leftSeen.upTo[other] = op - 1
  :: else
  fi;
  assert(knows[me].upTo[other] >= mailbox[other].written[SLOT(op)]); /* no race */
  mailbox[other].readAt[SLOT(op)].upTo[me] = knows[me].upTo[me]
}

inline meet(op) {
  other = 0;
  do
  :: other < RANKS && !AWAITS(op, other) -> other++
  :: other < RANKS && AWAITS(op, other) ->
    atomic {
      mailbox[other].number[SLOT(op)] >= op || GIVEN_UP;
      if
      :: GIVEN_UP -> goto giveUp
      :: else
      fi;
      readDescriptor(op);
      other++
    }
  :: other == RANKS -> break
  od;
  other = 0
}

inline leave(op) {
  if
  :: IS_BROUGHT(op) && op - mailbox[me].left <= UNTOLD -> skip
  :: else ->
    mailbox[me].left = op;
    tell(mailbox[me].leftTells[op])
  fi
}

inline lookForWithdrawn() {
  other = 0;
  do
  :: other < RANKS ->
    if
    :: other != me && mailbox[other].gaveUp -> heard = 1
    :: else
    fi;
    other++
  :: else -> break
  od;
  other = 0
}

inline visitAll() {
#ifdef MUTATE_VISIT_LATE
  atomic { lookForWithdrawn() }
  mailbox[me].visiting = 1;
#else
  mailbox[me].visiting = 1;
  atomic { lookForWithdrawn() }
#endif
  if
  :: heard -> skip
  :: else -> atomic { workInBuffers() }
  fi;
  atomic {
    mailbox[me].visiting = 0;
    if
    :: VISIT_TELLS -> tell(mailbox[me].visitTells)
    :: else -> knows[me].upTo[me]++
    fi
  }
}

proctype Rank(byte me) {
  byte op, other, i, got;
  bit heard;
  Clock leftSeen;

  op = 1;
  do
  :: op <= OPS ->
    atomic { choose(op); useOwnBuffers() }
    if
    :: POSTS(op) ->
#ifndef MUTATE_SLOT_NOT_AWAITED
      if
      :: op > SLOTS -> awaitLeft(NEEDED(op))
      :: else
      fi;
#endif
      atomic { post(op) }
    :: else
    fi;
#ifdef MUTATE_LEAVE_EARLY
    atomic { leave(op) }
#endif
    meet(op);
    if
    :: plan[op] == LARGE ->
      visitAll();
      if
      :: heard -> goto giveUp
      :: else
      fi
    :: else
    fi;
#ifndef MUTATE_LEAVE_EARLY
    atomic { leave(op) }
#endif
#ifndef MUTATE_NOT_AWAITED
    if
    :: plan[op] == LARGE -> awaitLeft(op)
    :: else
    fi;
#endif
    atomic { useOwnBuffers(); op++ }
  :: else -> break
  od;
  goto end;
giveUp:
  mailbox[me].gaveUp = 1;
#ifndef MUTATE_NOBODY_AWAITED
  other = 0;
  do
  :: other < RANKS ->
    atomic { /* a load that returns what the end of a visit has stored, or what was there before the first */
      other == me || !mailbox[other].visiting;
      if
      :: other != me -> learn(mailbox[other].visitTells)
      :: else
      fi;
      other++
    }
  :: else -> break
  od;
#endif
  atomic { useOwnBuffers(); gone[me] = 1 }
end:
  skip
}

#ifdef GIVES_UP
/* The program aborts rank 0. Ranks that wait then, rank 0 or others, may learn of it and give up as well. */
active proctype Aborter() {
  mailbox[0].gaveUp = 1
}
#endif

init {
  byte rank;
  atomic {
    do
    :: rank < RANKS -> knows[rank].upTo[rank] = 1; run Rank(rank); rank++
    :: else -> break
    od
  }
}
