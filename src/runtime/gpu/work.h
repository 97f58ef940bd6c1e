#pragma once
// The work of a block of a kernel: one program of an operation on one channel, with its buffers and its ends of queues; and a
// lane, which is the works of one block, in order. The queues are those of the host device (transport/queue/queue.h), with the same layout and the same steps, so the other end may be
// a block or a host.
//
//   QueueEnd from = endOf(queue, protocol, peer, &step);        // `step` lives as long as the connection
//   const Work work = workOf({.program = kind, .shape = shape, ..., .from = {&from, 1}, .to = {&to, 1}});
//   runBlock(machine, block, work);                             // in every thread of a block (kernel.h)
//
// Everything that a Work points to lies in memory that the GPU reaches.

#include <cstddef>
#include <cstdint>
#include <span>

#include "core/data_type.h"
#include "core/kinds.h"
#include "core/shared_code.h"
#include "runtime/collectives/algorithm.h"
#include "runtime/collectives/reduction.h"
#include "runtime/transport/queue/queue.h"

namespace xylem::gpu {

// The most queues that an instruction receives from, and the most that it sends to: a tree has three children.
constexpr int kMaxFan = 3;
// The queues of a program in one direction.
constexpr int kMaxQueues = 32;
// An order of ranks up to this length is taken into the memory of a block: every instruction of a ring reads it.
constexpr int kMostInOrder = 256;
// The rank at the other end of no queue; a network has a negative number, too.
constexpr int kNoPeer = -1;

// One end of a queue under one protocol. Counters are plain integers here, as kernels have their own atomic accesses.
struct QueueEnd {
  std::uint64_t* tail = nullptr;
  std::uint64_t* head = nullptr;
  transport::StepNote* notes = nullptr;
  std::byte* slots = nullptr;  // of the protocol
  std::size_t slotBytes = 0;   // from one slot to the next
  std::size_t stepBytes = 0;   // payload
  // The slots of LL, whose words have to be cleared now and then (low_latency.h), and the words of each.
  std::byte* llSlots = nullptr;
  std::size_t llSlotWords = 0;
  std::uint64_t* step = nullptr;  // the end's next step: read when a work begins, written when it is done
  int peer = kNoPeer;
  // Leads to a network that reduces: the notes of its steps say what that does with them (Work::label).
  bool reduces = false;
  // The reader reaches the writer's buffers: a step may say where its data lies there (StepNote::kAddress).
  bool references = false;
  // The writer reaches the reader's buffers, and the reader may offer its output (transport::OutputOffer: the step, and behind it the
  // address and the bytes); null: neither.
  std::uint64_t* offer = nullptr;

