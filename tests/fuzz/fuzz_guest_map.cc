// libFuzzer's entry: bytes as a guest's map of devices. CONTRIBUTING.md says how to run it.

#include <cstddef>
#include <cstdint>

#include "fuzz/guest_map_input.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  xylem::feedGuestMap({reinterpret_cast<const char*>(data), size});
  return 0;
}
