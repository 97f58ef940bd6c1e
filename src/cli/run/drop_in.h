#pragma once
// The folder of libraries under the names that programs built for NCCL and CUDA 12 ask the loader for
// (cmake/xylem_drop_in.cmake).
//
//   program.emplace_back("LD_LIBRARY_PATH", dropInPath(old));

#include <string>

namespace xylem::cli {

// The value of LD_LIBRARY_PATH with the folder before `old`, which may be empty. Throws InputError if the folder is
// neither where this command is installed nor in its build.
std::string dropInPath(const std::string& old);

}  // namespace xylem::cli
