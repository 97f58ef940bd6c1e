#include "planner/topology/detect_host_hash.h"

#include <fmt/core.h>

#include <cstdint>

#include "planner/topology/detect_files.h"

namespace xylem {
namespace {

// Bernstein's hash with exclusive or, in 64 bits.
constexpr std::uint64_t kSeed = 5381;
constexpr std::uint64_t kFactor = 33;

std::uint64_t hashText(std::string_view text) {
  std::uint64_t hash = kSeed;
  for (const char c : text) hash = (hash * kFactor) ^ static_cast<unsigned char>(c);
  return hash;
}

}  // namespace

std::string hostHash(const std::filesystem::path& root, std::string_view hostId) {
  std::string identity(hostId);
  // The boot id tells machines apart that were cloned with one name, and containers of one machine stay
  // together.
  if (identity.empty())
    identity =
        readLine(root / "proc/sys/kernel/hostname") + readLine(root / "proc/sys/kernel/random/boot_id");
  return fmt::format("{:#x}", hashText(identity));
}

}  // namespace xylem
