/* The queues of src/runtime/transport/queue/queue.h between one writer and one reader. Proves for a small queue that the orders
   (release, acquire, relaxed) which the two ends ask for suffice on any machine, however weakly ordered:

     - the reader gets every step's payload, in order, and never that of another step, whatever lies in its slot;
     - nothing is overwritten before it was read: slots, words, lines, notes, nor memory sent by reference;
     - no step is finished before the writer has begun it, even if it is empty;
     - there is no data race;
     - nobody waits for ever: all steps pass.

     spin -a queue.pml && cc -O2 -DSAFETY -o pan pan.c && ./pan -m100000
     spin -a -DMUTATE_TAIL_RELAXED queue.pml && ...      with one thing done wrong: an error is found,
     spin -k queue.pml.trail -p queue.pml                and this shows what leads to it

   check_model.sh does this, and ctest that. memory.pml says how memory behaves. Protocol and size of every step are
   chosen freely by whichever end comes to it first; the other end knows. The model is finite, so that all steps pass
   is spin's check that both processes have ended wherever nothing more can happen. */

#ifndef STEPS
#define STEPS 5
#endif
#ifndef DEPTH
#define DEPTH 2 /* slots; really 8 */
#endif
#ifndef WORDS
#define WORDS 2 /* of payload in a step at most: 8-byte words of LL, lines of LL128; at least 1 */
#endif

/* The kinds of steps there are, ORed. */
#define SIMPLE 1
#define SHARE 2 /* Simple, by reference */
#define LL 4
#define LL128 8
#ifndef KINDS
#define KINDS 15
#endif

/* The LL words are cleared every EPOCH steps, slot by slot, and LL flags come again after FLAGS (really 2^31 and 2^32). */
#ifndef EPOCH
#define EPOCH 100
#endif
#ifdef MUTATE_EPOCH_TOO_LONG
#define FLAGS EPOCH
#else
#define FLAGS (2 * EPOCH)
#endif

/* -------------------------------------------------------------------------------------------- what can be done wrong */

#ifdef MUTATE_TAIL_RELAXED
#define TAIL_TELLS false
#else
#define TAIL_TELLS true
#endif

#ifdef MUTATE_HEAD_RELAXED
#define HEAD_TELLS false
#else
#define HEAD_TELLS true
#endif

#ifdef MUTATE_LL128_FLAG_RELAXED
#define FLAG_TELLS false
#else
#define FLAG_TELLS true
#endif

#ifdef MUTATE_CREDIT_OFF_BY_ONE
#define CREDIT(s, head) ((head) + DEPTH + 1 > (s))
#else
#define CREDIT(s, head) ((head) + DEPTH > (s))
#endif

#ifdef MUTATE_LL_SAME_FLAG
#define LL_FLAG(s) (SLOT(s) + 1)
#else
#define LL_FLAG(s) (((s) + 1) % FLAGS)
#endif

#ifdef MUTATE_ONE_NOTE
#define NOTE(s) 0
#else
#define NOTE(s) SLOT(s)
#endif

#ifdef MUTATE_EMPTY_WITHOUT_WORD
#define FLAGGED(size) (size)
#else
#define FLAGGED(size) ((size) == 0 -> 1 : (size))
#endif

/* ------------------------------------------------------------------------------------------------------- the memory */

#define SLOT(s) ((s) % DEPTH)
#define AT(s, w) (SLOT(s) * WORDS + (w))
#define PLACES (DEPTH * WORDS)

/* The flag of a step, and the one in a value: a word cleared for a step has that of the step before it. */
#define FLAG_OF(kind, s) (kind == LL -> LL_FLAG(s) : (s) + 1)
#define FLAG_IN(kind, moment) \
  ((moment) == 0 -> 0 : (PART_OF(moment) == 0 -> STEP_OF(moment) % FLAGS : FLAG_OF(kind, STEP_OF(moment))))

#include "memory.pml"

