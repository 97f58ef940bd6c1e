#pragma once
// One rank's part of many small collectives of one group, done in a single meeting: every rank posts where
// its buffers of all of them lie, and then performs its share of the collectives, each as a whole, on all
// ranks' mapped buffers.
//
//   batched.start(rank, ranks, works);    // the same collectives on all ranks
//   batched.post(meeting, reach);
//   if (batched.findOthers(meeting))      // once all ranks have posted; false: do them one by one
//     while (!batched.piece()) { }
//
// The collectives that form a batch follow from the calls alone, so all ranks form the same batches.

#include <span>
#include <vector>

#include "runtime/collectives/direct_share.h"
#include "runtime/collectives/mapped_exchange.h"
#include "runtime/collectives/meeting.h"

namespace xylem::collectives {

// In a descriptor, instead of a collective.
constexpr std::uint8_t kBatchOfCollectives = 0xff;

// Where one rank has its buffers of one collective.
struct BatchEntry {
  std::uint32_t inputRegion, outputRegion;  // as in BufferPlace
  std::uint64_t input, output;
};
static_assert(sizeof(BatchEntry) == 24);

class BatchedExchange {
 public:
  static constexpr std::size_t kMaxWorks = (std::size_t{32} << 10) / sizeof(BatchEntry);
  // Fewer collectives are done one by one.
  static constexpr std::size_t kMinWorks = 3;
  // True if a collective may be in a batch. `bytes`: of a block.
  static bool takes(Function function, std::size_t bytes, bool scaled, int ranks);

  // `works` stays until the end. False if the buffers of the last batch could not be mapped: then only every
  // 64th batch is tried.
  bool start(int rank, int ranks, std::span<const DirectWork> works);
  // Where the list of entries is staged, and how long it is.
  transport::StagingKind staging() const { return transport::stagingFor(stagedBytes()); }
  std::size_t stagedBytes() const { return works_.size() * sizeof(BatchEntry); }
  // Writes this rank's descriptor and entries; the descriptor is not published yet.
  void post(Meeting& meeting, const BufferReach& reach) const;
  // Finds the entries that all ranks have posted. False if a rank cannot map another one's buffers, which all
  // ranks see alike.
  bool findOthers(Meeting& meeting);
  // Performs the next collectives of this rank's share. True if those were the last ones.
  bool piece();

 private:
  struct Other {
    const BatchEntry* entries = nullptr;
    transport::PeerMemory* memory = nullptr;
  };
  void perform(const DirectWork& work, std::size_t index);
  void combine(const DirectWork& work, std::size_t offset, std::span<std::byte* const> out);

  int rank_ = 0;
  std::span<const DirectWork> works_;
  std::uint64_t signature_ = 0;     // differs between ranks that call different collectives
  std::uint64_t batches_ = 0;       // counted, whether tried or not
  bool unmappable_ = false;         // the last batch that was tried
  std::size_t next_ = 0, end_ = 0;  // the rest of this rank's share
  std::vector<Other> others_;       // by rank; nothing for this rank itself
  // The buffers and factors of the current collective, by rank.
  std::vector<const std::byte*> inputs_, sources_;
  std::vector<std::byte*> outputs_;
  std::vector<Factor> factors_;
};

}  // namespace xylem::collectives
