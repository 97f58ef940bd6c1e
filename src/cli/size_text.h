#pragma once
// Numbers of bytes as people write them.

#include <cstddef>
#include <cstdint>
#include <string>

namespace xylem::cli {

// "512 B", "64 KiB", "3 GiB". A number that is not a whole multiple of the next unit stays in the smaller one.
std::string sizeText(std::uint64_t bytes);

// "8", "64K", "1.5M", "2G" (powers of 1024). Throws InputError naming `option`.
std::size_t parseBytes(const std::string& text, const std::string& option);

}  // namespace xylem::cli
