#include "planner/topology/cpu_set.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdint>

namespace xylem {
namespace {

// More than any kernel can be built for.
constexpr int kMostCpus = 1 << 16;
constexpr std::size_t kBitsPerDigit = 4;
constexpr std::size_t kBitsPerGroup = 32;

// What stands before the next `separator`, which is removed with it.
std::string_view nextPart(std::string_view& text, char separator) {
  const std::size_t end = std::min(text.find(separator), text.size());
  const std::string_view part = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return part;
}

int numberOf(std::string_view text) {
  int number = -1;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

int digitOf(char c) {
  int digit = 0;
  return std::from_chars(&c, &c + 1, digit, 16).ec == std::errc() ? digit : -1;
}

}  // namespace

CpuSet CpuSet::first(int count) {
  CpuSet set;
  for (int cpu = 0; cpu < count; ++cpu) set.add(cpu);
  return set;
}

CpuSet CpuSet::ofList(std::string_view text) {
  CpuSet set;
  while (!text.empty()) {
    std::string_view part = nextPart(text, ',');
    const int begin = numberOf(nextPart(part, '-'));
    if (begin < 0) continue;
    const int end = part.empty() ? begin : std::min(numberOf(part), kMostCpus - 1);
    for (int cpu = begin; cpu <= end; ++cpu) set.add(cpu);
  }
  return set;
}

CpuSet CpuSet::ofMask(std::string_view text) {
  CpuSet set;
  int bit = 0;
  for (auto c = text.rbegin(); c != text.rend(); ++c) {
    const int digit = digitOf(*c);
    if (digit < 0) continue;  // the comma between groups
    for (std::size_t i = 0; i < kBitsPerDigit; ++i, ++bit)
      if ((static_cast<unsigned>(digit) >> i & 1u) != 0) set.add(bit);
  }
  return set;
}

void CpuSet::add(int cpu) {
  if (cpu < 0 || cpu >= kMostCpus) return;
  const auto i = static_cast<std::size_t>(cpu);
  if (i >= has_.size()) has_.resize(i + 1, false);
  has_[i] = true;
}

std::vector<int> CpuSet::numbers() const {
  std::vector<int> numbers;
  for (std::size_t i = 0; i < has_.size(); ++i)
    if (has_[i]) numbers.push_back(static_cast<int>(i));
  return numbers;
}

std::string CpuSet::mask() const {
  std::string text;
  for (std::size_t group = std::max<std::size_t>((has_.size() + kBitsPerGroup - 1) / kBitsPerGroup, 1);
       group-- > 0;) {
    std::uint32_t bits = 0;
    for (std::size_t bit = 0; bit < kBitsPerGroup; ++bit)
      if (contains(static_cast<int>(group * kBitsPerGroup + bit))) bits |= 1u << bit;
    text += fmt::format("{}{:08x}", text.empty() ? "" : ",", bits);
  }
  return text;
}

CpuSet operator&(const CpuSet& a, const CpuSet& b) {
  CpuSet both;
  for (const int cpu : a.numbers())
    if (b.contains(cpu)) both.add(cpu);
  return both;
}

}  // namespace xylem
