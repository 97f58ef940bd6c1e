#include "cli/run/drop_in.h"

#include <filesystem>

#include "core/error.h"

namespace xylem::cli {
namespace {

namespace fs = std::filesystem;

// The folder is in PREFIX/lib beside PREFIX/bin, or in the build that made this command.
fs::path dropInFolder() {
  std::error_code error;
  fs::path folder = fs::read_symlink("/proc/self/exe", error).parent_path();
  constexpr int kMaxParents = 3;
  for (int i = 0; i < kMaxParents && !folder.empty(); ++i, folder = folder.parent_path())
    for (const char* place : {XYLEM_LIBDIR "/xylem/as-nccl", "lib/xylem/as-nccl", "as-nccl"})
      if (fs::exists(folder / place / "libnccl.so.2", error)) return folder / place;
  return {};
}

}  // namespace

std::string dropInPath(const std::string& old) {
  const fs::path folder = dropInFolder();
  if (folder.empty())
    throw InputError({"--as-nccl", 0}, "no folder as-nccl with libnccl.so.2 beside this command",
                     "an installed copy (cmake --install DIR), or a build of the target `installable`");
  return old.empty() ? folder.string() : folder.string() + ":" + old;
}

}  // namespace xylem::cli
