#pragma once
// Where goldens and their machines lie. The repository's machines are in topologies/, NCCL's plans of them in
// tests/golden/nccl and tests/golden/mixed; a further collection has both together, in own/ and cloud/.
//
//   topology::readTopology(machineOf(golden, golden["input"]["topology"]).string());

#include <filesystem>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>

#include "planner/rules/changes.h"

namespace xylem::golden {

inline std::filesystem::path zoo() { return std::filesystem::path(XYLEM_SOURCE_DIR) / "topologies"; }
inline std::filesystem::path repositoryGoldens() {
  return std::filesystem::path(XYLEM_SOURCE_DIR) / "tests/golden";
}

// The file of the machine that a golden names: in the golden's folder, in those beside it, or in the zoo.
inline std::filesystem::path machineOf(const std::filesystem::path& golden, const std::string& name) {
  const std::filesystem::path folder = golden.parent_path();
  for (const char* other : {".", "../own", "../cloud"})
    if (exists(folder / other / name)) return folder / other / name;
  return zoo() / name;
}

// The rules of the version that a plan names in `input`, which those of 2.25.1 do not.
inline std::shared_ptr<const rules::RuleSet> rulesOf(const nlohmann::json& input) {
  return rules::rulesOf(rules::parseVersion(input.value("nccl", "2.25.1")).value());
}

inline std::string textOf(const std::filesystem::path& file) {
  std::ostringstream text;
  text << std::ifstream(file, std::ios::binary).rdbuf();
  return text.str();
}

}  // namespace xylem::golden
