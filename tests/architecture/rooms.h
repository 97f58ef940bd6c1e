#pragma once
// The table of rooms in src/CMakeLists.txt as a value, and what breaks it.
//
//   const RoomTable table = parseRooms(text of src/CMakeLists.txt);
//   violations(table, "paths/finder.cc", "#include \"plan/plan.h\"\n")
//     ->  {"src/paths/finder.cc:1: paths may not include plan (plan/plan.h)"}

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace xylem::architecture {

struct RoomTable {
  std::vector<std::string> order;                     // as written: lowest first
  std::map<std::string, std::set<std::string>> uses;  // room -> the rooms it may include
  std::set<std::string> planner, runtime;
  std::set<std::string> apart;          // in neither: of a library of its own, or of the command
  std::set<std::string> publicHeaders;  // of include/ itself, such as nccl.h: not read from the table
};

RoomTable parseRooms(std::string_view cmake);

// What is wrong with the table itself: unknown rooms, arrows that go down, a planner room that uses a runtime
// room.
std::vector<std::string> violations(const RoomTable& table);

// What is wrong with the includes of one file; `path` is relative to src/.
std::vector<std::string> violations(const RoomTable& table, const std::string& path, std::string_view text);

}  // namespace xylem::architecture
