/* The boards of src/runtime/transport/local/board.h and the exchange over them (src/runtime/collectives/direct_exchange.cc). Proves that the
   orders which the ranks ask for suffice on any machine:

     - nobody finds another operation's posting in its place, nor one that is being written;
     - a rank's buffers are accessed by others only from when it has posted until it is through, as far as memory tells:
       there is no data race between it and them;
     - the buffers of a rank that gives up are nobody else's once it has seen that nobody is on a visit;
     - nobody waits for ever, as long as nobody gives up.

     check_model.sh board holds -DOPS=4
     check_model.sh board fails -DMUTATE_LEFT_RELAXED

   Memory is that of C++, by vector clocks: a rank's time goes on with each of its releases, `knows` says up to when it
   knows what the others have done, a release takes that along, an acquire brings it. Plain accesses that conflict must be
   ordered by that. A load of `left` returns any value that is not older than what the rank had before. `number` is loaded
   until it is the awaited one; that it is never a later one is asserted. The flags of visits and of those who give up are
   sequentially consistent, as are the steps of this model. Kinds of operations are chosen freely. */

#ifndef RANKS
#define RANKS 2
#endif
#ifndef SLOTS
#define SLOTS 2 /* really 8, and as many rooms for little data; of larger rooms 4 or 2, by the same rule */
#endif
#ifndef OPS
#define OPS 4
#endif

/* The kinds of operations there are, ORed. */
#define SMALL 1     /* data on the boards, of all */
#define BROADCAST 2 /* data on the board of rank 0 alone: it is not held up */
#define LARGE 4     /* in everybody's buffers */
#ifndef KINDS
#define KINDS 7
#endif

/* -------------------------------------------------------------------------------------------- what can be done wrong */

#if defined(MUTATE_NUMBER_RELAXED) || defined(MUTATE_NUMBER_NOT_ACQUIRED)
#define NUMBER_TELLS false
#else
#define NUMBER_TELLS true
#endif

#if defined(MUTATE_LEFT_RELAXED) || defined(MUTATE_LEFT_NOT_ACQUIRED)
#define LEFT_TELLS false
#else
#define LEFT_TELLS true
#endif

#ifdef MUTATE_ROOM_OFF_BY_ONE
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

typedef Board {
  byte number[SLOTS];
  Clock numberTells[SLOTS];
  byte left;
  Clock leftTells[OPS + 1]; /* by value */
  /* The posting, plainly: when it was written, and when last read by whom. */
  byte written[SLOTS];
  Clock readAt[SLOTS];
  bit gaveUp, visiting;
  Clock visitTells;
}
Board board[RANKS];

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

byte plan[OPS + 1]; /* of every operation, once somebody has come to it */

inline choose(op) {
  if
  :: plan[op] -> skip
  :: else ->
    if
    :: KINDS & SMALL -> plan[op] = SMALL
    :: KINDS & BROADCAST -> plan[op] = BROADCAST
    :: KINDS & LARGE -> plan[op] = LARGE
    fi
  fi
}

#define POSTS(op) (plan[op] != BROADCAST || me == 0)
#define AWAITS(op, other) ((other) != me && (plan[op] != BROADCAST || (other) == 0))

#define GIVEN_UP board[0].gaveUp

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
      board[other].left >= (least) || GIVEN_UP;
      if
      :: GIVEN_UP -> goto giveUp
      :: else
      fi;
      /* any value from there to the newest */
      got = (least);
      do
      :: got < board[other].left -> got++
      :: break
      od;
      leftSeen.upTo[other] = got;
      if
      :: LEFT_TELLS -> learn(board[other].leftTells[got])
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
    assert(other == me || knows[me].upTo[other] >= board[me].readAt[SLOT(op)].upTo[other]); /* not overwritten too early */
    other++
  :: else -> break
  od;
  other = 0;
  board[me].written[SLOT(op)] = knows[me].upTo[me];
  board[me].number[SLOT(op)] = op;
  tell(board[me].numberTells[SLOT(op)])
}

inline readPosting(op) {
  assert(board[other].number[SLOT(op)] == op);
  if
  :: NUMBER_TELLS -> learn(board[other].numberTells[SLOT(op)])
  :: else
  fi;
  /* It has left the operation before. */
  if
  :: leftSeen.upTo[other] < op - 1 -> leftSeen.upTo[other] = op - 1
  :: else
  fi;
  assert(knows[me].upTo[other] >= board[other].written[SLOT(op)]); /* no race */
  board[other].readAt[SLOT(op)].upTo[me] = knows[me].upTo[me]
}

inline meet(op) {
  other = 0;
  do
  :: other < RANKS && !AWAITS(op, other) -> other++
  :: other < RANKS && AWAITS(op, other) ->
    atomic {
      board[other].number[SLOT(op)] >= op || GIVEN_UP;
      if
      :: GIVEN_UP -> goto giveUp
      :: else
      fi;
      readPosting(op);
      other++
    }
  :: other == RANKS -> break
  od;
  other = 0
}

inline leave(op) {
  board[me].left = op;
  tell(board[me].leftTells[op])
}

inline lookWhoGaveUp() {
  other = 0;
  do
  :: other < RANKS ->
    if
    :: other != me && board[other].gaveUp -> heard = 1
    :: else
    fi;
    other++
  :: else -> break
  od;
  other = 0
}

inline visitAll() {
#ifdef MUTATE_VISIT_LATE
  atomic { lookWhoGaveUp() }
  board[me].visiting = 1;
#else
  board[me].visiting = 1;
  atomic { lookWhoGaveUp() }
#endif
  if
  :: heard -> skip
  :: else -> atomic { workInBuffers() }
  fi;
  atomic {
    board[me].visiting = 0;
    if
    :: VISIT_TELLS -> tell(board[me].visitTells)
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
#ifndef MUTATE_NO_ROOM
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
  board[me].gaveUp = 1;
#ifndef MUTATE_NOBODY_AWAITED
  other = 0;
  do
  :: other < RANKS ->
    atomic { /* a load that returns what the end of a visit has stored, or what was there before the first */
      other == me || !board[other].visiting;
      if
      :: other != me -> learn(board[other].visitTells)
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
/* Somebody aborts rank 0. Whoever waits then, be it rank 0 or others, may hear of it, and gives up as well. */
active proctype Aborter() {
  board[0].gaveUp = 1
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
