#pragma once
// Executes a program over the queues of a channel, as far as it goes without waiting. This is how the host
// device executes collectives.
//
//   ProgramExecutor executor;
//   executor.start({program, shape, buffers, from, to, reduction, protocol});
//   while (executor.step() != Progress::kDone) backoff.pause();
//
// Each instruction is cut into slices of one step. A slice either happens on all its queues, or, if one of
// them is empty or full, not at all. Both ends of a queue cut alike: the cuts depend only on the protocol,
// the data type, the lengths of steps, which are the same on all queues of a communicator, and the
// instruction's length.
//
// Data in the input or the output is sent by reference if the queue can do that; the work is done once all of
// it has been read. A chunk (Shape::chunk) must not be longer than stepsPerChunk() slices.

#include <array>
#include <limits>
#include <span>

#include "runtime/collectives/algorithm.h"
#include "runtime/collectives/reduction.h"
#include "runtime/collectives/slices.h"
#include "runtime/device/task.h"
#include "runtime/transport/queue/recv_end.h"
#include "runtime/transport/queue/send_end.h"

namespace xylem::collectives {

struct ProgramBuffers {
  const std::byte* input = nullptr;
  std::byte* output = nullptr;  // may equal `input` if the collective allows it
  std::byte* scratch = nullptr;
};

// A program with its buffers and queues.
struct ProgramWork {
  Program program;
  Shape shape;
  ProgramBuffers buffers;
  // By the bits of instructions; null where no instruction names the queue. They outlive the work.
  std::span<transport::RecvEnd* const> from;
  std::span<transport::SendEnd* const> to;
  Reduction reduction;
  Protocol protocol = Protocol::kSimple;
  // The most bytes that a step carries, even if this rank's queues take more: all ranks must cut alike.
  std::size_t mostBytes = std::numeric_limits<std::size_t>::max();
  // Tells a network that reduces what to do with what is sent to it (SendEnd::label); 0 for nothing.
  std::uint64_t label = 0;
};

// The number of steps that a work takes from each of its queues and gives to each.
struct ProgramSteps {
  std::array<int, std::numeric_limits<QueueMask>::digits> from{}, to{};
};
ProgramSteps countSteps(const ProgramWork& work);

class ProgramExecutor {
 public:
  void start(const ProgramWork& work);
  // kDone: every instruction has been executed, and no receiver reads from our buffers any more.
  device::Progress step();
  // After kWouldBlock: the rank that has to act first.
  int waitsFor() const { return waitsFor_; }

 private:
  device::Progress goOn();
  void endRead();
  bool next();
  bool slice(std::size_t n);
  bool give(std::size_t n);
  bool pass(std::size_t n);
  bool reduce(std::size_t n);
  void combine(std::byte* out, std::span<const std::byte* const> incoming, const std::byte* own,
               std::size_t n) const;
  void combineOne(const Combination& c, std::byte* result, const std::byte* incoming, const std::byte* own,
                  std::size_t n) const;

  std::byte* reserve();
  void send(const Place& place, const std::byte* data, std::size_t bytes);
  void sendReserved(std::byte* slot, std::size_t bytes);
  bool drained();
  bool blockedBy(int peer);

  const std::byte* own() const;
  std::byte* out() const;
  bool isRaw() const { return now_.own.buffer == Buffer::kInput; }

  ProgramWork work_;
  std::size_t slice_ = 0;  // elements
  std::uint64_t index_ = 0;
  std::uint64_t length_ = 0;
  bool open_ = false;  // `now_` is not done
  Instruction now_;
  std::size_t done_ = 0;  // elements of `now_`
  QueueMask shared_ = 0;  // queues that may still read from our buffers
  int waitsFor_ = -1;
};

}  // namespace xylem::collectives
