#include "runtime/transport/local/shared_memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <cerrno>
#include <map>
#include <mutex>
#include <utility>

#include "core/address_space.h"
#include "core/error.h"
#include "core/resize_file.h"

namespace xylem::transport {
namespace {

// Throws unless `fd` is memory of at least `bytes` bytes that cannot shrink.
void checkPeers(const FileDescriptor& fd, std::size_t bytes) {
  // The kernel drops a descriptor for which the process has no place.
  if (!fd)
    throw Error(ResultCode::kSystemError, "cannot take over a peer's shared memory: {}", errnoText(EMFILE));
  struct stat status {};
  if (fstat(fd.get(), &status) != 0)
    throw Error(ResultCode::kSystemError, "cannot examine a peer's shared memory: {}", errnoText(errno));
  const int seals = fcntl(fd.get(), F_GET_SEALS);
  if (status.st_size < 0 || static_cast<std::size_t>(status.st_size) < bytes || seals < 0 ||
      (seals & F_SEAL_SHRINK) == 0)
    throw Error(ResultCode::kRemoteError,
                "a peer sent {} bytes of shared memory where {} sealed ones are needed", status.st_size,
                bytes);
}

// The shared memory that ranks of this process offer each other.
struct Table {
  std::mutex mutex;
  std::uint64_t last = 0;
  std::map<std::uint64_t, std::shared_ptr<SharedMemory>> entries;
};
Table& table() {
  static Table& table = *new Table;  // never destroyed: communicators may end after static objects
  return table;
}

}  // namespace

SharedMemory::SharedMemory(FileDescriptor fd, std::size_t bytes) : fd_(std::move(fd)), bytes_(bytes) {
  void* address = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd_.get(), 0);
  if (address == MAP_FAILED)
    throw Error(ResultCode::kSystemError, "cannot map {} bytes of shared memory: {}", bytes,
                errnoText(errno));
  data_ = static_cast<std::byte*>(address);
}

SharedMemory SharedMemory::create(const std::string& name, std::size_t bytes) {
  FileDescriptor fd(memfd_create(name.c_str(), MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!fd || !resizeFile(fd.get(), bytes))
    throw Error(ResultCode::kSystemError, "cannot create {} bytes of shared memory: {}", bytes,
                errnoText(errno));
  // A process that touches a mapping whose memory has shrunk is killed: seal the size.
  if (fcntl(fd.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0)
    throw Error(ResultCode::kSystemError, "cannot seal shared memory: {}", errnoText(errno));
  return SharedMemory(std::move(fd), bytes);
}

SharedMemory SharedMemory::open(FileDescriptor fd, std::size_t bytes) {
  checkPeers(fd, bytes);
  return SharedMemory(std::move(fd), bytes);
}

SharedMemory SharedMemory::open(FileDescriptor fd, std::size_t bytes, std::size_t colour) {
  checkPeers(fd, bytes);
  SharedMemory memory;
  memory.data_ = reserveAddresses(bytes, colour);
  memory.bytes_ = memory.data_ == nullptr ? 0 : bytes;
  if (memory.data_ == nullptr || mmap(memory.data_, bytes, PROT_READ | PROT_WRITE,
                                      MAP_SHARED | MAP_NORESERVE | MAP_FIXED, fd.get(), 0) == MAP_FAILED)
    throw Error(ResultCode::kSystemError, "cannot map {} bytes of shared memory: {}", bytes,
                errnoText(errno));
  memory.fd_ = std::move(fd);
  return memory;
}

SharedMemory::~SharedMemory() {
  if (data_ != nullptr) munmap(data_, bytes_);
}

SharedMemory::SharedMemory(SharedMemory&& other) noexcept
    : fd_(std::move(other.fd_)),
      data_(std::exchange(other.data_, nullptr)),
      bytes_(std::exchange(other.bytes_, 0)) {}

SharedMemory& SharedMemory::operator=(SharedMemory&& other) noexcept {
  std::swap(fd_, other.fd_);
  std::swap(data_, other.data_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

InProcess::InProcess(const std::shared_ptr<SharedMemory>& memory) {
  const std::lock_guard lock(table().mutex);
  handle_ = ++table().last;
  table().entries[handle_] = memory;
}

InProcess::~InProcess() {
  const std::lock_guard lock(table().mutex);
  table().entries.erase(handle_);
}

std::shared_ptr<SharedMemory> InProcess::find(std::uint64_t handle) {
  const std::lock_guard lock(table().mutex);
  const auto entry = table().entries.find(handle);
  return entry == table().entries.end() ? nullptr : entry->second;
}

}  // namespace xylem::transport
