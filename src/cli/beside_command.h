#pragma once
// Finds a folder that was installed beside this command (PREFIX/bin and, for example, PREFIX/share), or lies in the build or
// the sources that made it.
//
//   besideCommand({"share/xylem/topologies", "topologies"}, "dgxh100.xml")

#include <filesystem>
#include <initializer_list>

namespace xylem::cli {

// The first of `places`, below the nearest folder above the command, that has the file `mark`; empty if there is none.
std::filesystem::path besideCommand(std::initializer_list<const char*> places, const char* mark);

}  // namespace xylem::cli