byte head;               /* its history is 0, 1, ... head */
byte headSeen;           /* by the writer */
bit tail[STEPS + DEPTH]; /* its history: [s] is set if s + 1 was stored there */
#define TAIL_RAISED(s) MOMENT(s, WORDS + 1)
Plain note[DEPTH];
Plain slot[PLACES];
Plain user[WORDS];    /* what is sent by reference lies here */
Atomic word[PLACES];  /* LL: payload and flag in one */
Plain line[PLACES];   /* LL128: the payload */
Atomic flag[PLACES];  /* LL128 */

inline forgetLoads() {
  p = 0;
  do
  :: p < PLACES ->
    forgetLoad(slot[p]);
    forgetLoad(word[p]);
    forgetLoad(line[p]);
    forgetLoad(flag[p]);
    p++
  :: else -> break
  od;
  p = 0;
  do
  :: p < DEPTH -> forgetLoad(note[p]); p++
  :: else -> break
  od;
  p = 0;
  do
  :: p < WORDS -> forgetLoad(user[p]); p++
  :: else -> break
  od;
  p = 0
}

/* --------------------------------------------------------------------------------------------------------- the plan */

/* Of every step, as both ends know it: kind * 4 + size + 1; 0: not chosen yet. */
byte plan[STEPS];
byte userAt[STEPS]; /* the moment of what the step shares by reference */
byte written, read; /* steps that the ends are through with; only for dropping plans */
byte begun;         /* steps that the writer has begun */
#define KIND(s) ((plan[s] - 1) / 4)
#define SIZE(s) ((plan[s] - 1) % 4)

inline choose(s) {
  if
  :: plan[s] -> skip
  :: else ->
    if
    :: KINDS & SIMPLE -> plan[s] = SIMPLE * 4 + 1
    :: KINDS & SHARE -> plan[s] = SHARE * 4 + 1
    :: KINDS & LL -> plan[s] = LL * 4 + 1
    :: KINDS & LL128 -> plan[s] = LL128 * 4 + 1
    fi;
    do
    :: SIZE(s) < WORDS && KIND(s) != SHARE -> plan[s]++
    :: break
    od
  fi
}

inline dropPlan(s) {
  plan[s] = 0;
  userAt[s] = 0;
  tail[s] = 0
}

/* ------------------------------------------------------------------------------------------------------- the writer */

/* Loads head until `enough`. */
inline loadHead(enough) {
  do
  :: atomic {
      headSeen < head || enough;
      do
      :: headSeen < head -> headSeen++
      :: break
      od;
      if
      :: HEAD_TELLS && headSeen > writerKnows -> writerKnows = headSeen; forgetLoads()
      :: else
      fi;
      if
      :: enough -> break
      :: else
      fi
    }
  od
}

inline clearWords(s) {
  do
  :: w < WORDS -> storeAtomic(word[AT(s, w)], MOMENT(s, 0)); w++
  :: else -> break
  od;
  w = 0
}

inline raiseTail(s) {
#ifdef MUTATE_NOTE_LATE
  tail[s] = 1;
  storePlain(note[NOTE(s)], TAIL_RAISED(s) + 1)
#else
  storePlain(note[NOTE(s)], MOMENT(s, 1));
  tail[s] = 1
#endif
}

inline writeSimple(s) {
  do
  :: w < SIZE(s) -> storePlain(slot[AT(s, w)], MOMENT(s, 1)); w++
  :: else -> break
  od;
  w = 0;
  raiseTail(s)
}

inline changeUserMemory(s) {
  do
  :: w < WORDS -> storePlain(user[w], MOMENT(s, 1)); w++
  :: else -> break
  od;
  w = 0;
  userNow = MOMENT(s, 1)
}

inline writeWords(s) {
  do
  :: w < FLAGGED(SIZE(s)) -> atomic { storeAtomic(word[AT(s, w)], MOMENT(s, 1)); w++ }
  :: else -> break
  od
}

/* A line's flag is stored at MOMENT(s, w + 1). */
inline writeLines(s) {
  do
  :: w < FLAGGED(SIZE(s)) ->
#ifdef MUTATE_LL128_FLAG_FIRST
    atomic { storeAtomic(flag[AT(s, w)], MOMENT(s, w + 1)); storePlain(line[AT(s, w)], MOMENT(s, w + 2)); w++ }
#else
    atomic { storePlain(line[AT(s, w)], MOMENT(s, w + 1)); storeAtomic(flag[AT(s, w)], MOMENT(s, w + 1)); w++ }
#endif
  :: else -> break
  od
}

