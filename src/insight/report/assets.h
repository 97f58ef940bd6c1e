#pragma once
// The files of this folder that the page consists of; they are compiled in (cmake/xylem_embed.cmake).

#include <string_view>

namespace xylem {

enum class Asset { kPage, kPageStyle, kMachineStyle, kPageScript };

std::string_view asset(Asset asset);

}  // namespace xylem
