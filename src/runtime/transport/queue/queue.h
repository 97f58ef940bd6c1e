#pragma once
// A queue of steps between one writer and one reader, in memory that both can reach: of one process, or
// shared by two. Lock-free; eight steps deep. A step carries a payload under one of NCCL's three protocols,
// and both ends know from the same arithmetic which protocol and how many bytes come next:
//
//   Simple   the payload lies in a slot, or the writer only notes where it lies (see StepNote); `tail` says
//            that it is there
//   LL       8-byte words, each 4 bytes of payload and a 4-byte flag: a word is valid by itself
//   LL128    lines of 128 bytes: 120 bytes of payload and an 8-byte flag, stored last
//
// A writer that gives up while a reader may be in its memory sets `withdrawn` and waits until `reading` is
// not set; a reader sets `reading` before it looks at `withdrawn`. One of them sees the other.
//
// Steps are counted from 0 for ever, over all protocols. Step s uses slot s % 8 of its protocol; its flag is
// derived from s, so that what an earlier step left there is never taken for it. `head` counts the steps that
// the reader is through with, under every protocol: the writer may use a slot again when head > s - 8.
// Over the network all payload lies in the Simple slots, whatever the protocol, and a Pump carries it on.
//
// This file is the memory; send_end.h and recv_end.h are the two ends.

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "core/kinds.h"

namespace xylem {

// Steps in flight (NCCL_STEPS).
constexpr std::uint64_t kQueueSteps = 8;
// Two cache lines: processors fetch them in pairs.
constexpr std::size_t kCounterBytes = 128;

// Where the payload of a Simple step lies.
struct StepNote {
  // 0: in the step's slot, and `address` is the pump's (SendEnd::label). 1: at `address` in the writer's
  // address space. Others: at offset `address` of the memory that the writer registered under this number.
  std::uint32_t region = 0;
  std::uint32_t bytes = 0;
  std::uint64_t address = 0;
};
static_assert(sizeof(StepNote) == 16);

struct QueueControl {
  alignas(kCounterBytes) std::atomic<std::uint64_t> tail;  // 1 + the last Simple step written; the writer's
  // Beside the tail, so that they come with it: the writer's, too.
  StepNote notes[kQueueSteps];
  // 1 once the writer has given up: its memory, to which notes point, is no longer for the reader.
  std::atomic<std::uint32_t> withdrawn;
  alignas(kCounterBytes) std::atomic<std::uint64_t> head;  // steps read; the reader's
  // 1 while the reader is in that memory; the reader's, too. Apart, as only a writer that gives up looks.
  alignas(kCounterBytes) std::atomic<std::uint32_t> reading;
};

// What one step can refer to at most, of a message that its reader can reach: a note counts in 32 bits.
constexpr std::size_t kMostPieceBytes = std::size_t{1} << 30;

// Payload bytes of one step by protocol.
using StepBytes = ByProtocol<std::size_t>;

// The steps' sizes for a buffer of `bufferBytes` (NCCL_BUFFSIZE): small enough that a step stays in a core's
// cache between being written and being read.
StepBytes stepBytesFor(std::size_t bufferBytes);
// The same for queues over a network, where Simple steps, that a send and its receive may fill, are longer:
// they cost system calls and a packet of odd length.
StepBytes netStepBytesFor(std::size_t bufferBytes);

// What a slot takes in words and in lines.
std::size_t llSlotBytes(const StepBytes& stepBytes);
std::size_t ll128SlotBytes(const StepBytes& stepBytes);

// Where one queue lies in memory, all in one piece that starts at a page.
struct QueueMemory {
  QueueControl* control = nullptr;
  std::byte* simple = nullptr;  // kQueueSteps slots of stepBytes[kSimple]
  std::byte* ll = nullptr;      // the same in words: twice the bytes
  std::byte* ll128 = nullptr;   // the same in lines
  StepBytes stepBytes{};
};
std::size_t queueBytes(const StepBytes& stepBytes);
// `memory`: queueBytes, zeroed by whoever made it.
QueueMemory queueIn(std::byte* memory, const StepBytes& stepBytes);

// Gives all LL words the flag of the step before `epochStart` (see ll_words.h).
void clearLl(const QueueMemory& queue, std::uint64_t epochStart);
// For tests: makes a queue without ends one that has carried `step` steps.
void startAt(const QueueMemory& queue, std::uint64_t step);

}  // namespace xylem
