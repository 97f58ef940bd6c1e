#pragma once
// Allocates large CPU tensors so that ranks of one host can read and write them without copies.
//
//   installSharedAllocator();                                     // once, when xylem.torch is imported
//   if (!exposeToPeers(tensor.data_ptr(), bytes, storageBytes)) ... go through a buffer of one's own ...
//
// Peers can only map memory that is in a file. So tensors of 1 MiB and more get addresses in the library's
// regions (core/shareable_memory.h), but at first with private pages, so that a forked child has its own copy
// as of any tensor. The first operation that uses a whole tensor moves its pages into the region, at the same
// addresses. A gradient bucket is moved once, and from then on all ranks add and copy it in place.

#include <cstddef>

namespace xylem::torch {

// Makes torch allocate large tensors here. Existing tensors stay where they are.
void installSharedAllocator();
// Sets whether new tensors come from here. True after installing.
void useSharedMemory(bool use) noexcept;
bool usesSharedMemory() noexcept;

// Must be called before a communicator gets `bytes` bytes at `address`, which belong to a storage of
// `storageBytes`. Returns false if they are part of a tensor with private pages, which must not be given to a
// communicator.
bool exposeToPeers(void* address, std::size_t bytes, std::size_t storageBytes);
// Returns whether `address` is in memory that peers can map.
bool isExposed(const void* address);

}  // namespace xylem::torch
