#pragma once
// A set of CPUs by their numbers, as the kernel writes them.
//
//   CpuSet online = CpuSet::ofList("0-3,8");            // cpu/online
//   CpuSet node = CpuSet::ofMask("00000000,0000ffff");  // node0/cpumap
//   for (int cpu : (online & node).numbers()) ...
//   (online & node).mask()                              // "0000000f"

#include <string>
#include <string_view>
#include <vector>

namespace xylem {

class CpuSet {
 public:
  CpuSet() = default;
  static CpuSet first(int count);
  // What cannot be read as a number is no CPU.
  static CpuSet ofList(std::string_view text);
  static CpuSet ofMask(std::string_view text);

  void add(int cpu);
  bool contains(int cpu) const {
    return cpu >= 0 && static_cast<std::size_t>(cpu) < has_.size() && has_[static_cast<std::size_t>(cpu)];
  }
  bool empty() const { return has_.empty(); }
  std::vector<int> numbers() const;  // ascending
  // In groups of eight digits, as many as the largest number needs.
  std::string mask() const;

  friend CpuSet operator&(const CpuSet& a, const CpuSet& b);

 private:
  std::vector<bool> has_;  // by CPU, up to the largest in the set
};

}  // namespace xylem
