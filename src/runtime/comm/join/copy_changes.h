#pragma once
// How data moves within a rank's host now, where that is no longer what was chosen when it joined: the log and `xylem status` show
// each change.
//
//   CopyChanges changes(plan.copiesText(), log, recorder);
//   DirectExchange exchange(..., changes.teller());

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

#include "core/log.h"
#include "runtime/comm/watch/flight_recorder.h"
#include "runtime/transport/choices/two_ways.h"

namespace xylem::comm {

class CopyChanges {
 public:
  // `chosen`: how data moves at first. `log` and `recorder` stay.
  CopyChanges(std::string chosen, const Logger& log, FlightRecorder& recorder)
      : chosen_(std::move(chosen)), log_(log), recorder_(recorder) {}
  CopyChanges(const CopyChanges&) = delete;
  CopyChanges& operator=(const CopyChanges&) = delete;

  // Has `xylem status` show what was chosen.
  void showChoices() { recorder_.showCopies(chosen_); }
  // Any thread may call it.
  void add(std::string_view what, const transport::WayChange& change);
  transport::TellChange teller() {
    return [this](std::string_view what, const transport::WayChange& change) { add(what, change); };
  }

 private:
  const std::string chosen_;
  const Logger& log_;
  FlightRecorder& recorder_;
  std::mutex mutex_;
  std::map<std::pair<std::string, std::uint64_t>, std::string> latest_;  // by what is moved, and its bytes
};

}  // namespace xylem::comm
