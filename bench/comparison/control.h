#pragma once
// Messages between the driver of the comparison and the ranks of every contender, over a Unix socket with a
// path, which reaches across network namespaces.
//
//   ControlListener listener(path);                          // the driver
//   ControlSocket rank = listener.accept(deadline);
//   rank.send(command); rank.receive(reply, deadline);
//
//   ControlSocket driver = ControlSocket::connect(path);     // a rank
//   driver.receive(command);                                 // sleeps in the kernel until a command comes
//
// An idle rank must not spin: the cores belong to the contender that is measured.

#include <sys/types.h>

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>

#include "comparison/operations.h"
#include "core/deadline.h"
#include "core/error.h"
#include "core/file_descriptor.h"

namespace xylem::bench {

constexpr std::size_t kIdBytes = 128;  // of ncclUniqueId

struct Command {
  enum Kind : std::uint32_t {
    kJoin,      // joins with `id`
    kPrepare,   // allocates buffers of `bytes` bytes with this rank's input; 0: frees them
    kRun,       // runs the warm-ups, then the iterations, whose times the reply has
    kRunApart,  // runs the iterations, each after a barrier, if `together` from the same instant on
    kCheck,     // runs once, and counts wrong elements
    kQuit,
  };
  Kind kind = kQuit;
  Operation operation{};
  std::uint64_t bytes = 0;
  std::uint32_t iterations = 0;
  std::uint32_t warmUps = 0;
  std::uint32_t inPlace = 0;
  std::uint32_t pipelined = 0;  // waits once, after all iterations
  std::uint32_t rewrites = 0;   // writes its input before each iteration
  std::uint32_t together = 0;
  std::array<char, kIdBytes> id{};
};

// The answer to each command. A rank also sends one without a command, when it is ready.
struct Reply {
  std::int32_t rank = 0;
  std::uint32_t failed = 0;
  std::int64_t begin = 0, end = 0;  // nanoseconds of CLOCK_MONOTONIC, the same in all processes
  std::int64_t apart = 0;           // nanoseconds: this rank's median iteration of kRunApart
  std::uint64_t wrong = 0;          // elements
  std::uint64_t preempted = 0;      // how often another program took the core during the iterations
  std::array<char, kIdBytes> id{};  // rank 0's first reply: the id with which all join
  std::array<char, 256> text{};     // the error; in rank 0's first reply the library's version
};

class ControlSocket {
 public:
  ControlSocket() = default;
  explicit ControlSocket(FileDescriptor fd) : fd_(std::move(fd)) {}
  static ControlSocket connect(const std::string& path);

  int fd() const { return fd_.get(); }
  pid_t peer() const;  // the process at the other end

  template <typename Message>
  void send(const Message& message) const {
    static_assert(std::is_trivially_copyable_v<Message>);
    sendBytes(&message, sizeof message);
  }
  // Returns false if the other end is gone.
  template <typename Message>
  bool receive(Message& message) const {
    return receiveBytes(&message, sizeof message);
  }
  // Throws Error after the deadline.
  template <typename Message>
  bool receive(Message& message, const Deadline& deadline) const {
    await(deadline);
    return receive(message);
  }

 private:
  void await(const Deadline& deadline) const;
  void sendBytes(const void* bytes, std::size_t count) const;
  bool receiveBytes(void* bytes, std::size_t count) const;

  FileDescriptor fd_;
};

class ControlListener {
 public:
  explicit ControlListener(std::string path);
  ~ControlListener();
  ControlListener(const ControlListener&) = delete;
  ControlListener& operator=(const ControlListener&) = delete;

  const std::string& path() const { return path_; }
  int fd() const { return fd_.get(); }
  ControlSocket accept() const;

 private:
  std::string path_;
  FileDescriptor fd_;
};

}  // namespace xylem::bench
