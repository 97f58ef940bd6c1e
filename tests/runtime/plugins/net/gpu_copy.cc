#include "gpu_copy.h"

#include <dlfcn.h>

#include <algorithm>
#include <cstdint>
#include <cstring>

namespace test_net {
namespace {

constexpr std::size_t kPinnedBytes = std::size_t{64} << 10;
constexpr int kContextOf = 1;         // CU_POINTER_ATTRIBUTE_CONTEXT
constexpr unsigned kNonBlocking = 1;  // CU_STREAM_NON_BLOCKING: other streams' kernels may wait for the copy

struct Driver {
  int (*cuPointerGetAttribute)(void* value, int which, std::uint64_t address);
  int (*cuCtxPushCurrent_v2)(void* context);
  int (*cuCtxPopCurrent_v2)(void** context);
  int (*cuStreamCreate)(void** stream, unsigned flags);
  int (*cuStreamDestroy_v2)(void* stream);
  int (*cuStreamSynchronize)(void* stream);
  int (*cuMemAllocHost_v2)(void** memory, std::size_t bytes);
  int (*cuMemFreeHost)(void* memory);
  int (*cuMemcpyAsync)(std::uint64_t to, std::uint64_t from, std::size_t bytes, void* stream);
  bool isLoaded = false;

  Driver() {
    void* const library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
    if (library == nullptr) return;
#define FIND(NAME) ((NAME = reinterpret_cast<decltype(NAME)>(dlsym(library, #NAME))) != nullptr)
    isLoaded = FIND(cuPointerGetAttribute) && FIND(cuCtxPushCurrent_v2) && FIND(cuCtxPopCurrent_v2) &&
               FIND(cuStreamCreate) && FIND(cuStreamDestroy_v2) && FIND(cuStreamSynchronize) &&
               FIND(cuMemAllocHost_v2) && FIND(cuMemFreeHost) && FIND(cuMemcpyAsync);
#undef FIND
  }
};

const Driver& driver() {
  static const Driver loaded;
  return loaded;
}

std::uint64_t address(const void* memory) { return reinterpret_cast<std::uintptr_t>(memory); }

class EnteredContext {
 public:
  explicit EnteredContext(void* context) : isIn_(driver().cuCtxPushCurrent_v2(context) == 0) {}
  ~EnteredContext() {
    void* context = nullptr;
    if (isIn_) driver().cuCtxPopCurrent_v2(&context);
  }
  EnteredContext(const EnteredContext&) = delete;
  EnteredContext& operator=(const EnteredContext&) = delete;

 private:
  const bool isIn_;
};

}  // namespace

bool copiesByDriver() { return driver().isLoaded; }

GpuCopier::GpuCopier(const std::byte* gpu) {
  if (driver().cuPointerGetAttribute(&context_, kContextOf, address(gpu)) != 0) return;
  const EnteredContext entered(context_);
  driver().cuStreamCreate(&stream_, kNonBlocking);
  driver().cuMemAllocHost_v2(&pinned_, kPinnedBytes);
}

GpuCopier::~GpuCopier() {
  if (context_ == nullptr) return;
  const EnteredContext entered(context_);
  if (stream_ != nullptr) driver().cuStreamDestroy_v2(stream_);
  if (pinned_ != nullptr) driver().cuMemFreeHost(pinned_);
}

bool GpuCopier::out(std::byte* to, const std::byte* gpu, std::size_t bytes) {
  if (pinned_ == nullptr || stream_ == nullptr) return false;
  const std::lock_guard lock(mutex_);
  const EnteredContext entered(context_);
  for (std::size_t at = 0, n = 0; at < bytes; at += n) {
    n = std::min(bytes - at, kPinnedBytes);
    if (driver().cuMemcpyAsync(address(pinned_), address(gpu + at), n, stream_) != 0 ||
        driver().cuStreamSynchronize(stream_) != 0)
      return false;
    std::memcpy(to + at, pinned_, n);
  }
  return true;
}

bool GpuCopier::in(std::byte* gpu, const std::byte* from, std::size_t bytes) {
  if (pinned_ == nullptr || stream_ == nullptr) return false;
  const std::lock_guard lock(mutex_);
  const EnteredContext entered(context_);
  for (std::size_t at = 0, n = 0; at < bytes; at += n) {
    n = std::min(bytes - at, kPinnedBytes);
    std::memcpy(pinned_, from + at, n);
    if (driver().cuMemcpyAsync(address(gpu + at), address(pinned_), n, stream_) != 0 ||
        driver().cuStreamSynchronize(stream_) != 0)
      return false;
  }
  return true;
}

}  // namespace test_net
