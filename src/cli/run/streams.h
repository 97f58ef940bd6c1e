#pragma once
// The text between the processes of a job and this one's standard streams. None of it ever blocks, so that a
// reader that does not read cannot keep the job from being ended.
//
//   LineTagger lines("[3] ");
//   OutputQueue out(STDOUT_FILENO);
//   out.add(lines.add("half a li"));      // adds nothing
//   out.add(lines.add("ne\nand"));        // adds "[3] half a line\n"
//   out.add(lines.finish());              // adds "[3] and\n"
//   poll for POLLOUT while !out.empty(), then out.write();

#include <poll.h>

#include <string>
#include <string_view>

#include "core/file_descriptor.h"

namespace xylem::cli {

// Turns the output of a process into whole lines with a tag in front, so that lines of several processes can
// be mixed.
class LineTagger {
 public:
  // Longer lines are cut, so that memory stays bounded.
  static constexpr std::size_t kMaxLineLength = std::size_t{64} << 10;

  explicit LineTagger(std::string tag) : tag_(std::move(tag)) {}

  // Returns the lines that `text` completes.
  std::string add(std::string_view text);
  // Returns the unfinished line, if any, with a newline.
  std::string finish();

 private:
  std::string tag_;
  std::string partial_;
};

// Text that waits to be written to a descriptor.
class OutputQueue {
 public:
  explicit OutputQueue(int fd) : fd_(fd) {}

  int fd() const { return fd_; }
  bool empty() const { return at_ == text_.size(); }
  // True if a megabyte waits: the processes should wait, too.
  bool full() const { return text_.size() - at_ > kMaxBytes; }
  // True if the reader is gone. From then on the queue drops all text.
  bool broken() const { return broken_; }

  void add(std::string_view text);
  // Writes as much as the descriptor accepts now.
  void write();
  void drop() { text_.clear(), at_ = 0; }

 private:
  static constexpr std::size_t kMaxBytes = std::size_t{1} << 20;

  int fd_;
  std::string text_;
  std::size_t at_ = 0;
  bool broken_ = false;
};

// Passes text typed at the terminal on to a process of the job, which cannot read the terminal itself since
// its process group is not in the foreground. If standard input is no terminal, the process reads it
// directly.
//
//   TerminalInput input;
//   start the process with input.processEnd();  input.started();
//   poll input.waitingFor(), then input.pass();
class TerminalInput {
 public:
  TerminalInput();

  // The descriptor that the process reads; -1 if there is no standard input.
  int processEnd() const { return processEnd_ ? processEnd_.get() : inherited_; }
  // To be called once the process has its descriptor.
  void started() { processEnd_.reset(); }
  // The descriptor to poll; negative if there is nothing to wait for.
  pollfd waitingFor() const;
  // To be called when waitingFor() is ready.
  void pass();

 private:
  int inherited_ = -1;
  FileDescriptor processEnd_, ourEnd_;
  std::string typed_;
};

}  // namespace xylem::cli
