// Reads the words of an edit.
#include "insight/whatif/edit.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <sstream>
#include <vector>

#include "core/edit_distance.h"
#include "core/error.h"
#include "core/spelling.h"
#include "planner/topology/bandwidths.h"

namespace xylem::whatif {
namespace {

constexpr int kMaxLinks = 1 << 16;
constexpr int kMaxMbps = 1'000'000'000;
constexpr std::size_t kMaxEditLength = 4096;

constexpr EditForm kForms[] = {
    {EditKind::kRemove, "remove DEVICE", "a GPU, a NET, a switch or a NUMA node, with all it holds"},
    {EditKind::kNvlink, "nvlink GPU GPU xN", "NVLinks between two GPUs, or from a GPU to the nvswitch"},
    {EditKind::kMove, "move DEVICE numaN", "directly to the CPU of a NUMA node"},
    {EditKind::kMove, "move DEVICE switch BUSID", "below a PCI switch"},
    {EditKind::kMove, "move DEVICE beside DEVICE",
     "where another device is; nets beside gpus: spread over them"},
    {EditKind::kPair, "pair DEVICE with DEVICE",
     "below a PCI switch of their own; nets with gpus: all, in groups by their order"},
    {EditKind::kAddSwitch, "add switch above DEVICE", "a PCI switch of its own"},
    {EditKind::kWidth, "width DEVICE xN", "lanes of its PCI link"},
    {EditKind::kSpeed, "speed DEVICE GT/s", "of a lane of it: 2.5, 5, 8, 16, 32 or 64"},
    {EditKind::kBandwidth, "bandwidth DEVICE N",
     "GB/s of its link, in place of NCCL's rule; of cpus: between them"},
    {EditKind::kGdr, "gdr DEVICE on|off", "GPU Direct RDMA, of a NET or a GPU"},
    {EditKind::kNetSpeed, "netspeed NET N", "Mb/s, or Gb/s as 400G"},
    {EditKind::kGuid, "guid NET own", "a hardware id of its own, so that it shares no port"},
    {EditKind::kSet, "set NAME=VALUE", "a variable"},
    {EditKind::kUnset, "unset NAME", "a variable"},
};

constexpr std::pair<const char*, EditKind> kVerbs[] = {
    {"remove", EditKind::kRemove},     {"nvlink", EditKind::kNvlink},       {"move", EditKind::kMove},
    {"width", EditKind::kWidth},       {"speed", EditKind::kSpeed},         {"gdr", EditKind::kGdr},
    {"netspeed", EditKind::kNetSpeed}, {"guid", EditKind::kGuid},           {"set", EditKind::kSet},
    {"unset", EditKind::kUnset},       {"bandwidth", EditKind::kBandwidth}, {"pair", EditKind::kPair},
    {"add", EditKind::kAddSwitch},
};

constexpr int kPciWidths[] = {1, 2, 4, 8, 16};

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text.substr(0, std::min(text.size(), kMaxEditLength))) {
    if (text.size() > kMaxEditLength) fail("an edit this long", "one change");
    std::istringstream in(text_);
    for (std::string word; in >> word;) {
      // "GPU 3" is one device.
      const bool number = word.find_first_not_of("0123456789") == std::string::npos;
      const std::string before = words_.size() < 2 ? "" : lettersOf(words_.back());
      if (number && (before == "gpu" || before == "nic" || before == "net" || before == "numa"))
        words_.back() += word;
      else
        words_.push_back(word);
    }
  }

  Edit parse() {
    if (words_.empty()) fail("nothing", "an edit, such as `remove net1`");
    edit_.kind = verb();
    for (const std::string& word : words_) edit_.text += (edit_.text.empty() ? "" : " ") + word;
    if (edit_.kind == EditKind::kSet) {
      readVariable();
      return edit_;
    }
    need(2);
    edit_.device = words_[1];
    readRest();
    return edit_;
  }

 private:
  [[noreturn]] void fail(const std::string& found, const std::string& expected) const {
    throw InputError({fmt::format("edit `{}`", text_), 0}, found, expected);
  }

  std::string forms() const {
    std::string text;
    for (const EditForm& form : kForms)
      if (form.kind == edit_.kind) text += fmt::format("{}`{}`", text.empty() ? "" : " or ", form.form);
    return text;
  }

  // Throws if the edit has not this many words. With 2 it may have more: the caller checks the others.
  void need(std::size_t words) const {
    if (words_.size() != words && !(words == 2 && words_.size() > 2))
      fail(words_.size() == 1 ? "one word" : fmt::format("{} words", words_.size()),
           forms() + (words_.size() == 1 ? ", all of it in quotes" : ""));
  }

  EditKind verb() const {
    std::vector<std::string> names;
    for (const auto& [name, kind] : kVerbs) {
      if (words_[0] == name) return kind;
      names.emplace_back(name);
    }
    const std::string nearest = nearestWord(words_[0], names);
    fail(fmt::format("`{}`", words_[0]),
         nearest.empty() ? fmt::format("one of {}", fmt::join(names, ", "))
                         : fmt::format("one of {}; did you mean {}?", fmt::join(names, ", "), nearest));
  }

