#pragma once
// Memory of large CPU tensors that ranks of one host can reach without copies.
//
//   installSharedAllocator();                                     // once, when xylem.torch is imported
//   if (!exposeToPeers(tensor.data_ptr(), bytes, storageBytes)) ... go through a buffer of one's own ...
//
// Peers can only map memory that lies in a file. Tensors from 1 MiB on therefore get addresses in the
// library's regions (core/shareable_memory.h), but private pages at first, so that a forked child has its own
// copy as of any tensor. The first operation that uses a tensor as a whole moves its pages into the region,
// at the same addresses; a gradient bucket goes through that once, and is then added and copied in place by
// all ranks.

#include <cstddef>

namespace xylem::torch {

// Makes torch take large tensors from here. Those that exist stay where they are.
void installSharedAllocator();
// Whether tensors made from now on come from here. True after installing.
void useSharedMemory(bool use) noexcept;
bool usesSharedMemory() noexcept;

// Before a communicator is given `bytes` bytes at `address`, which belong to a storage of `storageBytes`.
// False: they are part of a tensor whose pages are private, which must not be given to one.
bool exposeToPeers(void* address, std::size_t bytes, std::size_t storageBytes);
// Whether `address` is in memory that peers can map.
bool isExposed(const void* address);

}  // namespace xylem::torch
