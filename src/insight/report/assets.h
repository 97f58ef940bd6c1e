#pragma once
// The HTML, style and script files of this folder, which are compiled into the program
// (cmake/xylem_embed.cmake).
//
//   page += asset(Asset::kPageStyle);

#include <string_view>

namespace xylem::report {

enum class Asset { kPage, kPageStyle, kMachineStyle, kPageScript };

std::string_view asset(Asset asset);

}  // namespace xylem::report
