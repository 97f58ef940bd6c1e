#pragma once
// Whether ranks write the results of a mapped collective past the caches (streaming). Results that the caches cannot hold push out of them what
// comes next, and their lines are fetched only to be written; others are found in the caches by who reads them next. How much the caches hold
// depends on the machine, and on what else runs there. So one rank decides for all, and tries both now and then.
//
//   const bool streams = streamed.choose(work, rank, ranks);  // before each operation that may be mapped
//   streamed.begin(mayStream);                                // all ranks have come, and write results in that way, if they can
//   if (const auto change = streamed.end()) tell(*change);    // all have written theirs
//
// It begins by the limit stream_exchange. It tries where all buffers together have 16 to 128 MiB, sizes of one power of two together: the results
// of less may be in a cache for the program, which reads them next, and much more fits into none. Results of reductions in place are never
// streamed (streamsResults).

#include <array>
#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "runtime/collectives/direct_share.h"
#include "runtime/transport/choices/copy_choices.h"
#include "runtime/transport/choices/two_ways.h"

namespace xylem::collectives {

class StreamedResults {
 public:
  using Now = std::function<std::chrono::steady_clock::time_point()>;

  StreamedResults(const transport::CopyChoices& choices, Now now)
      : from_(choices.streamExchange), adapts_(choices.adapt != 0), now_(std::move(now)) {}

  bool choose(const DirectWork& work, int rank, int ranks);
  void begin(bool mayStream);
  std::optional<transport::WayChange> end();

 private:
  static constexpr std::size_t kLeast = std::size_t{16} << 20, kMost = std::size_t{128} << 20;

  const std::size_t from_;
  const bool adapts_;
  const Now now_;
  // By function, and by whether this rank's output is its input. The second way is past the caches.
  std::array<std::array<std::unique_ptr<transport::WaysBySize>, 2>, kFunctions> ways_;
  transport::WaysBySize* tried_ = nullptr;  // of this operation, if both ways are
  std::size_t bytes_ = 0;                   // of all ranks' buffers
  bool streams_ = false;
  std::optional<std::chrono::steady_clock::time_point> begun_;  // if its time counts
};

}  // namespace xylem::collectives