  explicit constexpr operator bool() const { return tail != nullptr; }
};

enum class Outcome : std::uint32_t {
  kRunning,
  kDone,
  kAborted,      // the abort word was set
  kMismatch,     // a peer sent a step of another size: the ranks called different operations
  kUnreachable,  // a peer sent a step by reference, which only a host can read
};

// A block tells the host this.
struct Report {
  Outcome outcome = Outcome::kRunning;
  std::uint32_t waitsFor = 0;  // 1 + the peer that the block has been waiting for for long; 0: it goes on
  std::uint32_t peer = 0;      // of a step that did not fit, with the sizes of the step in bytes
  std::uint32_t sentBytes = 0;
  std::uint64_t expectedBytes = 0;
  // kMismatch or kUnreachable once a block has found that. A replay does not take it back, as the queues cannot be used again.
  alignas(8) Outcome failure = Outcome::kRunning;
  // If the work is timed: in nanoseconds of the GPU's clock; 0: not yet.
  std::uint64_t began = 0;
  std::uint64_t ended = 0;  // there before `outcome`
};

struct Work {
  collectives::ProgramKind program = collectives::ProgramKind::kCopyMessage;
  Protocol protocol = Protocol::kSimple;
  DataType type = DataType::kInt8;
  std::uint8_t op = 0;  // a ReduceOp, or kPreMulSum
  bool scales = false;  // raw elements are scaled on their way in
  bool refers = false;  // data that lies in the buffers is not copied into slots, and the peers read it there
  bool isPumped = false;  // a thread of the host looks at the queues as soon as the report has an outcome
  bool timed = false;     // the report says when the work began and ended
  std::uint8_t elementBytes = 1;
  collectives::QueueMask fromQueues = 0;  // the queues that exist
  collectives::QueueMask toQueues = 0;
  bool places = false;                // results go into the outputs that peers offer
  collectives::QueueMask offers = 0;  // the queues whose writers may put results into the output
  std::uint64_t outputBytes = 0;      // of the output, as far as such results go
  std::size_t slice = 0;              // elements of a step
  std::uint64_t length = 0;           // instructions
  std::uint64_t label = 0;            // for a network that reduces (transport/collnet/coll_connection.h)
  collectives::Shape shape;           // with `order` in memory of the GPU
  collectives::Factor factor;
  const std::byte* input = nullptr;
  std::byte* output = nullptr;
  std::byte* scratch = nullptr;
  const QueueEnd* from = nullptr;  // by the bits of instructions
  const QueueEnd* to = nullptr;
  const std::uint32_t* abort = nullptr;  // not 0: give up
  Report* report = nullptr;
  // The factor of a scaled sum, if it is read when the work begins.
  const std::byte* scalar = nullptr;
  // The work begins when another lane has passed this many works; null: at once.
  const std::uint64_t* awaits = nullptr;
  std::uint64_t awaited = 0;
};

// The works that a block executes, one after the other.
struct Lane {
  std::uint64_t count = 0;
  const Work* others = nullptr;     // all but the first
  std::uint64_t* passed = nullptr;  // 0 at first: how many are done; null: no lane waits for that
  // One more when the lane has ended, and the block has read and written all it will; null: there is no such count.
  std::uint32_t* ended = nullptr;
  Work first;
};

// Lanes travel to the GPU in one piece of memory, a table. It begins with a record of the same length for each lane, which has the Lane and
// behind it, as far as there is space, its first work's ends of queues and order of ranks: the block takes all that at once, as each look
// at memory of the host takes a microsecond or two. The rest follows. Addresses count from the table's begin.
constexpr std::size_t kMostRecordBytes = 1024;
// A small table comes with the launch, as parameters of the kernel. More of them would make every launch longer.
struct InlineTable {
  alignas(16) std::byte bytes[1024];
};

// A table, with a copy of one of its records.
struct TableView {
  std::uintptr_t begin = 0;
  std::uintptr_t record = 0;  // its place
  std::size_t bytes = 0;      // of the record
  const std::byte* copy = nullptr;

  template <typename T>
  XYLEM_SHARED T* at(T* place) const {
    const auto offset = reinterpret_cast<std::uintptr_t>(place);
    if (offset - record < bytes)
      return reinterpret_cast<T*>(const_cast<std::byte*>(copy) + (offset - record));
    return reinterpret_cast<T*>(begin + offset);
  }
};

// The end of `queue` under `protocol`.
QueueEnd endOf(const transport::QueueMemory& queue, Protocol protocol, int peer, std::uint64_t* step);
// The same for a work that moves its data as under Simple, in steps of `protocol`: what a network carries has neither words nor
// lines with flags.
QueueEnd endInSlots(const transport::QueueMemory& queue, Protocol protocol, int peer, std::uint64_t* step);

struct WorkRequest {
  collectives::ProgramKind program = collectives::ProgramKind::kCopyMessage;
  collectives::Shape shape;
  const std::byte* input = nullptr;
  std::byte* output = nullptr;
  std::byte* scratch = nullptr;
  DataType type = DataType::kInt8;
  int op = 0;                        // a ReduceOp, or kPreMulSum
  collectives::Reduction reduction;  // of the host, for the same type and operation: its factor
  Protocol protocol = Protocol::kSimple;
  std::size_t mostBytes = SIZE_MAX;  // as in collectives::ProgramWork
  std::span<const QueueEnd> from;    // by the bits of instructions
  std::span<const QueueEnd> to;
  const std::uint32_t* abort = nullptr;
  Report* report = nullptr;
  const std::byte* scalar = nullptr;
  std::uint64_t label = 0;
  // As in Work, where the queues allow it; `offers`: peers may write into the output.
  bool refers = false, places = false, offers = false;
  bool isPumped = false;  // as in Work
  bool timed = false;     // as in Work
};
// Throws Error (ncclInvalidArgument) if a buffer is not aligned to its elements: a GPU cannot read such elements.
Work workOf(const WorkRequest& request);

}  // namespace xylem::gpu
