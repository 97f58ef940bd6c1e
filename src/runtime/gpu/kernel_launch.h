#pragma once
// One launch of the kernel: a table of lanes of works (work.h), which goes to the GPU with the launch if it is small, and which the blocks
// read in pinned memory of the host if not; and the reports of its blocks. A table in which lanes wait for each other, or with orders of many
// ranks, is copied to the GPU before the launch.
//
//   launch.clear();
//   const int lane = launch.newLane();
//   launch.add(lane, request, peersOfTheWork...);
//   launch.layOut(Use::kOnce);
//   launch.start(stream, {});
//   while (!launch.isOver()) ...;
//
// The memory is kept for the next launch.

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "core/kinds.h"
#include "runtime/gpu/ended_blocks.h"
#include "runtime/gpu/gpu_context.h"
#include "runtime/gpu/work.h"
#include "runtime/transport/queue/pump.h"

namespace xylem::gpu {

// A function of the host that the driver calls.
struct HostCall {
  void (*function)(void* data) = nullptr;
  void* data = nullptr;
};

// Works of a launch that were added one after the other.
struct WorkRange {
  std::size_t first = 0, count = 0;
};

// When the first of some works began, and when the last one was done, in nanoseconds of the GPU's clock; 0: not yet.
struct WorkTimes {
  std::uint64_t began = 0, ended = 0;
};

// Memory for the tables and reports of launches, taken at once.
class LaunchMemory {
 public:
  LaunchMemory(const GpuContext& gpu, std::size_t launches);
  struct Part {
    std::span<std::byte> host, device, reports;
  };
  // For launch number `i`.
  Part part(std::size_t i) const;

 private:
  GpuMemory host_, device_;
};

class KernelLaunch {
 public:
  // `abort`: the communicator's word, in pinned memory. `ended`: its count of blocks. `memory`: taken in advance, for as long as the launch
  // lives; more is taken when it is needed.
  KernelLaunch(const GpuContext& gpu, std::uint32_t* abort, EndedBlocks& ended,
               const LaunchMemory::Part& memory = {});
  ~KernelLaunch() { ended_.await(); }
  KernelLaunch(const KernelLaunch&) = delete;
  KernelLaunch& operator=(const KernelLaunch&) = delete;

  void clear();
  int newLane();
  int lanes() const { return static_cast<int>(usedLanes_); }
  std::size_t works() const { return functions_.size(); }
  std::uint64_t worksOf(int lane) const { return lanes_[static_cast<std::size_t>(lane)].size(); }
  // The ends and the order of ranks are copied when the launch starts. The work waits until lane `other` (negative: none) has passed
  // `passed` works. `function`: the operation, for messages.
  void add(int lane, const WorkRequest& request, std::size_t scratchBytes, Function function, int other = -1,
           std::uint64_t passed = 0);

  // For a queue over a network that the works use: the caller pumps again and again while they run, and once afterwards. The
  // pump must outlive the launch. `reduces`: the network is one that reduces.
  void addPump(transport::Pump& pump, bool reduces = false);
  bool hasPumps() const { return !pumps_.empty(); }
  // Carries on what the blocks have written, and what arrives for them. Returns whether anything moved.
  bool pump() noexcept;
  // Throws Error if a network that reduces will never move anything again. That is no error before a block waits for it.
  void requireReducingNetworks() const;

  // Writes the table of all that was added. This may take memory, and to take memory of a GPU may wait for its kernels, which may wait for
  // the other ranks of this thread: so all of them do this before the first one starts.
  enum class Use { kOnce, kInGraph };
  void layOut(Use use);
  // Puts the kernel, and a copy if it needs one, into the stream, after what is in `others`, and lets these wait for it. Other streams can wait
  // by the count of ended blocks.
  void start(void* stream, const std::vector<void*>& others);
  // The same into a graph, where other streams wait with hold(). `before`: a call before the kernel.
  void capture(void* stream, const std::vector<void*>& others, const HostCall& before);
  void hold(void* stream) { done_.hold(stream); }

