#pragma once
// One line in the log for every connection that does not belong to the job, without letting a flood of them
// fill a log that nobody asked to be long: the first ones are warnings, and then the hundredth, the
// thousandth and so on; all others are seen with NCCL_DEBUG=INFO.
//
//   StrangerLog strangers(log, "Bootstrap");
//   strangers.dropped("10.0.0.7:40312", "it does not speak Xylem's protocol");

#include <cstdint>
#include <string>
#include <string_view>

#include "core/log.h"

namespace xylem {

class StrangerLog {
 public:
  // `log` and `who`, which starts the lines, must outlive this.
  StrangerLog(const Logger& log, const char* who) : log_(log), who_(who) {}

  void dropped(const std::string& from, std::string_view reason);
  std::uint64_t count() const { return count_; }

  // So many are warned about one by one.
  static constexpr std::uint64_t kSingly = 10;

 private:
  const Logger& log_;
  const char* who_;
  std::uint64_t count_ = 0;
  std::uint64_t nextWarning_ = 10 * kSingly;
};

}  // namespace xylem
