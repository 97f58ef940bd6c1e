#pragma once
// The ranks of `xylem perf` that a thread drives: their communicators, streams and buffers, the library's
// calls for each operation, and the measurement of a case in nccl-tests' order: warm up, meet, measure,
// check.
//
//   PerfThread thread(options, firstRank, firstDevice);
//   thread.join(id);
//   thread.run(outlet);      // the outlet receives the messages of each rank

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "cli/perf/cases.h"
#include "cli/perf/test_data.h"
#include "nccl.h"

namespace xylem::cli {

// The report of a rank: a packet of fixed size, sent over a socket to the process that started the rank, or
// through the communicator to all ranks.
struct PerfMessage {
  enum Kind : std::uint32_t {
    kId = 1,   // from the process of rank 0, for the other processes; text: the id to join with
    kHello,    // the rank has joined; text: the host's name
    kResult,   // of a case
    kFailure,  // the process ends because of it; text: the error
    kDone,     // all ranks of the process have finished
  };
  struct Timing {
    // Per operation, on this rank: until it was done, and of that until it was enqueued.
    double microseconds = 0, enqueuing = 0;
    std::uint64_t wrong = 0;  // elements
  };
  std::uint32_t kind = 0;
  std::int32_t rank = 0;
  std::int32_t pid = 0;
  std::int32_t device = 0;
  Timing outOfPlace;
  Timing inPlace;
  char text[512] = {};  // ends with 0, unless kind is kId

  static PerfMessage of(Kind kind, int rank);
  // Cuts what does not fit.
  void setText(std::string_view words);
};

// Throw Error with the library's own message.
void require(ncclResult_t result, ncclComm_t comm, const char* what);
void require(cudaError_t result, ncclComm_t comm, const char* what);

// One rank. If several ranks share a thread, the caller puts their calls into a group.
//
//   PerfRank rank(options, 3, device);
//   rank.join(id);
//   rank.prepare(sharedBytes);
//   rank.use(c);
//   rank.fill(c, inPlace); rank.issue(c, inPlace, step); rank.synchronize(); rank.countWrong(c, inPlace);
class PerfRank {
 public:
  PerfRank(const PerfOptions& options, int rank, int device)
      : options_(options), rank_(rank), device_(device) {}
  ~PerfRank();
  PerfRank(const PerfRank&) = delete;
  PerfRank& operator=(const PerfRank&) = delete;

  int rank() const { return rank_; }
  int device() const { return device_; }

  // Within a group, the communicator exists when the group has ended.
  void join(const ncclUniqueId& id);
  // Creates stream and buffers, among them the ranks' common buffer of `sharedBytes`.
  void prepare(std::size_t sharedBytes);
  std::byte* shared() const { return static_cast<std::byte*>(shared_.get()); }

  // Prepares for the operations of a case. Fills the buffers with zeros: arithmetic on subnormal numbers
  // would be slow.
  void use(const PerfCase& c);
  // Enqueues step `step` of stepsOf(); each step is a group of its own.
  void issue(const PerfCase& c, bool inPlace, int step);
  // Adds up the first `bytes` bytes of the common buffer over all ranks: a barrier, and an exchange of
  // messages.
  void issueShared(std::size_t bytes);
  void synchronize();

  // Between these, calls are not executed but become the rank's graph, in place of the one before.
  void beginCapture();
  void endCapture();
  void launchGraph();

  // Fills the send buffer with test data, and the receive buffer with bytes that must be overwritten.
  void fill(const PerfCase& c, bool inPlace);
  std::size_t countWrong(const PerfCase& c, bool inPlace) const;

 private:
  using Memory = std::unique_ptr<void, std::function<void(void*)>>;
  // Not a unique_ptr: the end of a group stores the communicator here.
  struct Comm {
    ncclComm_t handle = nullptr;
    ~Comm() { ncclCommDestroy(handle); }
  };
  struct DestroyStream {
    void operator()(cudaStream_t stream) const { cudaStreamDestroy(stream); }
  };
  struct DestroyGraph {
    void operator()(cudaGraphExec_t graph) const { cudaGraphExecDestroy(graph); }
  };

  Memory allocate(PerfMemory kind, std::size_t bytes) const;
  // Registers the buffer if that is asked for. Returns its handle, or null.
  void* registered(const Memory& memory) const;
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
  // The order matters: the last is destroyed first.
  Comm comm_;
  std::unique_ptr<CUstream_st, DestroyStream> stream_;
  std::unique_ptr<CUgraphExec_st, DestroyGraph> graph_;
  Memory shared_, send_, receive_;
  void* sendHandle_ = nullptr;  // of registered buffers
  void* receiveHandle_ = nullptr;
  ncclRedOp_t operator_ = ncclSum;
  bool ownOperator_ = false;
  std::optional<PerfReduction> reduction_;
  // Operator and reduction_ are for this type and operator.
  DataType type_ = DataType::kFloat32;
  PerfOperator op_ = PerfOperator::kNone;
};

class PerfThread;

// Receives the messages of a thread's ranks, in that thread.
class PerfOutlet {
 public:
  virtual ~PerfOutlet() = default;
  virtual void joined(PerfThread& thread, const std::vector<PerfMessage>& hellos) = 0;
  virtual void measured(PerfThread& thread, const PerfCase& c, const std::vector<PerfMessage>& results) = 0;
};

class PerfThread {
 public:
  PerfThread(const PerfOptions& options, int firstRank, int firstDevice);

  int firstRank() const { return ranks_.front()->rank(); }
  void join(const ncclUniqueId& id);
  // Measures and checks every case, out of place and in place.
  void run(PerfOutlet& outlet);
  // Returns the messages of all ranks of the job, by rank. All threads of the job must call it.
  std::vector<PerfMessage> exchange(const std::vector<PerfMessage>& mine);

 private:
  // Calls `call(rank)` for each rank, in a group if there are several ranks or `group` says so.
  template <typename Call>
  void together(bool group, Call&& call);
  // Enqueues `times` operations on each rank, in one group.
  void issue(const PerfCase& c, bool inPlace, int times);
  // Makes a graph of the calls of `calls`, for each rank.
  void capture(const std::function<void()>& calls);
  void launchGraphs();
  void meet();
  void synchronize();
  void measure(const PerfCase& c, bool inPlace, PerfMessage::Timing PerfMessage::*timing,
               std::vector<PerfMessage>& results);

  const PerfOptions& options_;
  std::vector<std::unique_ptr<PerfRank>> ranks_;
};

}  // namespace xylem::cli
