#pragma once
// Where exceptions end: a call's work runs inside `guard`, which turns what it throws into a result code and
// keeps the sentence for ncclGetLastError.
//
//   return guard([&] { *count = checked(comm, "ncclCommCount").ranks(); });

#include <memory>
#include <new>
#include <string>

#include "comm/communicator.h"
#include "core/log.h"
#include "nccl.h"

// What ncclComm_t points to.
struct ncclComm {
  explicit ncclComm(std::unique_ptr<xylem::Communicator> made) : impl(std::move(made)) {}
  ~ncclComm() { magic = 0; }

  static constexpr std::uint64_t kMagic = 0x78796c656d636f6dull;  // "xylemcom"
  // Tells a communicator from a pointer to something else, or to one that was destroyed.
  std::uint64_t magic = kMagic;
  std::unique_ptr<xylem::Communicator> impl;
  std::string failureText;  // what ncclGetLastError handed out last
};

namespace xylem {

// The logger of this process, made with the environment of the first call.
std::shared_ptr<const Logger> processLogger(const Settings& settings);

// The calling thread's last failure; empty if there was none.
std::string& lastErrorText();
ncclResult_t remember(ResultCode code, const std::string& text);

template <typename Work>
ncclResult_t guard(Work&& work) noexcept {
  try {
    work();
    return ncclSuccess;
  } catch (const Error& error) {
    return remember(error.code(), error.what());
  } catch (const std::bad_alloc&) {
    return remember(ResultCode::kSystemError, "out of memory");
  } catch (const std::exception& error) {
    return remember(ResultCode::kInternalError, error.what());
  }
}

// Throws, naming function and parameter, for null.
void requireNotNull(const void* pointer, const char* function, const char* parameter);
// The communicator behind a handle; throws if there is none.
Communicator& checked(ncclComm_t comm, const char* function);

}  // namespace xylem
