#include "runtime/transport/choices/copy_choices.h"

#include <algorithm>
#include <charconv>
#include <vector>

#include "core/error.h"

namespace xylem::transport {
namespace {

constexpr std::uint64_t kMost = std::uint64_t{1} << 40;
constexpr CopyChoiceField kFields[] = {
    {"read_from", &CopyChoices::readFrom, 0, kMost},
    {"read_up_to", &CopyChoices::readUpTo, 0, kMost},
    {"block_read_from", &CopyChoices::blockReadFrom, 0, kMost},
    {"block_read_up_to", &CopyChoices::blockReadUpTo, 0, kMost},
    {"reduce_read_from", &CopyChoices::reduceReadFrom, 0, kMost},
    {"reduce_read_up_to", &CopyChoices::reduceReadUpTo, 0, kMost},
    {"piece", &CopyChoices::piece, 4096, kMostStaged},
    {"whole", &CopyChoices::whole, kFirstLineBytes, kMost},
    {"cycle", &CopyChoices::cycle, kLeastCycle, kStagingRingBytes},
    {"staged", &CopyChoices::staged, kFirstLineBytes, kMostStaged},
    {"stream_message", &CopyChoices::streamMessage, 0, kMost},
    {"stream_exchange", &CopyChoices::streamExchange, 0, kMost},
    {"stream_far", &CopyChoices::streamFar, 0, 1},
    {"far", &CopyChoices::far, 0, 1},
    {"adapt", &CopyChoices::adapt, 0, 1},
    {"huge_pages", &CopyChoices::hugePages, 0, 1},
};

const CopyChoiceField& fieldNamed(std::string_view name) {
  for (const CopyChoiceField& field : kFields)
    if (field.name == name) return field;
  std::string names;
  for (const CopyChoiceField& field : kFields)
    names += fmt::format("{}{}", names.empty() ? "" : ", ", field.name);
  throw Error(ResultCode::kInvalidArgument, "there is no choice '{}'; there are {}", name, names);
}

// Returns the field.
std::uint64_t CopyChoices::*setField(CopyChoices& choices, std::string_view part) {
  const std::size_t equals = part.find('=');
  const CopyChoiceField& field = fieldNamed(part.substr(0, equals));
  const std::string_view digits = equals == std::string_view::npos ? "" : part.substr(equals + 1);
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error != std::errc() || end != digits.data() + digits.size() || value < field.least ||
      value > field.most)
    throw Error(ResultCode::kInvalidArgument, "'{}': {} is a number from {} to {}", part, field.name,
                field.least, field.most);
  choices.*field.value = value;
  return field.value;
}

// Two fields that belong together: sizes from the one on, and less than the other.
struct SizeRange {
  std::uint64_t CopyChoices::*from;
  std::uint64_t CopyChoices::*upTo;
};
constexpr SizeRange kRanges[] = {{&CopyChoices::readFrom, &CopyChoices::readUpTo},
                                 {&CopyChoices::blockReadFrom, &CopyChoices::blockReadUpTo},
                                 {&CopyChoices::reduceReadFrom, &CopyChoices::reduceReadUpTo}};

std::string_view nameOf(std::uint64_t CopyChoices::*value) {
  return std::ranges::find(kFields, value, &CopyChoiceField::value)->name;
}

}  // namespace

// Where cores have no cache in common, a line out of the other core's cache takes longer than one from memory, and so does writing it
// again. Measured on Zen 4, and supposed for Zen 3, whose caches lie alike; with others it is measured if cores are far when ranks join.
CopyChoices usualChoices() {
  CopyChoices choices;
#if defined(__x86_64__)
  choices.streamFar = __builtin_cpu_is("amdfam19h") != 0 ? 1 : 0;
#endif
  return choices;
}

std::span<const CopyChoiceField> copyChoiceFields() { return kFields; }

void CopyChoices::readAllFrom(std::uint64_t least) {
  const auto extend = [least](std::uint64_t& from, std::uint64_t& upTo) {
    from = from == upTo ? least : std::min(from, least);
    upTo = kMost;
  };
  extend(readFrom, readUpTo);
  extend(blockReadFrom, blockReadUpTo);
  extend(reduceReadFrom, reduceReadUpTo);
}

std::string CopyChoices::text() const {
  std::string text;
  for (const CopyChoiceField& field : kFields)
    text += fmt::format("{}{}={}", text.empty() ? "" : " ", field.name, this->*field.value);
  return text;
}

CopyChoices CopyChoices::fromText(std::string_view text, const CopyChoices& base) {
  CopyChoices choices = base;
  std::vector<std::uint64_t CopyChoices::*> named;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find_first_of(" ,"), text.size());
    if (end > 0) named.push_back(setField(choices, text.substr(0, end)));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  for (const auto& [from, upTo] : kRanges) {
    const bool namesFrom = std::ranges::count(named, from) > 0,
               namesUpTo = std::ranges::count(named, upTo) > 0;
    if (namesFrom && !namesUpTo) choices.*upTo = kMost;
    if (namesUpTo && !namesFrom) choices.*from = 0;
    if (choices.*from > choices.*upTo)
      throw Error(ResultCode::kInvalidArgument, "{}={} is more than {}={}", nameOf(from), choices.*from,
                  nameOf(upTo), choices.*upTo);
  }
  return choices;
}

}  // namespace xylem::transport
