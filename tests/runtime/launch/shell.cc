#include "runtime/launch/shell.h"

#include <sys/wait.h>

#include <array>
#include <cstdio>

namespace xylem::testing {

Ended shellForHosts(const std::string& line) {
  const std::string all =
      "exec 2>&1; unset $(env | sed -n 's/^\\(\\(NCCL\\|XYLEM\\|SLURM\\|PMI\\|PMIX\\|OMPI\\)_[A-Z0-9_]*\\|"
      "RANK\\|WORLD_SIZE\\)=.*/\\1/p'); export XYLEM_TIMEOUT=90; " +
      line;
  std::FILE* pipe = popen(all.c_str(), "r");
  std::string output;
  std::array<char, 4096> buffer{};
  while (const std::size_t count = std::fread(buffer.data(), 1, buffer.size(), pipe))
    output.append(buffer.data(), count);
  const int status = pclose(pipe);
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, output};
}

Ended shell(const std::string& line) { return shellForHosts("export NCCL_SOCKET_IFNAME=lo; " + line); }

bool isInstalled(const std::string& program) { return shell("command -v " + program).status == 0; }

}  // namespace xylem::testing
