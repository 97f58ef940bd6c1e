#pragma once
// The windows of all communicators of the process, for calls that have no communicator.
//
//   rememberWindow(handle, {&comm, start, rank, ranks});
//   ncclGetPeerDevicePointer(handle, 0, rank, &pointer);
//   forgetWindow(handle);

#include <cstddef>

struct ncclComm;

namespace xylem::api {

struct Window {
  const ncclComm* comm = nullptr;
  std::byte* start = nullptr;
  int rank = 0;
  int ranks = 1;
};

void rememberWindow(const void* handle, const Window& window);
void forgetWindow(const void* handle);
void forgetWindowsOf(const ncclComm& comm);

}  // namespace xylem::api
