#pragma once
// The folders of libraries under the names that programs ask the loader for (cmake/xylem_drop_in.cmake): those of NCCL and CUDA 12 for
// host devices, and that of NCCL alone for GPUs.
//
//   program.emplace_back("LD_LIBRARY_PATH", dropInPath(old, onGpus));

#include <string>

namespace xylem::cli {

// The value of LD_LIBRARY_PATH with the folder for host devices, or for GPUs, before `old`, which may be empty. Throws InputError if the
// folder is neither where this command is installed nor in its build.
std::string dropInPath(const std::string& old, bool onGpus);

}  // namespace xylem::cli
