#pragma once
// Messages from one rank to another, with tags. Each pair has a communicator and a thread of its own, so that
// a message that is not received delays only those behind it, not collectives or the other direction.
//
//   PairChannel channel(PairChannel::Direction::kSend, connect);
//   channel.post({data, bytes, tag, deadline, done});      // done(failure) is called on the channel's thread
//
// The sender sends tag and size before each message. The receiver takes messages while any receive is
// waiting, and keeps those that no receive waits for yet, so that messages of different tags never block each
// other.

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "torch/membership.h"

namespace xylem::torch {

struct Message {
  std::byte* data = nullptr;
  std::size_t bytes = 0;
  std::int64_t tag = 0;
  // A program that waits for it with a time-out makes it earlier.
  std::shared_ptr<const std::atomic<std::chrono::steady_clock::time_point>> deadline;
  std::function<void(std::exception_ptr)> done;
};

class PairChannel {
 public:
  enum class Direction { kSend, kReceive };
  // Called on the channel's thread with the first message; it asks now and then whether to go on.
  using Connect = std::function<std::unique_ptr<Membership>(const std::function<void()>& throwIfOver)>;

  // `peer`: the other rank, for errors.
  PairChannel(Direction direction, int peer, Connect connect);
  // Aborts operations under way; everything posted fails.
  ~PairChannel();
  PairChannel(const PairChannel&) = delete;
  PairChannel& operator=(const PairChannel&) = delete;

  void post(Message message);
  // Aborts if a message is past its deadline. Returns the next deadline, if there is any.
  std::optional<std::chrono::steady_clock::time_point> expire();

 private:
  struct Header {
    std::int64_t tag = 0;
    std::uint64_t bytes = 0;
  };
  struct Kept {
    std::int64_t tag = 0;
    std::vector<std::byte> data;
  };

  void run();
  void serve(Membership& member);
  void sendOne(Membership& member);
  void receiveOne(Membership& member);
  bool takeKept();
  std::optional<Message> take(std::int64_t tag);
  void breakOff(const std::string& reason);
  void throwIfOver();
  void failAll(std::exception_ptr failure);

  const Direction direction_;
  const int peer_;
  const Connect connect_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Message> posted_;
  std::deque<Kept> kept_;
  Header header_;  // of the message under way
  std::optional<Message> current_;
  std::shared_ptr<Membership> member_;
  std::optional<std::string> broken_;
  bool ending_ = false;
  std::thread thread_;
};

}  // namespace xylem::torch
