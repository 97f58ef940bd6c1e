#pragma once
// What a listening socket gives when it is asked who is there.

#include <string>

#include "core/file_descriptor.h"

namespace xylem {

struct Arrival {
  enum class Kind {
    kNobody,         // waits
    kCaller,         //
    kRefused,        // was there, and has been sent away: see `reason`
    kNoDescriptors,  // somebody waits, but too many files are open
  };
  Kind kind = Kind::kNobody;
  FileDescriptor socket{};
  std::string from{};  // for messages
  std::string reason{};
};

// By errno, after accept(2) has failed.
Arrival noArrival(int error);

}  // namespace xylem
