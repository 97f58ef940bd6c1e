#pragma once
// Numbers of bytes as people write them: "512 B", "64 KiB", "3 GiB". What is no whole number of the next unit
// stays in the smaller one.

#include <cstdint>
#include <string>

namespace xylem::cli {

std::string sizeText(std::uint64_t bytes);

}  // namespace xylem::cli
