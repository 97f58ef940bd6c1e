#pragma once
// Errors of the library: one exception type that carries a result code and a message saying what was tried,
// on what, and what to do about it. The C boundary (api/) turns it into an ncclResult_t; the command into
// exit status 2.
//
//   throw Error(ResultCode::kInvalidArgument, "ncclAllReduce: count {} does not fit in 64 bits", count);
//   throw InputError({"dgx.xml", 12}, "gpu without `sm`", "the compute capability as major*10+minor");

#include <fmt/core.h>

#include <stdexcept>
#include <string>
#include <utility>

namespace xylem {

// The numbers are those of ncclResult_t.
enum class ResultCode : int {
  kSuccess = 0,
  kUnhandledCudaError = 1,
  kSystemError = 2,
  kInternalError = 3,
  kInvalidArgument = 4,
  kInvalidUsage = 5,
  kRemoteError = 6,
  kInProgress = 7,
};

class Error : public std::runtime_error {
 public:
  template <typename... Args>
  Error(ResultCode code, fmt::format_string<Args...> text, Args&&... args)
      : std::runtime_error(fmt::format(text, std::forward<Args>(args)...)), code_(code) {}

  ResultCode code() const { return code_; }

 private:
  ResultCode code_;
};

// A place in a file that a person wrote; line 0 means the file as a whole.
struct SourceLocation {
  std::string file;
  int line = 0;
};

std::string toString(const SourceLocation& location);

// Thrown if something that a person wrote (a topology file, a setting, an option) cannot be used.
class InputError : public Error {
 public:
  InputError(SourceLocation location, const std::string& found, const std::string& expected)
      : Error(ResultCode::kInvalidArgument, "{}: found {}; expected {}", toString(location), found, expected),
        location_(std::move(location)),
        found_(found),
        expected_(expected) {}

  const SourceLocation& location() const { return location_; }
  const std::string& found() const { return found_; }
  const std::string& expected() const { return expected_; }

 private:
  SourceLocation location_;
  std::string found_, expected_;
};

// The text of an errno value, thread-safe. If a limit of the process explains it (`ulimit`), which one, its value and
// what to do.
std::string errnoText(int errnum);
// The same where a thread or a process cannot be started.
std::string startFailureText(int errnum);
// "out of memory", with the limit if the process has one (ulimit -v).
std::string outOfMemoryText();
// Any exception as an Error: memory and threads that the system refuses are kSystemError, with the limit.
Error errorOf(const std::exception& exception);

}  // namespace xylem
