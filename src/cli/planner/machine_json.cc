#include "cli/planner/machine_json.h"

#include "planner/plan/host_json.h"

namespace xylem::cli {

std::string machineJson(const Document& document, const System& system, const PathTable& paths) {
  const Json machine = {{"topology", document.file()},
                        {"counts", countsJson(system)},
                        {"nodes", nodesJson(system)},
                        {"links", linksJson(system)},
                        {"paths", pathsJson(system, paths)}};
  return machine.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + '\n';
}

}  // namespace xylem::cli
