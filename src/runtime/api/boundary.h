#pragma once
// Where exceptions end: a call's work runs inside `guard`, which turns what it throws into a result code and
// keeps the sentence for ncclGetLastError.
//
//   return guard([&] { *count = handleOf(comm, "ncclCommCount")->ranks(); });
//
// Calls that a group collects run inside `guardInGroup`: their failure is the group's.

#include <exception>
#include <new>
#include <string>

#include "runtime/comm/issue/group.h"
#include "core/error.h"
#include "core/log.h"
#include "nccl.h"

namespace xylem {

// The logger of this process, made with the environment of the first call.
std::shared_ptr<const Logger> processLogger(const Settings& settings);
// Makes the next call make a new one; communicators keep theirs.
void forgetLogger();

// The calling thread's last failure; empty if there was none.
std::string& lastErrorText();
ncclResult_t remember(ResultCode code, const std::string& text);

// What an exception says, as an Error.
Error asError(const std::exception& exception);

template <typename Work>
ncclResult_t run(Work&& work) {
  if constexpr (std::is_void_v<decltype(work())>) {
    work();
    return ncclSuccess;
  } else {
    return work();
  }
}

template <typename Work>
ncclResult_t guard(Work&& work) noexcept {
  try {
    return run(work);
  } catch (const std::exception& exception) {
    const Error error = asError(exception);
    return remember(error.code(), error.what());
  }
}

template <typename Work>
ncclResult_t guardInGroup(Work&& work) noexcept {
  try {
    return run(work);
  } catch (const std::exception& exception) {
    const Error error = asError(exception);
    if (groupDepth() > 0) failGroup(error);
    return remember(error.code(), error.what());
  }
}

// Puts the name of the call before what `work` throws.
template <typename Work>
auto inCall(const char* function, Work&& work) {
  try {
    return work();
  } catch (const Error& error) {
    throw Error(error.code(), "{}: {}", function, error.what());
  }
}

// Throws, naming function and parameter, for null.
[[noreturn]] void throwNull(const char* function, const char* parameter);
inline void requireNotNull(const void* pointer, const char* function, const char* parameter) {
  if (pointer == nullptr) throwNull(function, parameter);
}

}  // namespace xylem
