#pragma once
// One rank of `xylem perf`: its communicator, stream and buffers, and the library's calls for each operation.
// Whoever drives it puts calls into groups where several ranks share a thread.
//
//   PerfRank rank(options, 3, device);
//   rank.join(id);
//   rank.prepare();
//   rank.use(c);
//   rank.fill(c, inPlace); rank.issue(c, inPlace, step); rank.synchronize(); rank.countWrong(c, inPlace);

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>

#include "cli/perf/options.h"
#include "cli/perf/reduction.h"
#include "nccl.h"

namespace xylem::cli {

// Throw Error with the library's own sentence.
void require(ncclResult_t result, ncclComm_t comm, const char* what);
void require(cudaError_t result, ncclComm_t comm, const char* what);

class PerfRank {
 public:
  PerfRank(const PerfOptions& options, int rank, int device)
      : options_(options), rank_(rank), device_(device) {}
  ~PerfRank();
  PerfRank(const PerfRank&) = delete;
  PerfRank& operator=(const PerfRank&) = delete;

  int rank() const { return rank_; }
  int device() const { return device_; }

  // Within a group, the communicator is there when the group has ended.
  void join(const ncclUniqueId& id);
  // Stream and buffers; the ranks' common buffer of `sharedBytes`, too.
  void prepare(std::size_t sharedBytes);
  std::byte* shared() const { return static_cast<std::byte*>(shared_.get()); }

  // Before the first operation of a case: data, operator, and zeros, as slow numbers would disturb times.
  void use(const PerfCase& c);
  // `step` counts the groups that an operation consists of.
  void issue(const PerfCase& c, bool inPlace, int step);
  // Adds up `bytes` bytes of the common buffer over all ranks: a barrier, and a way to tell all.
  void issueShared(std::size_t bytes);
  void synchronize();

  void fill(const PerfCase& c, bool inPlace);
  std::size_t countWrong(const PerfCase& c, bool inPlace) const;

 private:
  using Memory = std::unique_ptr<void, std::function<void(void*)>>;
  // Not a unique_ptr: a group stores the communicator here when it ends.
  struct Comm {
    ncclComm_t handle = nullptr;
    ~Comm() { ncclCommDestroy(handle); }
  };
  struct DestroyStream {
    void operator()(cudaStream_t stream) const { cudaStreamDestroy(stream); }
  };

  Memory allocate(PerfMemory kind, std::size_t bytes) const;
  void* announce(const Memory& memory) const;
  void makeOperator(const PerfCase& c);
  void dropOperator();
  std::byte* sendAt(const PerfCase& c, bool inPlace) const;
  std::byte* receiveAt(const PerfCase& c, bool inPlace) const;
  void issueCollective(const PerfCase& c, bool inPlace);
  void issueSendsAndReceives(const PerfCase& c, bool inPlace);
  void issueHypercube(const PerfCase& c, bool inPlace, int step);
  void send(const std::byte* from, std::size_t count, DataType type, int peer);
  void receive(std::byte* to, std::size_t count, DataType type, int peer);

  const PerfOptions& options_;
  const int rank_;
  const int device_;
  // Destroyed from the last to the first.
  Comm comm_;
  std::unique_ptr<CUstream_st, DestroyStream> stream_;
  Memory shared_, send_, receive_;
  void* sendHandle_ = nullptr;  // of registered buffers
  void* receiveHandle_ = nullptr;
  ncclRedOp_t operator_ = ncclSum;
  bool ownOperator_ = false;
  std::optional<PerfReduction> reduction_;
  DataType type_ = DataType::kFloat32;  // what operator_ and reduction_ are for
  PerfOperator op_ = PerfOperator::kNone;
};

}  // namespace xylem::cli
