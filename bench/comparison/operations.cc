#include "comparison/operations.h"

#include <algorithm>

namespace xylem::bench {
namespace {

constexpr std::uint64_t kPeriod = 509;       // prime, so that blocks of powers of two differ
constexpr std::uint64_t kRankOffset = 1000;  // above the period: no two ranks have a value in common

bool hasShares(Operation operation) {
  return operation == Operation::kAllGather || operation == Operation::kReduceScatter ||
         operation == Operation::kAllToAll;
}

}  // namespace

const char* name(Operation operation) {
  switch (operation) {
    case Operation::kAllReduce:
      return "all_reduce";
    case Operation::kAllGather:
      return "all_gather";
    case Operation::kReduceScatter:
      return "reduce_scatter";
    case Operation::kBroadcast:
      return "broadcast";
    case Operation::kReduce:
      return "reduce";
    case Operation::kAllToAll:
      return "alltoall";
    case Operation::kSendReceive:
      return "sendrecv";
    case Operation::kSend:
      return "send";
  }
  return "?";
}

std::optional<Operation> operationNamed(std::string_view text) {
  for (const Operation operation : kAllOperations)
    if (text == name(operation)) return operation;
  return std::nullopt;
}

std::uint64_t Case::count() const {
  return hasShares(operation) ? elements() / static_cast<std::uint64_t>(ranks) : elements();
}

std::uint64_t Case::inputElements(int rank) const {
  if (operation == Operation::kBroadcast && rank != kRoot) return 0;
  if (operation == Operation::kSend && (rank % 2 != 0 || partnerOf(*this, rank) < 0)) return 0;
  const bool isLonger = operation == Operation::kReduceScatter || operation == Operation::kAllToAll;
  return isLonger ? elements() : count();
}

std::uint64_t wholeBytes(Operation operation, int ranks, std::uint64_t bytes) {
  const std::uint64_t unit = sizeof(float) * (hasShares(operation) ? static_cast<std::uint64_t>(ranks) : 1);
  return (bytes + unit - 1) / unit * unit;
}

std::optional<std::uint64_t> ownPlace(const Case& c, int rank) {
  if (!c.inPlace) return std::nullopt;
  if (c.operation == Operation::kAllReduce) return 0;
  if (c.operation == Operation::kReduce && rank == kRoot) return 0;
  if (c.operation == Operation::kAllGather) return static_cast<std::uint64_t>(rank) * c.count();
  return std::nullopt;
}

int partnerOf(const Case& c, int rank) {
  const int partner = rank % 2 == 0 ? rank + 1 : rank - 1;
  return partner < c.ranks ? partner : -1;
}

std::vector<Piece> piecesOf(const Case& c, int rank) {
  const std::uint64_t count = c.count();
  const auto share = [&](int r) { return static_cast<std::uint64_t>(r) * count; };
  std::vector<Piece> pieces;
  switch (c.operation) {
    case Operation::kAllReduce:
      return {{0, 0, count, Piece::kAllRanks}};
    case Operation::kReduceScatter:
      return {{0, share(rank), count, Piece::kAllRanks}};
    case Operation::kReduce:
      if (rank == kRoot) pieces.push_back({0, 0, count, Piece::kAllRanks});
      return pieces;
    case Operation::kBroadcast:
      if (rank != kRoot) pieces.push_back({0, 0, count, kRoot});
      return pieces;
    case Operation::kSendReceive:
      return {{0, 0, count, (rank + c.ranks - 1) % c.ranks}};
    case Operation::kSend:
      if (rank % 2 == 1) pieces.push_back({0, 0, count, partnerOf(c, rank)});
      return pieces;
    case Operation::kAllGather:
      for (int peer = 0; peer < c.ranks; ++peer) pieces.push_back({share(peer), 0, count, peer});
      return pieces;
    case Operation::kAllToAll:
      for (int peer = 0; peer < c.ranks; ++peer) pieces.push_back({share(peer), share(rank), count, peer});
      return pieces;
  }
  return pieces;
}

float inputValue(int rank, std::uint64_t i) {
  return static_cast<float>(i % kPeriod + kRankOffset * static_cast<std::uint64_t>(rank + 1));
}

std::uint64_t countWrong(const Case& c, int rank, const float* out) {
  const auto n = static_cast<std::uint64_t>(c.ranks);
  const auto sumValue = [n](std::uint64_t i) {
    return static_cast<float>(n * (i % kPeriod) + kRankOffset * (n * (n + 1) / 2));
  };
  std::uint64_t wrong = 0;
  for (const Piece& piece : piecesOf(c, rank))
    for (std::uint64_t i = 0; i < piece.count; ++i) {
      const std::uint64_t from = piece.from + i;
      const float expected =
          piece.source == Piece::kAllRanks ? sumValue(from) : inputValue(piece.source, from);
      if (out[piece.to + i] != expected) ++wrong;
    }
  return wrong;
}

void makeStale(const Case& c, float* out) { std::fill_n(out, c.elements(), -1.0f); }

}  // namespace xylem::bench
