#pragma once
// The number that tells hosts apart: ranks whose hashes are equal share a machine.
//
//   hostHash("/", "")        -> "0x8a3c…"  from host name and boot id
//   hostHash("/", "node-a")  -> from NCCL_HOSTID alone

#include <filesystem>
#include <string>
#include <string_view>

namespace xylem {

// As text in the form the `host_hash` attribute has.
std::string hostHash(const std::filesystem::path& root, std::string_view hostId);

}  // namespace xylem
