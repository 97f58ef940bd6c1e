#pragma once
// Steps of random sizes through one queue, with payload that the reader checks.
//
//   Traffic out(seed, 300, {Protocol::kLl});      // the reader makes the same
//   out.send(end);                                // as far as it goes

#include <algorithm>
#include <cstring>
#include <random>
#include <vector>

#include "ranks.h"

namespace xylem {

// One direction of one queue, step after step as far as it goes: both sides draw the same sizes.
class Traffic {
 public:
  Traffic(std::uint64_t seed, int steps, const std::vector<Protocol>& protocols)
      : seed_(seed), random_(static_cast<unsigned>(seed)), left_(steps), protocols_(protocols) {}
  bool done() const { return left_ == 0; }

  void send(SendEnd& end) {
    for (; !done(); drawn_ = false) {
      if (draw([&](Protocol p) { return end.stepBytes(p); })) data_ = pattern(bytes_, seed_ + step_);
      if (inPlace_) {
        std::byte* room = end.reserve(protocol_);
        if (room == nullptr) return;
        check(end.reserve(protocol_) == room, "the same room");
        std::memcpy(room, data_.data(), bytes_);
        end.commit(protocol_, bytes_);
      } else if (!end.send(protocol_, data_.data(), bytes_)) {
        return;
      }
      --left_;
    }
  }
  void receive(RecvEnd& end) {
    for (; !done(); drawn_ = false) {
      draw([&](Protocol p) { return end.stepBytes(p); });
      data_.resize(bytes_);
      if (inPlace_) {
        const std::byte* there = end.peek(protocol_, bytes_);
        if (there == nullptr) return;
        std::memcpy(data_.data(), there, bytes_);
        end.release(protocol_);
      } else if (!end.take(protocol_, data_.data(), bytes_)) {
        return;
      }
      check(same(data_, pattern(bytes_, seed_ + step_)), fmt::format("payload of step {}", step_));
      --left_;
    }
  }

 private:
  // Chooses the next step, unless the last one has still to be sent or received; true if it did.
  template <typename StepBytesOf>
  bool draw(StepBytesOf stepBytes) {
    if (drawn_) return false;
    drawn_ = true;
    ++step_;
    protocol_ = protocols_[random_() % protocols_.size()];
    const std::size_t most = stepBytes(protocol_);
    bytes_ =
        random_() % 4 == 0 ? most : 1 + random_() % std::min<std::size_t>(most, random_() % 2 ? most : 100);
    inPlace_ = random_() % 2 == 0;
    return true;
  }

  std::uint64_t seed_;
  std::mt19937 random_;
  int left_;
  std::vector<Protocol> protocols_;
  bool drawn_ = false;
  std::uint64_t step_ = 0;
  Protocol protocol_ = Protocol::kSimple;
  std::size_t bytes_ = 0;
  bool inPlace_ = false;
  std::vector<std::byte> data_;
};

}  // namespace xylem
