// Reads the map of a virtual machine's devices, line by line.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "core/error.h"
#include "core/text_file.h"
#include "insight/vm/vm_topology.h"
#include "planner/topology/attributes.h"

namespace xylem::vm {
namespace {

constexpr std::size_t kMaxMapBytes = 1u << 20;
constexpr int kMaxNumaNode = 1 << 16;
constexpr const char* kForm =
    "HOST_DEVICE GUEST_BUSID [NAME_IN_GUEST], as 0000:1b:00.0 0000:05:00.0, or numa0 numa1";

// The words of a line without its comment. An equals sign separates words, as a blank does.
std::vector<std::string> wordsOf(std::string_view line) {
  line = line.substr(0, line.find('#'));
  std::vector<std::string> words(1);
  for (const char c : line) {
    if (c == ' ' || c == '\t' || c == '\r' || c == '=') {
      if (!words.back().empty()) words.emplace_back();
    } else {
      words.back() += c;
    }
  }
  if (words.back().empty()) words.pop_back();
  return words;
}

class Reader {
 public:
  explicit Reader(const std::string& file) { map_.file = file; }

  void readLine(std::string_view line) {
    ++line_;
    const std::vector<std::string> words = wordsOf(line);
    if (words.empty()) return;
    if (words.size() < 2 || words.size() > 3) fail(fmt::format("{} words", words.size()), kForm);
    if (words[0].starts_with("numa"))
      readNuma(words);
    else
      readDevice(words);
  }

  VmMap take() { return std::move(map_); }

 private:
  [[noreturn]] void fail(const std::string& found, const std::string& expected) const {
    throw InputError({map_.file, line_}, found, expected);
  }

  void readDevice(const std::vector<std::string>& words) {
    VmDevice device{words[0], busId(words[1]), words.size() == 3 ? words[2] : "", line_};
    for (const VmDevice& other : map_.devices) {
      if (other.host == device.host)
        fail(fmt::format("{} again, after line {}", device.host, other.line),
             "every device of the host once");
      if (!device.name.empty() && other.name == device.name)
        fail(fmt::format("the name {} again, after line {}", device.name, other.line),
             "another name for every network device of the guest");
      if (other.busId == device.busId)
        fail(fmt::format("{} again, after line {}", words[1], other.line), "every bus id of the guest once");
    }
    map_.devices.push_back(std::move(device));
  }

  std::uint64_t busId(const std::string& text) const {
    const bool form = text.find(':') != std::string::npos &&
                      text.find_first_not_of("0123456789abcdefABCDEF:.") == std::string::npos;
    const auto id = form ? topology::parseBusId(text) : std::nullopt;
    constexpr std::uint64_t kMaxFunction = 7, kMaxDevice = 0x1f;
    const bool there = id && (*id & 0xf) <= kMaxFunction && (*id >> 4 & 0xff) <= kMaxDevice;
    if (!there || *id >> 52 != 0)
      fail(fmt::format("`{}`", text), "a bus id in the guest, such as 0000:05:00.0");
    return *id;
  }

  void readNuma(const std::vector<std::string>& words) {
    VmNuma numa{numaOf(words[0]), numaOf(words[1]), words.size() == 3 ? words[2] : "", line_};
    if (numa.affinity.find_first_not_of("0123456789abcdefABCDEF,") != std::string::npos)
      fail(fmt::format("`{}`", numa.affinity), "a mask of CPUs in hex, such as 0000ffff");
    for (const VmNuma& other : map_.numas)
      if (other.host == numa.host || other.inside == numa.inside)
        fail(fmt::format("{} to {}, after line {}", words[0], words[1], other.line), "every NUMA node once");
    map_.numas.push_back(std::move(numa));
  }

  int numaOf(std::string_view word) const {
    const std::string_view digits = word.starts_with("numa") ? word.substr(4) : word;
    int value = -1;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (error != std::errc() || end != digits.data() + digits.size() || value < -1 || value > kMaxNumaNode)
      fail(fmt::format("`{}`", word), "a NUMA node, as numa0");
    return value;
  }

  VmMap map_;
  int line_ = 0;
};

}  // namespace

VmMap parseVmMap(std::string_view text, const std::string& file) {
  requireSize(text.size(), file, kMaxMapBytes);
  if (text.find('\0') != std::string_view::npos) throw InputError({file, 0}, "a NUL byte", "lines of text");
  Reader reader(file);
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    reader.readLine(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  VmMap map = reader.take();
  if (map.devices.empty()) throw InputError({file, 0}, "no device", std::string("lines ") + kForm);
  return map;
}

VmMap readVmMap(const std::string& path) {
  return parseVmMap(readFile(path, "a map of devices", kMaxMapBytes), path);
}

}  // namespace xylem::vm