active proctype Writer() {
  byte s, w, p;
  byte shared;  /* 1 + the last step that was sent by reference */
  byte userNow; /* the moment at which the user's memory was last changed */

  do
  :: s < STEPS ->
    atomic { choose(s) }
    if
    :: s >= EPOCH && s % EPOCH < DEPTH ->
#ifdef MUTATE_CLEAR_EARLY
      atomic { clearWords(s) };
#endif
      loadHead(CREDIT(s, headSeen));
#if !defined(MUTATE_NEVER_CLEARED) && !defined(MUTATE_CLEAR_EARLY)
      atomic { clearWords(s) }
#endif
    :: else -> loadHead(CREDIT(s, headSeen))
    fi;
    begun = s + 1;
    if
    :: KIND(s) == SIMPLE -> atomic { writeSimple(s) }
    :: KIND(s) == SHARE ->
      if
      :: userNow -> skip /* the same as before, once more */
      :: true ->         /* something new, in the same memory */
#ifndef MUTATE_NOT_DRAINED
        loadHead(headSeen >= shared);
#endif
        atomic { changeUserMemory(s) }
      fi;
      atomic { userAt[s] = userNow; shared = s + 1; raiseTail(s) }
    :: KIND(s) == LL -> writeWords(s)
    :: KIND(s) == LL128 -> writeLines(s)
    fi;
    atomic {
      w = 0;
      s++;
      written = s;
      if
      :: read >= s -> dropPlan(s - 1)
      :: else
      fi
    }
  :: else -> break
  od
}

/* ------------------------------------------------------------------------------------------------------- the reader */

/* Waits for a value of tail above s. The writer is not further ahead than the queue is deep. */
inline loadTail(s) {
  if
  :: tail[s] -> got = TAIL_RAISED(s)
  :: tail[s + 1] -> got = TAIL_RAISED(s + 1)
  fi;
  if
  :: TAIL_TELLS -> learnMoment(got)
  :: else
  fi;
  got = 0
}

inline readSimple(s) {
  loadTail(s);
  loadPlain(note[NOTE(s)], MOMENT(s, 1), s);
  do
  :: w < SIZE(s) -> loadPlain(slot[AT(s, w)], MOMENT(s, 1), s); w++
  :: else -> break
  od
}

inline readShared(s) {
  loadTail(s);
  loadPlain(note[NOTE(s)], MOMENT(s, 1), s);
  do
  :: w < WORDS -> loadPlain(user[w], userAt[s], s); w++
  :: else -> break
  od
}

inline readWord(s) {
  loadAtomic(word[AT(s, w)], LL, s, got);
  assert(got == MOMENT(s, 1)); /* the right payload */
  got = 0
}

inline readLine(s) {
  loadAtomic(flag[AT(s, w)], LL128, s, got);
  if
  :: FLAG_TELLS -> learnMoment(got)
  :: else
  fi;
  got = 0;
  loadPlain(line[AT(s, w)], MOMENT(s, w + 1), s)
}

active proctype Reader() {
  byte s, w, got, i, j;

  do
  :: s < STEPS ->
    atomic { choose(s) }
#ifdef MUTATE_HEAD_TOO_EARLY
    head = s + 1;
#endif
    if
    :: KIND(s) == SIMPLE -> atomic { readSimple(s) }
    :: KIND(s) == SHARE -> atomic { readShared(s) }
    :: KIND(s) == LL ->
      do
      :: w < FLAGGED(SIZE(s)) -> atomic { readWord(s); w++ }
      :: else -> break
      od
    :: KIND(s) == LL128 ->
      do
      :: w < FLAGGED(SIZE(s)) -> atomic { readLine(s); w++ }
      :: else -> break
      od
    fi;
    atomic {
      w = 0;
      s++;
      assert(s <= begun);
      head = s;
      read = s;
      if
      :: written >= s -> dropPlan(s - 1)
      :: else
      fi
    }
  :: else -> break
  od
}
