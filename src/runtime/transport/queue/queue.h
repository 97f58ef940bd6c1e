#pragma once
// The memory of a queue: a FIFO of eight steps between one writer and one reader, without locks, in memory
// of one process or shared by two. send_end.h and recv_end.h are the two ends. A step carries a payload
// under one of NCCL's three protocols. The protocol and the size are not sent: both ends compute them from
// the operation.
//
//   Simple   the payload is in a slot, or a note says where it is in the writer's memory (StepNote); `tail`
//            counts the steps that the writer has published
//   LL       8-byte words, each with 4 bytes of payload and a 4-byte flag
//   LL128    lines of 128 bytes, each with 120 bytes of payload and an 8-byte flag
//
// Steps are numbered from 0, without end and over all protocols. Step s uses slot s % 8 of its protocol. Its
// flag is derived from s, so the reader never takes words of an earlier step for it. `head` counts the steps
// that the reader has finished under any protocol: the writer may use the slot of step s once head > s - 8.
//
// Over a network all payload is in the Simple slots, whatever the protocol, and a Pump (pump.h) carries it
// on.
//
// Lines that the reader has just read take long to write again while they are in the second-level caches (CopyChoices::cycle). So
// queues between host devices may have wide slots, of twice the largest payload of Simple or more: a payload of some KiB then lies in
// another place of its slot in each lap, which its note tells.
//
// A writer that gives up must know when the reader no longer reads its memory: it sets `withdrawn`, then
// waits until `reading` is 0. The reader sets `reading`, then checks `withdrawn`. All four accesses are
// sequentially consistent, so at least one of the two sees the other's store. In the same way the reader closes `claims`, then waits until
// `writing` is 0, and the writer sets `writing` before it claims a part of the payload to write into the reader's output.
//
//   QueueMemory queue = queueIn(memory, stepBytesFor(bufferBytes));   // memory: queueBytes(...) zeroed bytes
//   SendEnd writer(peer, queue);                                      // in one thread or process
//   RecvEnd reader(peer, queue);                                      // in another

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "core/kinds.h"
#include "runtime/transport/buffer_place.h"

namespace xylem::transport {

// Steps in flight (NCCL's NCCL_STEPS).
constexpr std::uint64_t kQueueSteps = 8;
// Two cache lines, as processors prefetch lines in pairs: counters of different writers do not share a pair.
constexpr std::size_t kCounterBytes = 128;

// Where the payload of a Simple step is.
struct StepNote {
  static constexpr std::uint32_t kAddress = 1;
  static constexpr std::uint32_t kPlaced = UINT32_MAX;

