#pragma once
// Collects what changed, putting together what changed in the same way.
//
//   ChangeList list;
//   list.add({.kind = "GPU pair", .before = "NVL 240.0", .after = "PHB 12.0", .outOf = 28}, {"GPU 0 - GPU
//   1"}); list.add({.kind = "GPU pair", .before = "NVL 240.0", .after = "PHB 12.0", .outOf = 28}, {"GPU 0 -
//   GPU 2"}); list.take()   ->   one Change of two things
//
// Changes stay in the order in which the first of their things came.

#include <map>
#include <tuple>

#include "insight/diff/diff.h"

namespace xylem {

class ChangeList {
 public:
  explicit ChangeList(std::string where = "") : where_(std::move(where)) {}

  // `change` without things; `thing` changed so.
  void add(Change change, ChangedThing thing);
  void appendTo(Changes& changes);

 private:
  using Key = std::tuple<std::string, std::string, std::string, std::string, std::string, std::string>;

  std::string where_;
  Changes changes_;
  std::map<Key, std::size_t> known_;
};

// Numbers as plans write them agree to this; NCCL's own are 32-bit.
bool sameNumber(double a, double b);
// "0, 1, 2 ... 4 more ... 7" of many.
std::string shortList(const std::vector<std::string>& words, std::size_t most, const char* between = ", ");
std::string ranksText(const std::vector<int>& ranks);

}  // namespace xylem
