#pragma once
// Whether a rank writes the results of a mapped collective past the caches (streaming). Results that the caches cannot hold push out of them what
// comes next, and their lines are fetched only to be written; others are found in the caches by who reads them next. How much the caches hold
// depends on the machine, and on what else runs there. So one rank decides for all, and tries both now and then.
//
//   work.streaming = streamed.choose(work, rank, ranks);   // before each operation
//   streamed.begin();                                      // all ranks have come, and write results in that way
//   if (const auto change = streamed.end()) tell(*change); // all have written theirs
//
// Where all buffers together have less than 16 MiB it does not try: the results may be in a cache for the program, which reads them next.

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

  // `decides`: this rank does. Another one always chooses as when it began.
  StreamedResults(const transport::CopyChoices& choices, bool decides, Now now)
      : from_(choices.streamExchange), adapts_(choices.adapt != 0 && decides), now_(std::move(now)) {}

  bool choose(const DirectWork& work, int rank, int ranks);
  void begin();
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
  bool writes_ = false;  // since begin()
  std::optional<std::chrono::steady_clock::time_point> begun_;
};

}  // namespace xylem::collectives
