#pragma once
// The operations that are compared, and the definition of each: which elements of which input end up where.
// Ranks check their results by it, and the limits do nothing else.
//
//   const Case c{Operation::kAllGather, 4, wholeBytes(Operation::kAllGather, 4, 4096)};
//   // out[piece.to…] is in[piece.from…] of piece.source, or the sum of all ranks' in[piece.from…]
//   for (const Piece& piece : piecesOf(c, rank)) …
//
// Sizes are those of nccl-tests: bytes of the longer buffer of a rank. Elements are floats.

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
  kSend,         // one way: rank 0 to 1, 2 to 3, and so on
};
// The operations that are compared if nothing else is asked.
constexpr std::array<Operation, 7> kUsualOperations = {
    Operation::kAllReduce, Operation::kAllGather, Operation::kReduceScatter, Operation::kBroadcast,
    Operation::kReduce,    Operation::kAllToAll,  Operation::kSendReceive};
constexpr std::array<Operation, 8> kAllOperations = {
    Operation::kAllReduce, Operation::kAllGather, Operation::kReduceScatter, Operation::kBroadcast,
    Operation::kReduce,    Operation::kAllToAll,  Operation::kSendReceive,   Operation::kSend};

// The names of `xylem perf`, and `send`.
const char* name(Operation operation);
std::optional<Operation> operationNamed(std::string_view text);

// The root of Broadcast and Reduce.
constexpr int kRoot = 0;

struct Case {
  Operation operation{};
  int ranks = 0;
  std::uint64_t bytes = 0;
  bool inPlace = false;  // the input lies in the output, as ownPlace() says

  std::uint64_t elements() const { return bytes / sizeof(float); }
  // The count argument of the calls: a rank's share for operations that gather, scatter or exchange.
  std::uint64_t count() const;
  // The elements of a rank's input; 0 if it brings none.
  std::uint64_t inputElements(int rank) const;
};

// The next size at which every rank has whole elements.
std::uint64_t wholeBytes(Operation operation, int ranks, std::uint64_t bytes);

// The element of a rank's output where its input begins in place, as NCCL and MPI have it alike; nothing if this rank's is out of place all
// the same: in ReduceScatter, whose results MPI puts elsewhere, all-to-all, and messages, as Reduce on all but the root. A root of
// Broadcast keeps its input anyway.
std::optional<std::uint64_t> ownPlace(const Case& c, int rank);

struct Piece {
  static constexpr int kAllRanks = -1;
  std::uint64_t to = 0, from = 0, count = 0;  // in elements
  int source = 0;
};

// The rank that this one sends to, of kSend, or that it receives from; -1: none.
int partnerOf(const Case& c, int rank);

// The pieces of this rank's output. A root of Broadcast has none: it keeps its input.
std::vector<Piece> piecesOf(const Case& c, int rank);

// Element `i` of a rank's input. Inputs are whole numbers whose sums over 64 ranks are exact.
float inputValue(int rank, std::uint64_t i);
// Returns how many elements of this rank's output are wrong.
std::uint64_t countWrong(const Case& c, int rank, const float* out);
// Value of an output before an operation that is checked; no result has it.
void makeStale(const Case& c, float* out);

}  // namespace xylem::bench
