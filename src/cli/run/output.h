#pragma once
// What waits to be written to a standard stream of `xylem run`: never blocks, so that a reader that does not
// read cannot keep the job from being ended.
//
//   OutputQueue out(STDOUT_FILENO);
//   out.add(lines);
//   poll for POLLOUT while !out.empty(), then out.write();

#include <string>
#include <string_view>

namespace xylem::cli {

class OutputQueue {
 public:
  explicit OutputQueue(int fd) : fd_(fd) {}

  int fd() const { return fd_; }
  bool empty() const { return at_ == text_.size(); }
  // Enough waits: ranks have to wait, too.
  bool full() const { return text_.size() - at_ > kMostBytes; }
  // The reader is gone.
  bool broken() const { return broken_; }

  void add(std::string_view text);
  // As much as there is room for.
  void write();
  void drop() { text_.clear(), at_ = 0; }

 private:
  static constexpr std::size_t kMostBytes = std::size_t{1} << 20;

  int fd_;
  std::string text_;
  std::size_t at_ = 0;
  bool broken_ = false;
};

}  // namespace xylem::cli
