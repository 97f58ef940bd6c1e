#pragma once
// Questions to plans of the zoo's machines.
//
//   const Answer answer = ask("seed-a40x2", 2, {"gdr", "gpu0", "nic2"}, {{"NCCL_NET_GDR_LEVEL", "SYS"}});

#include <map>
#include <string>
#include <vector>

#include "insight/why/why.h"

namespace xylem::testing {

inline Answer ask(const std::string& machine, int hosts, const std::vector<std::string>& words,
                  const std::map<std::string, std::string>& settings = {}) {
  const std::string file = std::string(XYLEM_SOURCE_DIR) + "/topologies/" + machine + ".xml";
  return Inquiry(identicalHosts(readTopology(file), hosts), Settings::fromPairs(settings)).ask(words);
}

// The line of a source, 0 if there is none.
inline int lineOf(const AnswerStep& step, std::size_t i = 0) {
  return i < step.sources.size() ? step.sources[i].line : 0;
}

// Rows of a table whose column holds the text.
inline std::vector<std::vector<std::string>> rowsWith(const AnswerTable& table, std::size_t column,
                                                      const std::string& text) {
  std::vector<std::vector<std::string>> rows;
  for (const auto& row : table.rows)
    if (row.at(column) == text) rows.push_back(row);
  return rows;
}

// Null if there is no such table.
inline const AnswerTable* tableNamed(const Answer& answer, const std::string& start) {
  for (const AnswerTable& table : answer.tables)
    if (table.title.starts_with(start)) return &table;
  return nullptr;
}

}  // namespace xylem::testing
