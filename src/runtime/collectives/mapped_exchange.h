#pragma once
// One rank's part of a collective on one host where every rank maps all ranks' buffers: it reads its share of
// the elements from all inputs and writes the results into all outputs.
//
//   MappedExchange::post(work, reach, rank, ranks, meeting.mine());
//   if (mapped.start(work, streams, meeting, reach))    // once all ranks have posted; false: stage the data
//     while (!mapped.piece()) { }
//
// A rank leaves the meeting when its share is done, and may use its buffers again when all others have left.

#include <span>
#include <vector>

#include "runtime/collectives/direct_share.h"
#include "runtime/collectives/meeting.h"
#include "runtime/collectives/shared_work.h"

namespace xylem::collectives {

// Tells which buffers other ranks can map: those in ShareableMemory, and any if all ranks are in one process.
class BufferReach {
 public:
  BufferReach(const Meeting& meeting, bool oneProcess) : meeting_(meeting), oneProcess_(oneProcess) {}

  // How other ranks find `data`. An address in this process if they cannot map it.
  transport::BufferPlace placeOf(const std::byte* data, std::size_t bytes) const;
  // True if all ranks can map a buffer that was posted like this.
  bool isMappable(const transport::BufferPlace& place) const {
    return oneProcess_ || place.region != transport::BufferPlace::kAddress;
  }
  // True if the buffers of `work` lie where other ranks could map them.
  bool areMappable(const DirectWork& work) const;

 private:
  const Meeting& meeting_;
  const bool oneProcess_;
};

// Whether some output begins where an input does: results are not written past the caches then (streamsResults).
bool writesWhatItReads(std::span<const std::byte* const> inputs, std::span<std::byte* const> outputs);

class MappedExchange {
 public:
  // `shared` stays.
  explicit MappedExchange(const SharedWork& shared) : shared_(shared) {}

  // Fills in where this rank's buffers lie.
  static void post(const DirectWork& work, const BufferReach& reach, int rank, int ranks,
                   transport::Descriptor& descriptor);
  // Finds the buffers that all ranks have posted. False if a rank cannot map one of them, which all ranks see
  // alike. `streams`: results are written past the caches, if mayStream().
  bool start(const DirectWork& work, bool streams, Meeting& meeting, const BufferReach& reach);
  // Not if ranks reduce and the output of one is its input.
  bool mayStream() const { return mayStream_; }
  bool streams() const { return streaming_; }
  // Does the next piece of this rank's share. True if that was the last one.
  bool piece();

 private:
  struct Copy {
    std::byte* to;
    const std::byte* from;
  };

  void findBuffers(Meeting& meeting);
  void findCopies();
  void reduce(std::size_t at, std::size_t n);
  void copy(std::size_t begin, std::size_t end) const;

  const SharedWork& shared_;
  DirectWork work_;
  int rank_ = 0;
  // The buffers that this rank reads and writes, from where its block starts. Inputs: by rank if the
  // collective reduces, otherwise the one whose data this rank passes on. Outputs: of all ranks that get the
  // data.
  std::vector<const std::byte*> inputs_, sources_;
  std::vector<std::byte*> outputs_, out_;
  std::vector<Copy> copies_;         // if the collective does not reduce: what this rank copies
  std::vector<Factor> factors_;      // by rank
  std::size_t begin_ = 0, end_ = 0;  // the rest of the share, in elements
  bool mayStream_ = false, streaming_ = false;
};

}  // namespace xylem::collectives
