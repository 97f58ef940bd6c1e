/* How both ends of a queue copy one payload (src/runtime/transport/queue/copy_claims.h): the reader from the front, the writer from the back,
   into the reader's output. Proves:

     - each unit of a payload is copied once, into the output of its own step;
     - the reader's output is complete, as far as memory tells, when the reader has finished the step: there is no data race;
     - once a rank that gives up has closed its claims and seen that the writer is not writing, nobody writes into its output;
     - nobody waits for ever.

     check_model.sh claims holds -DGIVES_UP
     check_model.sh claims fails -DMUTATE_WRITTEN_RELAXED

   Memory is that of C++ as far as it matters here: each end has a time that advances with its releases, and knows up to when it has heard of
   the other end's. Plain accesses that conflict must be ordered by that. Changes of `claims` are read-modify-writes, which see the newest
   value; `writing` and `claims` are sequentially consistent, as are the steps of this model. */

#ifndef UNITS
#define UNITS 3
#endif
#ifndef STEPS
#define STEPS 3
#endif

#ifdef MUTATE_WRITTEN_RELAXED
#define WRITTEN_TELLS false
#else
#define WRITTEN_TELLS true
#endif

#ifdef MUTATE_CLAIM_RELAXED
#define CLAIM_TELLS false
#else
#define CLAIM_TELLS true
#endif

/* QueueControl */
byte offered; /* 1 + the step of the offer; 0: none */
byte front, back;
bit closed;
byte offerTells; /* the reader's time */
byte output;     /* plain: 1 + the step whose output is noted there */
byte outputStored;
byte outputLoaded; /* the writer's time */
bit writing;
byte written;
byte writtenTells; /* the writer's time */
byte head;

/* The output of the step that is under way, by unit: 1 + the step of what is there, and the writer's time if the writer has put it there. */
byte there[UNITS];
byte putAt[UNITS];
bit freed;

byte readerTime = 1, writerTime = 1;
byte readerKnows, writerKnows; /* of the other one's time */

inline put(unit, step) {
  assert(there[unit] != (step) + 1); /* not twice */
  there[unit] = (step) + 1
}

inline noteOutput(step) {
  assert(outputLoaded <= readerKnows); /* not overwritten while the writer may load it */
  output = (step) + 1;
  outputStored = readerTime
}

/* Claims the next unit. `mine` is the one; UNITS: none is left. */
inline takeFront() {
#ifdef MUTATE_CLAIM_IN_TWO_STEPS
  if
  :: front + back < UNITS -> mine = front
  :: else -> mine = UNITS
  fi;
  if
  :: mine < UNITS -> front = mine + 1
  :: else
  fi
#else
  atomic {
    if
    :: front + back < UNITS -> mine = front; front++
    :: else -> mine = UNITS
    fi
  }
#endif
}

active proctype reader() {
  byte step, mine, total, expected;
  bit isOffered;
  for (step : 0 .. STEPS - 1) {
    /* Offers the payload, claiming the first unit; or copies all of it alone. */
    isOffered = false;
    if
    :: true ->
#ifdef MUTATE_OUTPUT_LATE
      skip
#else
      noteOutput(step)
#endif
      ;
      atomic {
        if
#ifdef MUTATE_OFFERED_THOUGH_CLOSED
        :: true ->
#else
        :: !closed ->
#endif
          offered = step + 1;
          front = 1;
          back = 0;
          closed = false;
          offerTells = readerTime;
          readerTime++;
          isOffered = true
        :: closed -> skip
        fi
      }
#ifdef MUTATE_OUTPUT_LATE
      noteOutput(step)
#endif
    :: true
    fi;
    if
    :: !isOffered ->
      for (mine : 0 .. UNITS - 1) {
        put(mine, step)
      }
    :: else ->
      mine = 0;
      do
      :: mine < UNITS -> put(mine, step); takeFront()
      :: else -> break
      od;
#ifndef MUTATE_NOT_AWAITED
      expected = total + back;
      atomic {
        written == expected;
        total = written;
        if
        :: WRITTEN_TELLS && writtenTells > readerKnows -> readerKnows = writtenTells
        :: else
        fi
      }
#endif
    fi;
    /* The program uses the result. */
    atomic {
      for (mine : 0 .. UNITS - 1) {
        assert(there[mine] == step + 1);    /* complete */
        assert(putAt[mine] <= readerKnows); /* no race */
        there[mine] = 0;
        putAt[mine] = 0
      }
      mine = 0;
      offered = 0;
      front = 0;
      back = 0;
      head++
    }
  }
}

active proctype writer() {
  byte step, mine;
  do
  :: head == STEPS -> break
  :: head < STEPS ->
    step = head;
#ifndef MUTATE_WRITING_LATE
    writing = 1;
#endif
    atomic {
      if
      :: offered == step + 1 && !closed && front + back < UNITS ->
        back++;
        mine = UNITS - back;
        if
        :: CLAIM_TELLS && offerTells > writerKnows -> writerKnows = offerTells
        :: else
        fi
      :: else -> mine = UNITS
      fi
    }
#ifdef MUTATE_WRITING_LATE
    writing = 1;
#endif
    if
    :: mine < UNITS ->
      assert(outputStored <= writerKnows); /* no race */
      assert(output == step + 1);          /* the right output */
      outputLoaded = writerTime;
      assert(!freed);
      put(mine, step);
      putAt[mine] = writerTime;
      atomic {
        written++;
        writtenTells = writerTime;
        writerTime++
      }
    :: else
    fi;
    writing = 0
  od
}

#ifdef GIVES_UP
/* Another thread of the reader's rank, at any time. The reader may still finish steps alone. */
active proctype givesUp() {
  closed = 1;
#ifndef MUTATE_WRITER_NOT_AWAITED
  !writing;
#endif
  freed = 1
}
#endif
