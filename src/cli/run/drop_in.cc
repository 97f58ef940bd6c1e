#include "cli/run/drop_in.h"

#include <filesystem>

#include "cli/beside_command.h"
#include "core/error.h"

namespace xylem::cli {

std::string dropInPath(const std::string& old) {
  const std::filesystem::path folder =
      besideCommand({XYLEM_LIBDIR "/xylem/as-nccl", "lib/xylem/as-nccl", "as-nccl"}, "libnccl.so.2");
  if (folder.empty())
    throw InputError({"--as-nccl", 0}, "no folder as-nccl with libnccl.so.2 beside this command",
                     "an installed copy (cmake --install DIR), or a build of the target `installable`");
  return old.empty() ? folder.string() : folder.string() + ":" + old;
}

}  // namespace xylem::cli
