#include "cli/run/drop_in.h"

#include <filesystem>
#include <initializer_list>

#include "cli/beside_command.h"
#include "core/error.h"

namespace xylem::cli {

std::string dropInPath(const std::string& old, bool onGpus) {
  const auto find = [](std::initializer_list<const char*> places) {
    return besideCommand(places, "libnccl.so.2");
  };
  const std::filesystem::path folder =
      onGpus ? find({XYLEM_LIBDIR "/xylem/as-nccl-gpu", "lib/xylem/as-nccl-gpu", "src/gpu/as-nccl-gpu"})
             : find({XYLEM_LIBDIR "/xylem/as-nccl", "lib/xylem/as-nccl", "as-nccl"});
  if (folder.empty() && onGpus)
    throw InputError({"--as-nccl", 0}, "no folder as-nccl-gpu with libnccl.so.2 beside this command",
                     "an installed copy that was built where nvcc is, as XYLEM_DEVICE is gpu");
  if (folder.empty())
    throw InputError({"--as-nccl", 0}, "no folder as-nccl with libnccl.so.2 beside this command",
                     "an installed copy (cmake --install DIR), or a build of the target `installable`");
  return old.empty() ? folder.string() : folder.string() + ":" + old;
}

}  // namespace xylem::cli
