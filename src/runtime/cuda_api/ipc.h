#pragma once
// Names of memory for other processes of this host: the content of cudaIpcMemHandle_t, cudaIpcEventHandle_t and
// cudaMemPoolPtrExportData.
//
//   const IpcName name = nameForIpc(data, bytes, IpcKind::kMemory);
//   void* theirs = openIpc(name, IpcKind::kMemory);   // in another process
//   closeIpc(theirs);
//
// A name has the process and the file descriptor of the memory's region (core/shareable_memory.h), which
// another process opens through /proc, and the identity of the file, by which a descriptor that was reused
// meanwhile is noticed.

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <memory>

#include "host/cuda_runtime.h"

namespace xylem::cuda_api {

enum class IpcKind : std::uint32_t { kMemory = 1, kEvent = 2, kPooled = 3, kWindow = 4 };

struct IpcName {
  static constexpr std::uint64_t kMagic = 0x78796c656d697063ull;  // "xylemipc"
  std::uint64_t magic = kMagic;
  IpcKind kind = IpcKind::kMemory;
  std::int32_t process = 0;
  std::int32_t descriptor = -1;
  std::uint32_t unused = 0;
  std::uint64_t device = 0;  // of the file
  std::uint64_t file = 0;    // its inode
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
};
static_assert(sizeof(IpcName) <= CUDA_IPC_HANDLE_SIZE);

// Throws CudaFailure (cudaErrorInvalidValue) for memory that is not shareable.
IpcName nameForIpc(const void* memory, std::size_t bytes, IpcKind kind);
// Maps the memory, at the same address each time until it was closed as often as opened. Throws CudaFailure.
void* openIpc(const IpcName& name, IpcKind kind);
// Maps the memory at an address of its own, until the result is gone; also memory of this process. Throws CudaFailure.
std::shared_ptr<std::byte> mapIpc(const IpcName& name, IpcKind kind);
// False if no memory is open at this address.
bool closeIpc(const void* memory);
// The number of bytes open at this address; 0 if there are none.
std::size_t ipcBytesAt(const void* memory);

}  // namespace xylem::cuda_api