  // Whether all blocks have reported their ends, and will read nothing more of the table. Ends all blocks if one has failed. It does not ask
  // the driver, as each question holds up the threads that launch; requireHealth(), called now and then, throws if the GPU has
  // failed.
  bool isOver();
  void requireHealth() { health_.isOver(); }
  // For a replay of a launch in a graph: before its kernel. Blocks also begin their reports anew themselves.
  void beginReplay();
  // The works are timed. `over`: nothing runs any more, so works that have begun have ended.
  WorkTimes timesOf(const WorkRange& works, bool over) const;
  // Ends the blocks that wait.
  void giveUp() { __atomic_store_n(abort_, 1u, __ATOMIC_RELEASE); }
  // The error that a block has found, in this replay or in one before.
  std::optional<Error> failure() const;
  // Calls `note(peer, function)` for each work that has waited for long.
  template <typename Note>
  void eachWait(Note&& note) const {
    for (std::size_t i = 0; i < functions_.size(); ++i) {
      const std::uint32_t waits = __atomic_load_n(&reports()[i].waitsFor, __ATOMIC_RELAXED);
      if (waits != 0 && outcomeOf(i) == Outcome::kRunning) note(static_cast<int>(waits) - 1, functions_[i]);
    }
  }

 private:
  struct Entry {
    Work work;
    std::size_t fromEnds = 0, toEnds = 0, ranks = 0;  // how many; the work has their addresses
    std::size_t scratchBytes = 0;
    std::size_t report = 0;
    int other = -1;
    std::size_t behindWork() const;  // bytes in the table
  };
  // The lanes from begin to end, which are kept for later launches.
  std::span<const std::vector<Entry>> used() const { return {lanes_.data(), usedLanes_}; }
  Report* reports() const { return reinterpret_cast<Report*>(reports_.used.data()); }
  static Outcome load(const Outcome& outcome) {
    return static_cast<Outcome>(
        __atomic_load_n(reinterpret_cast<const std::uint32_t*>(&outcome), __ATOMIC_ACQUIRE));
  }
  Outcome outcomeOf(std::size_t report) const { return load(reports()[report].outcome); }
  Outcome failureOf(std::size_t report) const { return load(reports()[report].failure); }
  void giveUpIfWrong();
  // Memory in advance is used as far as it suffices, then memory of the launch's own.
  struct Memory {
    std::span<std::byte> used;
    GpuMemory own;
  };
  void reserve(Memory& memory, GpuMemory::Where where, std::size_t bytes, std::string_view what);
  std::size_t tableBytes();
  void put(void* stream, const std::vector<void*>& others, const HostCall& before);
  // Whether the table is copied to the GPU.
  bool isCopied() const { return anyWaits_ || anyLongOrder_; }

  const GpuContext& gpu_;
  std::uint32_t* const abort_;
  EndedBlocks& ended_;
  std::vector<std::vector<Entry>> lanes_;
  std::size_t usedLanes_ = 0;
  std::size_t recordBytes_ = 0;
  bool anyWaits_ = false;            // for another lane
  bool anyLongOrder_ = false;        // that does not fit into a block's memory
  std::vector<Function> functions_;  // by report
  std::vector<transport::Pump*> pumps_, reducing_;
  std::vector<std::unique_ptr<GpuEvent>> fences_;
  GpuEvent done_;
  // Never recorded: asking for it fails if the GPU has failed. The driver refuses questions about events of graphs.
  GpuEvent health_;
  Use use_ = Use::kOnce;   // of the table that was laid out
  std::size_t bytes_ = 0;  // the same
  bool isInline_ = false;  // it is in `inline_`, and not in `host_`
  InlineTable inline_;
  Memory host_, device_, scratch_, reports_;
  // Memory that was too small. Giving it back would wait for all kernels of the GPU.
  std::vector<GpuMemory> outgrown_;
};

}  // namespace xylem::gpu
