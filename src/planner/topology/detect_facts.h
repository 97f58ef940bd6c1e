#pragma once
// Lines of the files that hold a captured machine's facts, those that the kernel's files do not tell (detect_gpus.h,
// detect_verbs.h): a kind, then key=value words. Blank lines and lines that start with # say nothing.
//
//   forEachFact(root / "xylem/gpus", [&](const FactLine& line) {
//     if (line.kind() == "gpu") dev = line.number("dev");
//   });
//
// InputErrors carry the file and the line.

#include <filesystem>
#include <functional>
#include <map>
#include <string>

#include "core/error.h"

namespace xylem::topology {

class FactLine {
 public:
  FactLine(SourceLocation where, const std::string& text);

  const std::string& kind() const { return kind_; }
  bool has(const std::string& key) const { return values_.contains(key); }
  // Throws InputError without this key.
  std::string text(const std::string& key) const;
  // Throws InputError without this key, or if its value is no whole number from 0 on.
  int number(const std::string& key) const;
  int number(const std::string& key, int fallback) const;
  // The bus id in the usual form, 0000:1b:00.0. Throws InputError if it is none.
  std::string busId(const std::string& key) const;

  [[noreturn]] void fail(const std::string& found, const std::string& expected) const;

 private:
  SourceLocation where_;
  std::string kind_;
  std::map<std::string, std::string> values_;
};

// A missing file has no lines.
void forEachFact(const std::filesystem::path& file, const std::function<void(const FactLine&)>& visit);

}  // namespace xylem::topology
