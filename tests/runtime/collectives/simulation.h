#pragma once
// Executes programs on symbols instead of numbers: every element says which element of the operation it is
// and which ranks' contributions are in it. So a test sees whether a program computes the right result on any
// numbers, whether it can deadlock, and whether data that was sent by reference changed too early.
//
//   Simulation simulation(job, random);
//   EXPECT_EQ(simulation.run(random), "");

#include <cstdint>
#include <deque>
#include <random>
#include <string>
#include <vector>

#include "runtime/collectives/algorithm.h"

namespace xylem::testing {

struct SimulatedJob {
  Collective collective = Collective::kAllReduce;
  Algorithm algorithm = Algorithm::kRing;
  int ranks = 1;
  int root = 0;
  bool inPlace = false;
  std::size_t block = 0;  // elements of a rank's block
  int channels = 1;       // which share the block, at random
  std::size_t chunk = 1;
  std::size_t grain = 1;
  std::size_t step = 1;        // elements
  std::size_t queueSteps = 8;  // beyond which a queue is full
  bool overlaps = false;       // rounds of a ring's AllReduce
  bool exchange = false;       // channels that may exchange, do
  bool scales = false;

  std::string describe() const;
};

class Simulation {
 public:
  // Orders of rings, trees and shares of channels are random.
  Simulation(const SimulatedJob& job, std::mt19937& random);
  // Advances the ranks in random order. Returns an error, or nothing.
  std::string run(std::mt19937& random);
  // Elements sent by all ranks together.
  std::size_t moved() const { return moved_; }
  // The longest chain of messages, each of which could only be sent after the one before had arrived.
  int hops() const { return hops_; }

 private:
  struct Value {
    int element = -1;
    std::uint32_t ranks = 0;  // a bit for each rank whose contribution is in it
    bool raw = false;
    bool complete = false;
    bool operator==(const Value&) const = default;
  };
  using Values = std::vector<Value>;
  struct Step {
    Values values;
    int sharedBy = -1;  // a rank: the step lies in its memory, at `address`, and looked like `snapshot`
    std::size_t address = 0;
    Values snapshot;
    int hops = 0;
  };
  using Queue = std::deque<Step>;
  // A program of one rank while it is executed.
  struct Run {
    collectives::Program program;
    collectives::Shape shape;
    std::size_t scratch = 0;  // where its part of the rank's scratch starts
    std::vector<Queue*> from, to;
    std::uint64_t index = 0, length = 0;
    std::size_t done = 0;
    collectives::Instruction now;
    int hops = 0;
  };
  struct Rank {
    Values memory;
    std::size_t input = 0, output = 0, scratch = 0;  // where they start
  };

  void layOut(Rank& rank, int index) const;
  void addChannel(const collectives::Shape& part, std::mt19937& random);

  bool load(Run& run);  // turns to the next instruction that moves data; false at the end
  bool advance(Run& run);
  void execute(Run& run, std::size_t n);
  Values received(Run& run, Queue& queue, std::size_t n);
  std::size_t address(const Run& run, const collectives::Place& place) const;
  Value entered(const collectives::Place& place, Value v);
  Value combined(const Value& a, const Value& b);
  void write(const Run& run, const Values& values);
  void expectResults();
  Value expected(int rank, std::size_t i) const;
  bool reduces() const;
  std::size_t outputSize() const;
  void fail(const std::string& what);

  SimulatedJob job_;
  std::vector<Rank> ranks_;
  std::vector<Values> before_;
  std::vector<Run> runs_;
  std::deque<Queue> queues_;
  std::deque<std::vector<int>> orders_;
  std::size_t moved_ = 0;
  int hops_ = 0;
  std::string error_;
};

}  // namespace xylem::testing
