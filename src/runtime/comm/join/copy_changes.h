#pragma once
// How data moves within a rank's host now, where that is no longer what was chosen when it joined: the log and `xylem status` show
// each change.
//
//   CopyChanges changes(copies, log, recorder);
//   DirectExchange exchange(..., changes.teller());

#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "core/log.h"
#include "runtime/comm/join/host_copies.h"
#include "runtime/comm/watch/flight_recorder.h"
#include "runtime/transport/choices/two_ways.h"

namespace xylem::comm {

class CopyChanges {
 public:
  // All three stay.
  CopyChanges(const HostCopies& copies, const Logger& log, FlightRecorder& recorder)
      : copies_(copies), log_(log), recorder_(recorder) {}
  CopyChanges(const CopyChanges&) = delete;
  CopyChanges& operator=(const CopyChanges&) = delete;

  // Has `xylem status` show what was chosen.
  void showChoices();
  // Any thread may call it.
  void add(std::string_view what, const transport::WayChange& change);
  transport::TellChange teller() {
    return [this](std::string_view what, const transport::WayChange& change) { add(what, change); };
  }

 private:
  struct Way {
    std::string what;
    std::uint64_t bytes;
    std::string text;
  };
  void show();

  const HostCopies& copies_;
  const Logger& log_;
  FlightRecorder& recorder_;
  std::mutex mutex_;
  std::vector<Way> ways_;  // the newest last; one for what is moved and its bytes
};

}  // namespace xylem::comm
