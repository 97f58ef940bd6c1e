#pragma once
// One rank's part of a collective on one host, on buffers that cannot be mapped: each rank reads what it needs out of the other
// ranks' processes, through the kernel. The data is copied once, where staging copies it twice; but each call of the kernel costs
// one to five microseconds.
//
//   if (ReadExchange::suits(work.function, ranks)) {
//     reading.start(work, meeting);                  // once all ranks have posted where their buffers are
//     do {
//       while (!reading.piece(meeting)) { }
//       meeting.leave();
//     } while (reading.startNextStage() && /* all ranks meet again */);
//   }
//
// Where data goes one way, the ranks that bring it would only wait. So the root of a Broadcast in place writes a part of it into the others' outputs, and
// the other rank of a Reduce reduces a part of it and writes that into the root's.
//
// An AllReduce has two stages: each rank reduces its share of the elements, and collects the other ranks' shares out of their
// outputs. A rank may use its buffers again when all others have left the last meeting.

#include <memory>
#include <vector>

#include "runtime/collectives/direct_share.h"
#include "runtime/collectives/meeting.h"
#include "runtime/collectives/shared_work.h"
#include "runtime/transport/queue/low_latency.h"

namespace xylem::collectives {

class ReadExchange {
 public:
  // Ranks that are not the root of a Reduce have no output for a share.
  static constexpr bool suits(Function function, int ranks) {
    return function != Function::kReduce || ranks == 2;
  }

  // How many bytes at the end of a rank's output others may write, if it is one that data is brought to.
  static std::size_t writtenBytes(const DirectWork& work, int ranks);

  // `shared` stays.
  explicit ReadExchange(const SharedWork& shared) : shared_(shared) {}

  void start(const DirectWork& work, Meeting& meeting);
  // Goes on with the stage. Returns true if that is done. Throws Error (ncclRemoteError) if a rank is gone.
  bool piece(Meeting& meeting);
  // Starts the next stage, before which all ranks meet again. Returns false if there is none.
  bool startNextStage();

 private:
  // A copy that this rank makes, in bytes, from one buffer to another.
  struct Part {
    enum Kind {
      kOwn,     // out of this rank's input into its output
      kInput,   // out of the other rank's input into this one's output
      kOutput,  // out of its output
      kWrite,   // out of this rank's input into the other one's output
    };
    int rank;
    Kind kind;
    std::size_t from, to, bytes;
  };

  void copyNext(Meeting& meeting);
  void reduceNext(Meeting& meeting);
  void reduceStretch(Meeting& meeting, std::size_t at, std::size_t n, std::byte* scratch) const;
  void write(Meeting& meeting, int rank, std::size_t at, std::size_t bytes, const std::byte* data) const;
  void read(Meeting& meeting, int rank, bool output, std::size_t at, std::size_t bytes, std::byte* out) const;

  const SharedWork& shared_;
  DirectWork work_;
  int rank_ = 0, ranks_ = 1;
  bool reducing_ = false;              // in this stage
  bool collects_ = false;              // in the stage after it
  std::size_t begin_ = 0, end_ = 0;    // the rest of what this rank reduces, in elements of its block
  std::vector<Part> parts_;            // to copy
  std::size_t part_ = 0, copied_ = 0;  // the next one, and the bytes of it that are done
  transport::Staging scratch_;         // by stretch: the other ranks' data that is reduced next
  std::vector<Factor> factors_;        // by rank
};

}  // namespace xylem::collectives
