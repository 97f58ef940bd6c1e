#pragma once
// Where exceptions end: the work of a call of nccl.h runs inside `guard`, which turns an exception into a
// result code and keeps its text for ncclGetLastError.
//
//   return guard([&] { *version = NCCL_VERSION_CODE; });
//
// Calls that a group collects run inside `guardInGroup`: if one fails, the group fails.

#include <exception>
#include <new>
#include <string>

#include "core/error.h"
#include "core/log.h"
#include "nccl.h"
#include "runtime/comm/issue/group.h"

namespace xylem::api {

// The logger of this process, created by the first call with the environment of that time.
std::shared_ptr<const Logger> processLogger(const Settings& settings);
// The next call of processLogger creates a new one; communicators keep theirs.
void forgetLogger();

// The calling thread's last failure; empty if there was none.
std::string& lastErrorText();
ncclResult_t remember(ResultCode code, const std::string& text);

// An Error with the text of the exception.
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
    if (comm::groupDepth() > 0) comm::failGroup(error);
    return remember(error.code(), error.what());
  }
}

// Puts the name of the call before the text of an Error that `work` throws.
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

}  // namespace xylem::api

// The second name of a function of nccl.h: pncclX is the function, ncclX a weak alias of it. A profiler's
// ncclX takes the place of the alias and can call pncclX. Inside the library only pncclX is called, so that a
// profiler sees one call for each that the program makes.
//
//   ncclResult_t pncclGetVersion(int* version) { return guard([&] { *version = NCCL_VERSION_CODE; }); }
//   XYLEM_PROFILED(GetVersion);
#define XYLEM_PROFILED(NAME) \
  extern "C"                 \
      __attribute__((weak, alias("pnccl" #NAME), visibility("default"))) decltype(pnccl##NAME) nccl##NAME
