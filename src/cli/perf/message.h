#pragma once
// What a rank of `xylem perf` tells whoever reports: one packet of fixed size, over a socket to the process
// that started it, or through the communicator to rank 0.
//
//   PerfMessage hello = PerfMessage::of(PerfMessage::kHello, rank);
//   hello.setText(hostName);
//   sendPerf(socket, hello);

#include <cstdint>
#include <string_view>

namespace xylem::cli {

struct PerfMessage {
  enum Kind : std::uint32_t {
    kId = 1,   // the process of rank 0 says it; the others are told
    kHello,    // the rank has joined; text: the host's name
    kResult,   // of one case
    kFailure,  // text says what; the process ends
    kDone,     // all ranks of the process are
  };
  struct Timing {
    double microseconds = 0;  // per operation, this rank's
    std::uint64_t wrong = 0;  // elements
  };
  std::uint32_t kind = 0;
  std::int32_t rank = 0;
  std::int32_t pid = 0;
  std::int32_t device = 0;
  std::uint32_t caseIndex = 0;
  Timing outOfPlace;
  Timing inPlace;
  char text[512] = {};  // ends with 0, unless kind is kId

  static PerfMessage of(Kind kind, int rank);
  void setText(std::string_view words);
};

// False if the other end is gone.
bool sendPerf(int socket, const PerfMessage& message);
// Waits. False if the other end is gone.
bool receivePerf(int socket, PerfMessage& message);

}  // namespace xylem::cli
