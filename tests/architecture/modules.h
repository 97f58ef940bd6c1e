#pragma once
// The table of modules in src/CMakeLists.txt as a value, and what breaks it.
//
//   const ModuleTable table = parseModules(text of src/CMakeLists.txt);
//   violations(table, "planner/paths/finder.cc", "#include \"planner/plan/plan.h\"\n")
//     ->  {"src/planner/paths/finder.cc:1: planner/paths may not include planner/plan (planner/plan/plan.h)"}

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace xylem::architecture {

struct ModuleTable {
  std::vector<std::string> order;                     // folders below src/, as written: lowest first
  std::map<std::string, std::set<std::string>> uses;  // folder -> the folders it may include
  std::set<std::string> planLibrary,
      runtimeLibrary;                   // the modules of libxylem-plan, and what libxylem has beside them
  std::set<std::string> publicHeaders;  // of include/ itself, such as nccl.h: not read from the table

  // The module that a file below src/ belongs to: the longest folder of the table that it lies in. Empty: none.
  std::string moduleOf(const std::string& path) const;
};

ModuleTable parseModules(std::string_view cmake);

// The faults of the table itself: modules that do not exist, arrows that go down, and wings that use what they may not:
// insight and the runtime may use the planner but not each other, and the planner may use neither.
std::vector<std::string> violations(const ModuleTable& table);

// The faults of the includes of one file; `path` is relative to src/.
std::vector<std::string> violations(const ModuleTable& table, const std::string& path, std::string_view text);

}  // namespace xylem::architecture
