#pragma once
// The operations that are compared, and what each of them has to do: which elements of whose input end up
// where. Ranks check their results by it, and the limits do nothing else.
//
//   const Case c{Operation::kAllGather, 4, wholeBytes(Operation::kAllGather, 4, 4096)};
//   for (const Piece& piece : piecesOf(c, rank)) …   // out[to…] is in[from…] of piece.source, or of all,
//   added
//
// Sizes are those of nccl-tests: of the longer buffer of a rank, in bytes. Elements are floats.

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace xylem::bench {

enum class Operation : std::uint32_t {
  kAllReduce,
  kAllGather,
  kReduceScatter,
  kBroadcast,
  kReduce,
  kAllToAll,
  kSendReceive,  // to the next rank and from the one before
};
constexpr std::array<Operation, 7> kAllOperations = {
    Operation::kAllReduce, Operation::kAllGather, Operation::kReduceScatter, Operation::kBroadcast,
    Operation::kReduce,    Operation::kAllToAll,  Operation::kSendReceive};

// As `xylem perf` calls them.
const char* name(Operation operation);
std::optional<Operation> operationNamed(std::string_view text);

// Of Broadcast and Reduce.
constexpr int kRoot = 0;

struct Case {
  Operation operation{};
  int ranks = 0;
  std::uint64_t bytes = 0;

  std::uint64_t elements() const { return bytes / sizeof(float); }
  // What the calls take as their count: a rank's share where data is gathered, scattered or exchanged.
  std::uint64_t count() const;
};

// The next size that gives every rank whole elements.
std::uint64_t wholeBytes(Operation operation, int ranks, std::uint64_t bytes);

struct Piece {
  static constexpr int kAllRanks = -1;
  std::uint64_t to = 0, from = 0, count = 0;  // in elements
  int source = 0;
};

// What belongs into this rank's output. A root of Broadcast has none: it keeps its input.
std::vector<Piece> piecesOf(const Case& c, int rank);

// Element `i` of a rank's input: whole numbers, of which sums over 64 ranks are exact.
float inputValue(int rank, std::uint64_t i);
// How many elements of this rank's output are not what they have to be.
std::uint64_t countWrong(const Case& c, int rank, const float* out);
// What is in an output before an operation that is checked: no value that it could have.
void makeStale(const Case& c, float* out);

}  // namespace xylem::bench
