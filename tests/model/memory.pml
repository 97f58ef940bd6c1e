/* Memory of one writing and one reading process under C++'s memory model, for queue.pml.

   Every location has one process that stores there, so its values have an order: that of the stores. What
   happens-before what is kept by two clocks: readerKnows, the last moment of the writer that happens before what the
   reader does next, and writerKnows, likewise in steps of the reader. A release store carries the moment at which it
   is made; an acquire load that returns its value learns that moment; nothing else teaches.

     plain    Loads and stores must be ordered by happens-before both ways: anything else is a race, and an assertion
              fails, whichever of the two comes first here. So plain locations need no history, and several plain
              accesses in a row may be one step of the model.
     atomic   The values that can still be read stay in the location's history. A load returns any of them, but none
              older than what the reader had from there before, and none that it knows to be overwritten.

   Loads are executed in order. Yet a load that a machine delays until after a later store is covered as well: a
   store must happen after the load of the value that it replaces, in locations of both kinds.

   Payload is not stored: a location holds the moment at which it was written, which tells the step. */

/* The writer's moments: MOMENT(s, 0) ... MOMENT(s, PARTS - 1) in step s, ascending. 0 is before everything. */
#define PARTS (WORDS + 3)
#define MOMENT(s, part) ((s) * PARTS + (part) + 1)
#define STEP_OF(moment) (((moment) - 1) / PARTS)
#define PART_OF(moment) (((moment) - 1) % PARTS)

byte readerKnows; /* a moment of the writer */
byte writerKnows; /* how many steps of the reader */

inline learnMoment(moment) {
  if
  :: (moment) > readerKnows -> readerKnows = (moment)
  :: else
  fi
}

typedef Plain {
  byte stored; /* moment of the last store */
  byte loaded; /* 1 + the step of the last load; 0 as well when the writer knows of it */
}

inline storePlain(at, moment) {
  assert(at.loaded <= writerKnows); /* not overwritten before it was read */
  at.stored = (moment)
}

/* In the reader's step s, which expects what was stored at `moment`. */
inline loadPlain(at, moment, s) {
  assert(at.stored <= readerKnows); /* no race */
  assert(at.stored == (moment));    /* the right payload */
  at.loaded = (s) + 1
}

#define HISTORY 5
typedef Atomic {
  byte value[HISTORY]; /* moments */
  byte newest;
  byte loaded; /* as of Plain */
}

inline storeAtomic(at, moment) {
  assert(at.loaded <= writerKnows); /* not overwritten before it was read */
  at.newest++;
  assert(at.newest < HISTORY);
  at.value[at.newest] = (moment)
}

/* A store becomes visible in the end even to those who never learn of it. Needed for one thing only: flags that come
   again after FLAGS steps (really 2^32) must not meet what was overwritten FLAGS / 4 steps (really 2^30) ago. */
#define LONG_AGO(moment, s) ((moment) != 0 && STEP_OF(moment) + FLAGS / 4 <= (s))
#define OVERWRITTEN(at, i, s) \
  (i < at.newest && (at.value[(i + 1) % HISTORY] <= readerKnows || LONG_AGO(at.value[(i + 1) % HISTORY], s)))
#define CAN_LOAD(at, i, kind, s) \
  (i <= at.newest && FLAG_IN(kind, at.value[i]) == FLAG_OF(kind, s) && !OVERWRITTEN(at, i, s))

/* In the reader's step s: waits for the flag of the step. `got` is the moment of the value; its elders go. Loads that
   find another flag are left out: the reader would only learn from them, and they cannot skip what it waits for. */
inline loadAtomic(at, kind, s, got) {
  if
  :: CAN_LOAD(at, 0, kind, s) -> i = 0
  :: CAN_LOAD(at, 1, kind, s) -> i = 1
  :: CAN_LOAD(at, 2, kind, s) -> i = 2
  :: CAN_LOAD(at, 3, kind, s) -> i = 3
  :: CAN_LOAD(at, 4, kind, s) -> i = 4
  fi;
  got = at.value[i];
  at.loaded = (s) + 1;
  at.newest = at.newest - i;
  j = 0;
  do
  :: j < HISTORY ->
    at.value[j] = (j <= at.newest -> at.value[(j + i) % HISTORY] : 0);
    j++
  :: else -> break
  od;
  i = 0;
  j = 0
}

/* So that states which differ no more are the same. */
inline forgetLoad(at) {
  if
  :: at.loaded <= writerKnows -> at.loaded = 0
  :: else
  fi
}
