#pragma once
// The windows of all communicators of the process, for calls that have no communicator, and for those of other ranks.
//
//   rememberWindow(handle, {.comm = &comm, .start = start, .bytes = bytes});
//   if (const std::optional<Window> window = findWindow(handle)) ...
//   forgetWindow(handle);

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

struct ncclComm;

namespace xylem::api {

struct Window {
  const ncclComm* comm = nullptr;
  std::byte* start = nullptr;
  std::size_t bytes = 0;
  int flags = 0;
  std::uint64_t ordinal = 0;  // the same on all ranks, which register their windows in the same order
  int rank = 0;
  int ranks = 1;
};

void rememberWindow(const void* handle, const Window& window);
void forgetWindow(const void* handle);
void forgetWindowsOf(const ncclComm& comm);
std::optional<Window> findWindow(const void* handle);
std::vector<Window> windowsOf(const ncclComm& comm);

}  // namespace xylem::api
