#pragma once
// Collects which ranks wait in which call after one of them has timed out. Each waiting rank sends its peers
// what it knows; they add themselves and pass it on, until all ranks that can be reached know the same. Ranks
// that are not in the result have not arrived.
//
//   WaitTracker waits;
//   waits.note(rank, "the exchange of peers", 5);
//   if (waits.merge(bytesOfAnother)) sendToPeers(waits.bytes());
//   waits.report("the exchange of peers", allRanks)
//       "ranks 3, 5 have not arrived; ranks 0, 1, 2 wait there; rank 4 waits in a barrier for rank 6"

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace xylem::bootstrap {

class WaitTracker {
 public:
  // Notes that `rank`, the caller's own, waits in `what` for `peer` (-1: for no particular rank).
  void note(int rank, std::string_view what, int peer);
  bool knows(int rank) const { return waits_.contains(rank); }
  std::size_t size() const { return waits_.size(); }
  void clear() { waits_.clear(); }

  std::vector<std::byte> bytes() const;
  // True if the bytes of another tracker have anything new. Malformed bytes are ignored.
  bool merge(std::span<const std::byte> bytes);

  // A sentence that says which of the ranks `expected` are missing in `what` and where the others wait.
  std::string report(std::string_view what, std::span<const int> expected) const;

 private:
  struct Wait {
    std::uint32_t version = 0;  // counts what the rank has said about itself
    std::int32_t peer = -1;
    std::string what;
  };
  std::map<int, Wait> waits_;
  std::uint32_t notes_ = 0;
};

}  // namespace xylem::bootstrap
