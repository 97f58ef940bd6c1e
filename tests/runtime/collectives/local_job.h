#pragma once
// An operation among ranks of this process, over queues in plain memory: executors that are ready to be
// advanced, and the check of their results against a plain loop.
//
//   LocalJob job(c, random);
//   ASSERT_EQ(job.runInTurns(random), "");     // or runAsThreads()
//   ASSERT_EQ(job.mismatch(), "");

#include <deque>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "runtime/collectives/program_executor.h"
#include "runtime/collectives/values.h"

namespace xylem::testing {

struct LocalCase {
  Collective collective = Collective::kAllReduce;
  Algorithm algorithm = Algorithm::kRing;
  Protocol protocol = Protocol::kSimple;
  DataType type = DataType::kFloat32;
  int op = 0;  // a ReduceOp or kPreMulSum
  int ranks = 2;
  int root = 0;
  std::size_t block = 1;  // elements
  bool inPlace = false;
  int channels = 1;
  std::size_t stepBytes = 120;
  std::size_t chunkSteps = 0;  // 0: as many as the algorithm may have
  std::size_t shift = 0;  // bytes by which buffers miss their alignment
  bool byReference = false;
  bool places = false;          // on GPUs, results go straight into the outputs of ranks that offer them
  bool overlaps = false;       // rounds of a ring's AllReduce
  bool exchange = false;        // channels that may exchange, do
  std::uint64_t firstStep = 0;  // of all queues

  std::string describe() const;
};

// Memory for one queue, and its two ends.
class LocalQueue {
 public:
  LocalQueue(int writer, int reader, std::size_t stepBytes, bool byReference, std::uint64_t firstStep = 0);
  ~LocalQueue();
  transport::SendEnd& sender() { return *sender_; }
  transport::RecvEnd& receiver() { return *receiver_; }

 private:
  std::byte* memory_;
  std::size_t bytes_;
  std::unique_ptr<transport::SendEnd> sender_;
  std::unique_ptr<transport::RecvEnd> receiver_;
};

class LocalJob {
 public:
  // The parts that the case leaves open are random.
  LocalJob(const LocalCase& c, std::mt19937& random);

  // The programs of all ranks, for tests that execute them by other means.
  struct Part {
    int rank = 0;
    collectives::ProgramWork work;
  };
  const std::deque<Part>& parts() const { return parts_; }

  // One thread advances all ranks in random order. Returns an error, or nothing.
  std::string runInTurns(std::mt19937& random);
  // Every rank is a thread.
  std::string runAsThreads();
  // The first wrong result, or nothing.
  std::string mismatch() const;
  // Whether a byte was written that belongs to no result: an error, or nothing.
  std::string strayWrite() const;
  std::vector<std::byte> output(int rank) const;

 private:
  using Bytes = std::vector<std::byte>;
  struct Rank {
    Bytes memory;
    std::size_t input = 0, output = 0;  // where they start
    std::deque<Bytes> scratch;
  };
  struct Channel {
    std::vector<int> order;
    std::deque<LocalQueue> queues;
    std::vector<std::vector<transport::RecvEnd*>> from;  // by rank
    std::vector<std::vector<transport::SendEnd*>> to;
  };

  void layOut(Rank& rank, std::size_t index, std::mt19937& random);
  void addChannel(const collectives::Shape& part, std::mt19937& random);
  void startPrograms(Channel& channel, int rank, collectives::Shape shape);
  std::size_t inputElements() const;
  std::size_t outputElements() const;
  std::string elementMismatch(std::size_t rank, std::size_t i) const;

  LocalCase case_;
  ReferenceOp op_;
  std::vector<Rank> ranks_;
  std::vector<Bytes> before_;
  std::deque<Channel> channels_;
  std::deque<Part> parts_;
  std::vector<std::vector<collectives::ProgramExecutor>> executors_;  // by rank
};

}  // namespace xylem::testing