  // 0: in the step's slot, and `address` is a label for the pump (SendEnd::label) or, if the slot is wide, the offset in it. kAddress: at `address` in the
  // writer's address space. kPlaced: in the reader's output already (OutputOffer). Others: at offset `address` of the memory that the
  // writer registered under this number.
  std::uint32_t region = 0;
  std::uint32_t bytes = 0;
  std::uint64_t address = 0;
};
static_assert(sizeof(StepNote) == 16);

// Between GPUs of one host a queue may be in the memory of the reader's GPU instead (comm/issue/gpu_queues.h). Ranks agree on that
// here when they join or connect.
struct DeviceQueue {
  std::byte name[80];  // by which other processes reach it (gpu::MemoryName), with `offered`
  static constexpr std::uint64_t kNothing = 1;
  static constexpr std::uint32_t kAccepted = 1, kRefused = 2;
  std::atomic<std::uint64_t>
      offered;  // by the reader: its address in the reader's process, or kNothing; 0: not said yet
  std::atomic<std::uint32_t> accepted;  // by the writer, whether its GPU reaches it; 0: not said yet
  std::atomic<std::uint32_t> reads;  // by the reader, before `offered`: 1 if it reaches the writer's buffers
};

// By a kernel that reads: the writer may put results into its output, until the work of the kernel is done.
struct OutputOffer {
  std::atomic<std::uint64_t> step;  // 1 + the first step of the work that the offer is for; written last
  std::uint64_t output;             // the address of the work's output
  std::uint64_t bytes;              // of it, from there on
};

struct QueueControl {
  // Written by the writer:
  alignas(kCounterBytes) std::atomic<std::uint64_t> tail;  // 1 + the last Simple step published
  StepNote notes[kQueueSteps];                             // beside `tail`, so that one transfer brings both
  // 1 once the writer has given up: the reader must not begin to read the memory that notes refer to.
  std::atomic<std::uint32_t> withdrawn;
  // For payloads that both ends copy (copy_claims.h):
  std::atomic<std::uint32_t> helps;    // 1: the writer has time to copy a part
  std::atomic<std::uint32_t> writing;  // 1 while it writes into the reader's output
  std::atomic<std::uint64_t> written;  // units of all payloads that it has written, or could not write
  std::atomic<std::uint32_t> refused;  // 1: it could not write some of this payload; the reader sets it back
  // Written by the reader:
  alignas(kCounterBytes) std::atomic<std::uint64_t> head;  // steps finished
  // The sizes of messages that are to be read through the kernel, and more (PeerMemory::received). Beside `head`, which the writer loads
  // anyway.
  std::atomic<std::uint32_t> told;
  BufferPlace output;  // where the payload of this step goes, if the reader offers that in `claims`
  std::atomic<std::uint64_t> claims;  // written by both: what each end copies of a payload (copy_claims.h)
  // 1 while the reader reads the writer's memory. In a line of its own, as only a writer that gives up loads
  // it.
  alignas(kCounterBytes) std::atomic<std::uint32_t> reading;
  alignas(kCounterBytes) OutputOffer offer;
  DeviceQueue device;
  // By the writer: counts pieces of messages, for a reader that times how long the line takes to come (choices/core_distance.h). Far from the other
  // lines: processors fetch lines behind those that are loaded, and it would be there before it is loaded.
  alignas(2048) std::atomic<std::uint32_t> beat;
};

// The longest piece of a message that one note can refer to: its size has 32 bits.
constexpr std::size_t kMaxPieceBytes = std::size_t{1} << 30;

// Payload bytes of one step by protocol.
using StepBytes = ByProtocol<std::size_t>;

// The step sizes for a queue of `bufferBytes` (NCCL_BUFFSIZE), capped so that a step stays in a core's cache
// between being written and being read.
StepBytes stepBytesFor(std::size_t bufferBytes);
// The same for queues over a network. Simple steps may be longer there, because each step costs system calls
// and a partly filled packet.
StepBytes netStepBytesFor(std::size_t bufferBytes);
// The largest NCCL_BUFFSIZE whose steps have at most `stepBytes`; 0: there is none.
std::size_t bufferBytesWithin(std::size_t stepBytes);

// Wide slots need more memory, of which each step uses a part. Both ends have the same.
enum class Slots { kNarrow, kWide };

// The bytes of a slot in LL words and in LL128 lines.
std::size_t llSlotBytes(const StepBytes& stepBytes);
std::size_t ll128SlotBytes(const StepBytes& stepBytes);

// The addresses of the parts of one queue. The queue is one piece of memory that starts at a page, or its slots lie apart
// (net/device_memory.h).
struct QueueMemory {
  QueueControl* control = nullptr;
  std::size_t bytes = 0;        // of the piece of memory that starts with `control`
  std::byte* simple = nullptr;  // kQueueSteps slots of slotBytes
  std::byte* ll = nullptr;      // kQueueSteps slots in words: twice the payload's bytes
  std::byte* ll128 = nullptr;   // kQueueSteps slots in lines; both null if the slots lie apart
  StepBytes stepBytes{};
  std::size_t slotBytes =
      0;  // stepBytes[kSimple] or, if slots are wide, a power of two of at least twice as much

  bool isWide() const { return slotBytes > stepBytes[Protocol::kSimple]; }
};
std::size_t queueBytes(const StepBytes& stepBytes, Slots slots = Slots::kNarrow);
// `memory` has queueBytes() bytes; its maker has zeroed them.
QueueMemory queueIn(std::byte* memory, const StepBytes& stepBytes, Slots slots = Slots::kNarrow);
// The same for a queue that has only the slots of Simple, in other memory: `control` has controlBytes() bytes, `slots` slotBytes().
std::size_t controlBytes();
std::size_t slotBytes(const StepBytes& stepBytes);
QueueMemory queueApart(std::byte* control, std::byte* slots, const StepBytes& stepBytes);

// Clears the LL words of the slot of a step (see low_latency.h).
void clearLl(const QueueMemory& queue, std::uint64_t step);
// For tests: puts a queue that has no ends yet into the state after `step` steps.
void startAt(const QueueMemory& queue, std::uint64_t step);

}  // namespace xylem::transport
