#pragma once
// Executes a program over the queues of a channel, as far as it goes without waiting: the host device's way.
//
//   Lane lane;
//   lane.start({program, shape, buffers, from, to, reduction, protocol});
//   while (lane.step() != Progress::kDone) ...
//
// Each instruction is cut into slices of one step. A slice either happens on all its queues, or, if one of
// them is empty or full, not at all. Both ends of a queue cut alike: the cuts depend only on the protocol,
// the data type, the lengths of steps, which are the same on all queues of a communicator, and the
// instruction's length.
//
// What lies in the input or the output is sent by reference where the queue can do that; the lane is done
// once all of it has been read. A chunk (Shape::chunk) must not be longer than kStepsPerChunk slices.

#include <array>
#include <limits>
#include <span>

#include "runtime/collectives/algorithm.h"
#include "runtime/collectives/reduction.h"
#include "runtime/device/task.h"
#include "runtime/transport/queue/recv_end.h"
#include "runtime/transport/queue/send_end.h"

namespace xylem {

struct LaneBuffers {
  const std::byte* input = nullptr;
  std::byte* output = nullptr;  // may equal `input` where the collective allows it
  std::byte* scratch = nullptr;
};

struct LaneWork {
  Program program;
  Shape shape;
  LaneBuffers buffers;
  // By the bits of instructions; those that no instruction names may be null. They outlive the work.
  std::span<RecvEnd* const> from;
  std::span<SendEnd* const> to;
  Reduction reduction;
  Protocol protocol = Protocol::kSimple;
  // What a step carries at most, even where the queues take more: all ranks must cut alike.
  std::size_t mostBytes = std::numeric_limits<std::size_t>::max();
  // For the pumps of the queues `to` (SendEnd::label); 0: nothing.
  std::uint64_t label = 0;
};

// The steps that a work gives to each of its queues, and takes from them.
struct LaneSteps {
  std::array<int, std::numeric_limits<QueueMask>::digits> from{}, to{};
};
LaneSteps countSteps(const LaneWork& work);

class Lane {
 public:
  void start(const LaneWork& work);
  // kDone: every instruction has been executed, and nobody reads from our buffers any more.
  Progress step();
  // After kWouldBlock: the rank that has to act first.
  int waitsFor() const { return waitsFor_; }

 private:
  Progress goOn();
  void putDown();
  bool next();
  bool slice(std::size_t n);
  bool give(std::size_t n);
  bool pass(std::size_t n);
  bool reduce(std::size_t n);
  void combine(std::byte* out, std::span<const std::byte* const> incoming, const std::byte* own,
               std::size_t n) const;

  std::byte* room();
  void send(const Place& place, const std::byte* data, std::size_t bytes);
  void sendReserved(std::byte* slot, std::size_t bytes);
  bool drained();
  bool blockedBy(int peer);

  const std::byte* own() const;
  std::byte* out() const;
  bool isRaw() const { return now_.own.buffer == Buffer::kInput; }

  LaneWork work_;
  std::size_t slice_ = 0;  // elements
  std::uint64_t index_ = 0;
  std::uint64_t length_ = 0;
  bool open_ = false;  // there is a current instruction
  Instruction now_;
  std::size_t done_ = 0;  // elements of it
  QueueMask shared_ = 0;  // queues that may still read from our buffers
  int waitsFor_ = -1;
};

}  // namespace xylem
