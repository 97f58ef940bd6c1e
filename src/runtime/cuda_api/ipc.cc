#include "runtime/cuda_api/ipc.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <tuple>

#include "core/file_descriptor.h"
#include "core/shareable_memory.h"
#include "runtime/cuda_api/cuda_error.h"

namespace xylem::cuda_api {
namespace {

const std::size_t kPage = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));

// A part of another process's region.
class Mapping {
 public:
  Mapping(int fd, std::size_t offset, std::size_t bytes) : before_(offset % kPage), length_(bytes + before_) {
    void* mapped =
        mmap(nullptr, length_, PROT_READ | PROT_WRITE, MAP_SHARED, fd, static_cast<off_t>(offset - before_));
    if (mapped == MAP_FAILED) throw CudaFailure(cudaErrorMapBufferObjectFailed);
    mapped_ = static_cast<std::byte*>(mapped);
  }
  ~Mapping() { munmap(mapped_, length_); }
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;
  std::byte* data() const { return mapped_ + before_; }
  std::size_t bytes() const { return length_ - before_; }

 private:
  std::size_t before_, length_;
  std::byte* mapped_ = nullptr;
};

struct Opened {
  std::unique_ptr<Mapping> mapping;
  int times = 0;
};
using Key = std::tuple<std::int32_t, std::uint64_t, std::uint64_t>;  // process, file, offset

struct OpenNames {
  std::mutex mutex;
  std::map<Key, Opened> all;
};
// Never destroyed: programs may close handles while the process ends.
OpenNames& openNames() {
  static OpenNames& names = *std::make_unique<OpenNames>().release();
  return names;
}

std::unique_ptr<Mapping> map(const IpcName& name) {
  const std::string path = "/proc/" + std::to_string(name.process) + "/fd/" + std::to_string(name.descriptor);
  const FileDescriptor fd(open(path.c_str(), O_RDWR | O_CLOEXEC));
  struct stat facts {};
  if (!fd || fstat(fd.get(), &facts) != 0 || facts.st_ino != name.file || facts.st_dev != name.device ||
      static_cast<std::uint64_t>(facts.st_size) < name.bytes ||
      static_cast<std::uint64_t>(facts.st_size) - name.bytes < name.offset)
    throw CudaFailure(cudaErrorMapBufferObjectFailed);
  return std::make_unique<Mapping>(fd.get(), name.offset, name.bytes);
}

void require(const IpcName& name, IpcKind kind) {
  if (name.magic != IpcName::kMagic || name.kind != kind || name.bytes == 0)
    throw CudaFailure(cudaErrorInvalidValue);
}

auto findOpen(OpenNames& names, const void* memory) {
  auto entry = names.all.begin();
  while (entry != names.all.end() && entry->second.mapping->data() != memory) ++entry;
  return entry;
}

}  // namespace

IpcName nameForIpc(const void* memory, std::size_t bytes, IpcKind kind) {
  const std::optional<ShareableMemory::Place> place = ShareableMemory::find(memory, bytes);
  if (!place) throw CudaFailure(cudaErrorInvalidValue);
  const int fd = ShareableMemory::fd(place->region);
  struct stat facts {};
  if (fstat(fd, &facts) != 0) throw CudaFailure(cudaErrorOperatingSystem);
  return {.kind = kind,
          .process = getpid(),
          .descriptor = fd,
          .device = facts.st_dev,
          .file = facts.st_ino,
          .offset = place->offset,
          .bytes = bytes};
}

std::shared_ptr<std::byte> mapIpc(const IpcName& name, IpcKind kind) {
  require(name, kind);
  std::shared_ptr<Mapping> mapping = map(name);
  return {mapping, mapping->data()};
}

void* openIpc(const IpcName& name, IpcKind kind) {
  require(name, kind);
  if (name.process == getpid()) throw CudaFailure(cudaErrorDeviceUninitialized);
  OpenNames& names = openNames();
  const std::lock_guard lock(names.mutex);
  const Key key{name.process, name.file, name.offset};
  auto entry = names.all.find(key);
  if (entry == names.all.end()) entry = names.all.emplace(key, Opened{map(name), 0}).first;
  ++entry->second.times;
  return entry->second.mapping->data();
}

bool closeIpc(const void* memory) {
  OpenNames& names = openNames();
  const std::lock_guard lock(names.mutex);
  const auto entry = findOpen(names, memory);
  if (entry == names.all.end()) return false;
  if (--entry->second.times == 0) names.all.erase(entry);
  return true;
}

std::size_t ipcBytesAt(const void* memory) {
  OpenNames& names = openNames();
  const std::lock_guard lock(names.mutex);
  const auto entry = findOpen(names, memory);
  return entry == names.all.end() ? 0 : entry->second.mapping->bytes();
}

}  // namespace xylem::cuda_api
