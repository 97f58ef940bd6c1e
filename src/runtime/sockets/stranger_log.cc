#include "runtime/sockets/stranger_log.h"

namespace xylem {

void StrangerLog::dropped(const std::string& from, std::string_view reason) {
  ++count_;
  if (count_ < kSingly) {
    log_.warn("{} : dropped a connection from {}: {}", who_, from, reason);
  } else if (count_ == kSingly) {
    log_.warn(
        "{} : dropped a connection from {}: {}; it is the {}th here, further ones are listed with "
        "NCCL_DEBUG=INFO only",
        who_, from, reason, count_);
  } else if (count_ == nextWarning_) {
    nextWarning_ *= 10;
    log_.warn("{} : dropped a connection from {}: {}; there have been {} here", who_, from, reason, count_);
  } else {
    log_.info(Subsystem::kBootstrap, "{} : dropped a connection from {}: {}", who_, from, reason);
  }
}

}  // namespace xylem
