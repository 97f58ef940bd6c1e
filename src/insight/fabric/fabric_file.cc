#include "insight/fabric/fabric_file.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <cstdio>

#include "core/text_file.h"
#include "insight/fabric/ib_fabric.h"
#include "insight/fabric/name_ranges.h"

namespace xylem::fabric {
namespace {

constexpr double kBitsPerByte = 8;
constexpr double kMaxGbits = 1e6;
constexpr int kMaxCablesPerLine = 1 << 20;  // the limit that FabricBuilder has for a link
constexpr std::size_t kMaxFileBytes = std::size_t{256} << 20;

std::vector<std::string_view> wordsOf(std::string_view line) {
  constexpr std::string_view kBlank = " \t\r\v\f";
  line = line.substr(0, line.find('#'));
  std::vector<std::string_view> words;
  for (std::size_t at = line.find_first_not_of(kBlank); at != std::string_view::npos;
       at = line.find_first_not_of(kBlank)) {
    line.remove_prefix(at);
    const std::size_t end = std::min(line.find_first_of(kBlank), line.size());
    words.push_back(line.substr(0, end));
    line.remove_prefix(end);
  }
  return words;
}

// Parses "400Gb/s" or "50GB/s"; returns GB/s.
double speedOf(std::string_view word, const SourceLocation& where) {
  double value = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  const std::string_view unit = word.substr(static_cast<std::size_t>(end - word.data()));
  const double gbits = unit == "GB/s" ? value * kBitsPerByte : value;
  // The lower limit is 1 bit/s: fabricText() writes larger speeds without losing digits.
  if (error != std::errc() || (unit != "Gb/s" && unit != "GB/s") || !(gbits >= 1e-9 && gbits <= kMaxGbits))
    throw InputError(where, fmt::format("`{}`", word), "a speed, as 400Gb/s or 50GB/s");
  return gbits / kBitsPerByte;
}

int cablesOf(std::string_view word, const SourceLocation& where) {
  int cables = 0;
  const auto [end, error] = std::from_chars(word.data() + 1, word.data() + word.size(), cables);
  if (word.front() != 'x' || error != std::errc() || end != word.data() + word.size() || cables < 1 ||
      cables > kMaxCablesPerLine)
    throw InputError(where, fmt::format("`{}`", word),
                     fmt::format("a number of cables, x1 to x{}", kMaxCablesPerLine));
  return cables;
}

void addSwitches(FabricBuilder& fabric, const std::vector<std::string_view>& words,
                 const SourceLocation& where) {
  if (words.size() < 2) throw InputError(where, "no name", "switch NAMES");
  for (std::size_t i = 1; i < words.size(); ++i)
    for (const std::string& name : expandNames(words[i], where)) fabric.addSwitch(name, where);
}

void refuseMany(std::size_t a, std::size_t b, const SourceLocation& where) {
  if (a * b > kMaxFabricLinks)
    throw InputError(where, fmt::format("{} times {}", a, b), fmt::format("at most {}", kMaxFabricLinks));
}

void addLinks(FabricBuilder& fabric, const std::vector<std::string_view>& words,
              const SourceLocation& where) {
  if (words.size() != 4 && words.size() != 5)
    throw InputError(where, fmt::format("{} words", words.size()), "link SWITCHES SWITCHES SPEED [xCABLES]");
  const std::vector<std::string> as = expandNames(words[1], where);
  const std::vector<std::string> bs = expandNames(words[2], where);
  const double speed = speedOf(words[3], where);
  const int cables = words.size() == 5 ? cablesOf(words[4], where) : 1;
  refuseMany(as.size(), bs.size(), where);
  for (const std::string& a : as)
    for (const std::string& b : bs) fabric.addCables(a, b, speed, cables, where);
}

void addNics(FabricBuilder& fabric, const std::vector<std::string_view>& words, const SourceLocation& where) {
  if (words.size() != 5)
    throw InputError(where, fmt::format("{} words", words.size()), "nic HOSTS NICS SWITCHES SPEED");
  const std::vector<std::string> hosts = expandNames(words[1], where);
  const std::vector<std::string> nics = expandNames(words[2], where);
  const std::vector<std::string> leaves = expandNames(words[3], where);
  const double speed = speedOf(words[4], where);
  if (leaves.size() != 1 && leaves.size() != nics.size())
    throw InputError(where, fmt::format("{} NICs and {} switches", nics.size(), leaves.size()),
                     "one switch for all, or one for each NIC");
  refuseMany(hosts.size(), nics.size(), where);
  for (const std::string& host : hosts)
    for (std::size_t i = 0; i < nics.size(); ++i)
      fabric.addPort(host, nics[i], leaves.size() == 1 ? leaves[0] : leaves[i], speed, where);
}

}  // namespace

Fabric parseFabric(std::string_view text, const std::string& file) {
  FabricBuilder fabric(file);
  for (int number = 1; !text.empty(); ++number) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const SourceLocation where = {file, number};
    const std::vector<std::string_view> words = wordsOf(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    if (words.empty()) continue;
    if (words[0] == "switch") {
      addSwitches(fabric, words, where);
    } else if (words[0] == "link") {
      addLinks(fabric, words, where);
    } else if (words[0] == "nic") {
      addNics(fabric, words, where);
    } else {
      throw InputError(where, fmt::format("`{}`", words[0]), "switch, link or nic");
    }
  }
  Fabric whole = std::move(fabric).finish();
  if (whole.hosts.empty())
    throw InputError({file, 0}, "no host", "a line `nic HOSTS NICS SWITCHES SPEED` for each kind of host");
  return whole;
}

Fabric readFabric(const std::string& path, std::vector<std::string>* remarks) {
  const std::string text = readFile(path, "a file that describes a fabric", kMaxFileBytes);
  return looksLikeIbnetdiscover(text) ? parseIbnetdiscover(text, path, remarks) : parseFabric(text, path);
}

std::string fabricText(const Fabric& fabric) {
  std::string text;
  const auto nameOf = [&](int number) { return fabric.switches[static_cast<std::size_t>(number)]; };
  for (const std::string& name : fabric.switches) text += fmt::format("switch {}\n", name);
  for (const FabricLink& link : fabric.links)
    text +=
        fmt::format("link {} {} {}Gb/s{}\n", nameOf(link.a), nameOf(link.b), link.bandwidth * kBitsPerByte,
                    link.cables == 1 ? "" : fmt::format(" x{}", link.cables));
  for (const FabricHost& host : fabric.hosts)
    for (const FabricPort& port : host.ports)
      text += fmt::format("nic {} {} {} {}Gb/s\n", host.name, port.nic, nameOf(port.leaf),
                          port.bandwidth * kBitsPerByte);
  return text;
}

}  // namespace xylem::fabric
