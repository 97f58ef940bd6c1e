#pragma once
// Which devices of a host a virtual machine has, and what they are called inside of it.
//
//   # host        guest         name in the guest
//   0000:1b:00.0  0000:05:00.0
//   mlx5_0        0000:06:00.0  mlx5_3
//   gpu3=0000:07:00.0
//   numa1         numa0
//
// A device of the host is named by its bus id, as gpuN (the gpu with dev N), or by the name of its network
// device. A line for `numaN` says which NUMA node of the guest that one is, with the mask of its CPUs if a
// third word gives it.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace xylem {

struct GuestDevice {
  std::string host;         // as written
  std::uint64_t busId = 0;  // in the guest
  std::string name;         // of the network device in the guest; empty: not given
  int line = 0;
};

struct GuestNuma {
  int host = 0, guest = 0;
  std::string affinity;  // empty: not given
  int line = 0;
};

struct GuestMap {
  std::string file;
  std::vector<GuestDevice> devices;
  std::vector<GuestNuma> numas;
};

// Throws InputError with file and line.
GuestMap parseGuestMap(std::string_view text, const std::string& file);
GuestMap readGuestMap(const std::string& path);

}  // namespace xylem