  void readVariable() {
    const std::size_t equals = words_.size() < 2 ? std::string::npos : edit_.text.find('=');
    if (equals == std::string::npos || equals + 1 == edit_.text.size()) fail("no value", forms());
    edit_.device = edit_.text.substr(4, equals - 4);
    edit_.value = edit_.text.substr(equals + 1);
  }

  void readRest() {
    switch (edit_.kind) {
      case EditKind::kRemove:
      case EditKind::kUnset:
        if (words_.size() != 2) fail(fmt::format("{} words", words_.size()), forms());
        return;
      case EditKind::kNvlink:
        need(4);
        edit_.other = words_[2];
        edit_.number = times(words_[3]);
        return;
      case EditKind::kMove:
        return readMove();
      case EditKind::kPair:
        need(4);
        if (words_[2] != "with") fail(fmt::format("`{}`", words_[2]), forms());
        edit_.other = words_[3];
        return;
      case EditKind::kAddSwitch:
        need(4);
        if (words_[1] != "switch" || words_[2] != "above")
          fail(fmt::format("`{} {}`", words_[1], words_[2]), forms());
        edit_.device = words_[3];
        return;
      case EditKind::kWidth:
        need(3);
        edit_.number = times(words_[2]);
        if (std::find(std::begin(kPciWidths), std::end(kPciWidths), edit_.number) == std::end(kPciWidths))
          fail(fmt::format("`{}`", words_[2]), "x1, x2, x4, x8 or x16");
        return;
      case EditKind::kSpeed:
        return readSpeed();
      case EditKind::kBandwidth:
        return readBandwidth();
      case EditKind::kGdr:
        need(3);
        if (words_[2] != "on" && words_[2] != "off") fail(fmt::format("`{}`", words_[2]), "on or off");
        edit_.number = words_[2] == "on" ? 1 : 0;
        return;
      case EditKind::kNetSpeed:
        return readNetSpeed();
      case EditKind::kGuid:
        need(3);
        if (words_[2] != "own") fail(fmt::format("`{}`", words_[2]), "own");
        return;
      case EditKind::kSet:
        return;
    }
  }

  void readMove() {
    if (words_.size() == 3 && words_[2].starts_with("numa")) {
      edit_.to = MoveTo::kNuma;
      edit_.other = words_[2];
      return;
    }
    if (words_.size() != 4 || (words_[2] != "switch" && words_[2] != "beside"))
      fail(words_.size() > 2 ? fmt::format("`{}`", words_[2]) : "no place", forms());
    edit_.to = words_[2] == "switch" ? MoveTo::kSwitch : MoveTo::kBeside;
    edit_.other = words_[3];
  }

  int wholeNumber(std::string_view text, int max, const char* expected) const {
    int value = -1;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size() || value < 0 || value > max)
      fail(fmt::format("`{}`", text), expected);
    return value;
  }

  // The 4 of "x4" or "4".
  int times(const std::string& word) const {
    return wholeNumber(word.starts_with('x') ? std::string_view(word).substr(1) : word, kMaxLinks,
                       "a number, as x16");
  }

  void readSpeed() {
    if (words_.size() < 3 || words_.size() > 5) fail(fmt::format("{} words", words_.size()), forms());
    const double wanted = std::strtod(words_[2].c_str(), nullptr);
    for (const topology::PciLaneSpeed& lane : topology::kPciLaneSpeeds) {
      const std::string name(lane.prefix);
      if (name.ends_with("PCIe") && std::strtod(name.c_str(), nullptr) == wanted) edit_.value = name;
    }
    if (edit_.value.empty()) fail(fmt::format("`{}`", words_[2]), "2.5, 5, 8, 16, 32 or 64 GT/s");
  }

  void readBandwidth() {
    need(3);
    double value = 0;
    const char* last = words_[2].data() + words_[2].size();
    const auto [end, error] = std::from_chars(words_[2].data(), last, value);
    if (error != std::errc() || end != last || !(value > 0) || value > topology::kMaxOverride)
      fail(fmt::format("`{}`", words_[2]), fmt::format("GB/s above 0, at most {}", topology::kMaxOverride));
    edit_.value = words_[2];
  }

  void readNetSpeed() {
    need(3);
    std::string_view number = words_[2];
    const bool giga = number.ends_with('G');
    if (giga) number.remove_suffix(1);
    constexpr int kPerGiga = 1000;
    edit_.number = wholeNumber(number, giga ? kMaxMbps / kPerGiga : kMaxMbps, "Mb/s, or Gb/s as 400G");
    if (giga) edit_.number *= kPerGiga;
    if (edit_.number == 0) fail("no speed", "1 Mb/s or more");
  }

  std::string text_;
  std::vector<std::string> words_;
  Edit edit_;
};

}  // namespace

Edit parseEdit(std::string_view text) { return Parser(text).parse(); }

std::span<const EditForm> editForms() { return kForms; }

}  // namespace xylem::whatif
