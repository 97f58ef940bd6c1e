#include "insight/fabric/ib_fabric.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/error.h"
#include "insight/fabric/name_ranges.h"

namespace xylem::fabric {
namespace {

// The output's lines as values: nodes and cables.

struct IbNode {
  std::string description;
  int line = 0;  // where its record starts, or of the first line that mentions it
  bool hasRecord = false;
};

// A cable. The records of both its ends mention it; the first one counts.
struct IbCable {
  std::string a, b;      // ids of nodes; the first letter is S for a switch, H for an adapter, R for a router
  double bandwidth = 0;  // GB/s
  int line = 0;
};

struct IbRecords {
  std::map<std::string, IbNode> nodes;  // by id
  std::vector<std::string> order;       // ids in the order of their first appearance
  std::vector<IbCable> cables;
};

// Data rate of a lane after line coding, in Gb/s, by InfiniBand's name for the speed.
struct LaneSpeed {
  std::string_view name;
  double gbits;
};
constexpr std::array<LaneSpeed, 9> kLaneSpeeds = {{{"SDR", 2},
                                                   {"DDR", 4},
                                                   {"QDR", 8},
                                                   {"FDR10", 10},
                                                   {"FDR", 13.64},
                                                   {"EDR", 25},
                                                   {"HDR", 50},
                                                   {"NDR", 100},
                                                   {"XDR", 200}}};
constexpr int kMaxIbLanes = 12;
constexpr double kGbitsPerGB = 8;
constexpr std::string_view kBlank = " \t\r\v\f";

// Reads a line piece by piece from the left.
class LineReader {
 public:
  LineReader(std::string_view line, SourceLocation where) : rest_(line), where_(std::move(where)) {}

  const SourceLocation& where() const { return where_; }
  std::string_view rest() const { return rest_; }
  [[noreturn]] void refuse(const std::string& expected) const {
    throw InputError(where_, rest_.empty() ? "the end of the line" : fmt::format("`{}`", rest_.substr(0, 60)),
                     expected);
  }
  void skipBlanks() { rest_.remove_prefix(std::min(rest_.find_first_not_of(kBlank), rest_.size())); }
  bool take(char mark) {
    if (rest_.empty() || rest_.front() != mark) return false;
    rest_.remove_prefix(1);
    return true;
  }
  // Takes and returns the text up to `end`, and skips `end`.
  std::string_view upTo(char end, const std::string& expected) {
    const std::size_t at = rest_.find(end);
    if (at == std::string_view::npos) refuse(expected);
    const std::string_view piece = rest_.substr(0, at);
    rest_.remove_prefix(at + 1);
    return piece;
  }
  // Takes "[12]", with a "(…)" after it if there is one; returns 12.
  int port() {
    constexpr const char* kForm = "a port, as [12]";
    if (!take('[')) refuse(kForm);
    const std::string_view digits = upTo(']', kForm);
    int number = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
    if (error != std::errc() || end != digits.data() + digits.size() || number < 0) refuse(kForm);
    if (take('(')) upTo(')', "a closing bracket");
    return number;
  }
  // Skips everything up to and including the next "#".
  void comment() {
    const std::size_t at = rest_.find('#');
    rest_.remove_prefix(at == std::string_view::npos ? rest_.size() : at + 1);
  }

 private:
  std::string_view rest_;
  SourceLocation where_;
};

bool isNodeId(std::string_view id) {
  return id.size() > 2 && (id[0] == 'S' || id[0] == 'H' || id[0] == 'R') && id[1] == '-' &&
         id.find_first_of(" \t\r\v\f,[]#") == std::string_view::npos;
}

// Parses "4xHDR": lanes times data rate; returns GB/s.
std::optional<double> widthAndSpeed(std::string_view word) {
  int lanes = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), lanes);
  const std::string_view name = word.substr(static_cast<std::size_t>(end - word.data()));
  if (error != std::errc() || lanes < 1 || lanes > kMaxIbLanes || !name.starts_with('x')) return std::nullopt;
  for (const LaneSpeed& speed : kLaneSpeeds)
    if (speed.name == name.substr(1)) return lanes * speed.gbits / kGbitsPerGB;
  return std::nullopt;
}

class RecordReader {
 public:
  explicit RecordReader(const std::string& file) : file_(file) {}

  void line(std::string_view text, int number) {
    LineReader line(text, {file_, number});
    line.skipBlanks();
    const std::string_view rest = line.rest();
    if (rest.empty() || rest.front() == '#') return;
    if (rest.front() == '[') return portLine(line);
    const std::string_view word = rest.substr(0, rest.find_first_of(kBlank));
    if (word == "Switch" || word == "Ca" || word == "Rt") return header(line, word);
    // Ignore lines such as "vendid=0x2c9", and the headings of chassis.
    if (word.find('=') == std::string_view::npos && !rest.starts_with("Chassis"))
      line.refuse("a record of ibnetdiscover: Switch, Ca, Rt, [PORT] or NAME=VALUE");
  }

  IbRecords finish() && { return std::move(records_); }

 private:
  IbNode& node(std::string_view id, const LineReader& line) {
    const auto [at, isNew] = records_.nodes.try_emplace(std::string(id));
    if (isNew) {
      records_.order.emplace_back(id);
      at->second.line = line.where().line;
    }
    return at->second;
  }

  // Takes a node's id and the quote after it.
  std::string_view idOf(LineReader& line) const {
    constexpr const char* kForm = "a node's id, as \"S-0002c90200423f80\"";
    const LineReader before = line;
    const std::string_view id = line.upTo('"', kForm);
    if (!isNodeId(id)) before.refuse(kForm);
    return id;
  }

  void header(LineReader& line, std::string_view word) {
    line.upTo('"', "a node's id in quotes");
    const std::string_view id = idOf(line);
    if (id.front() != (word == "Switch" ? 'S' : word == "Ca" ? 'H' : 'R'))
      throw InputError(line.where(), fmt::format("`{}` of {}", id, word), "S- of Switch, H- of Ca, R- of Rt");
    current_ = id;
    IbNode& known = node(id, line);
    if (known.hasRecord)
      throw InputError(line.where(), fmt::format("a second record of {}", id), "one record per node");
    known.hasRecord = true;
    line.comment();
    line.upTo('"', "the description of the node in quotes");
    known.description = line.upTo('"', "a closing quote");
  }

  void portLine(LineReader& line) {
    if (current_.empty()) line.refuse("a Switch, Ca or Rt before its ports");
    const int mine = line.port();
    line.skipBlanks();
    if (line.take('[')) line.upTo(']', "a closing bracket");  // "[ext 3]"
    line.upTo('"', "the node at the other end in quotes");
    const std::string_view peer = idOf(line);
    const int theirs = line.port();
    line.comment();
    // Lines of adapters have the lid before the description, lines of switches after it.
    line.upTo('"', "the description of the node at the other end");
    const std::string_view description = line.upTo('"', "a closing quote");
    double bandwidth = 0;
    for (std::string_view rest = line.rest(); !rest.empty();) {
      rest.remove_prefix(std::min(rest.find_first_not_of(kBlank), rest.size()));
      const std::string_view word = rest.substr(0, rest.find_first_of(kBlank));
      if (const auto speed = widthAndSpeed(word)) bandwidth = *speed;
      rest.remove_prefix(word.size());
    }
    if (bandwidth == 0)
      line.refuse("width and speed of the link, as 4xHDR (SDR, DDR, QDR, FDR10, FDR, EDR, HDR, NDR, XDR)");
    IbNode& other = node(peer, line);
    if (!other.hasRecord && other.description.empty()) other.description = description;
    addCable({current_, mine}, {std::string(peer), theirs}, bandwidth, line.where());
  }

  using End = std::pair<std::string, int>;
  void addCable(const End& a, const End& b, double bandwidth, const SourceLocation& where) {
    if (a == b) throw InputError(where, "a cable from a port to itself", "two ports");
    if (seen_.insert(std::minmax(a, b)).second)
      records_.cables.push_back({a.first, b.first, bandwidth, where.line});
  }

  const std::string& file_;
  IbRecords records_;
  std::string current_;  // the node whose ports follow
  std::set<std::pair<End, End>> seen_;
};

// Throws InputError with file and line.
IbRecords readIbRecords(std::string_view text, const std::string& file) {
  RecordReader reader(file);
  for (int number = 1; !text.empty(); ++number) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    reader.line(text.substr(0, end), number);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return std::move(reader).finish();
}

// From records to a fabric: names for switches, hosts and NICs.

// Description of the adapter inside a switch that reduces data for collectives (SHARP).
constexpr std::string_view kAggregation = "Aggregation Node";

// Managed switches describe themselves as "MF0;leaf1:MQM8700/U1"; returns leaf1 of that.
std::string_view switchNameIn(std::string_view description) {
  if (const std::size_t at = description.find(';'); at != std::string_view::npos) {
    description.remove_prefix(at + 1);
    description = description.substr(0, description.find(':'));
  }
  return description;
}

struct Adapter {
  std::string host, nic;
};

// Parses "node1 mlx5_0", "node1 HCA-1" or "node1". In the last form the NIC stays empty; the caller numbers
// it.
std::optional<Adapter> adapterIn(std::string_view description) {
  if (description.ends_with(kAggregation)) return std::nullopt;
  const std::size_t blank = description.find(' ');
  const std::string_view host = description.substr(0, blank);
  std::string nic(blank == std::string_view::npos ? "" : description.substr(blank + 1));
  if (!isPlainName(host) || (!nic.empty() && !isPlainName(nic))) return std::nullopt;
  constexpr std::string_view kOldForm = "HCA-";
  if (nic.starts_with(kOldForm)) {
    int number = 0;
    const auto [end, error] = std::from_chars(nic.data() + kOldForm.size(), nic.data() + nic.size(), number);
    if (error == std::errc() && end == nic.data() + nic.size() && number >= 1)
      nic = fmt::format("mlx5_{}", number - 1);
  }
  return Adapter{std::string(host), std::move(nic)};
}

class IbImport {
 public:
  IbImport(const IbRecords& records, const std::string& file, std::vector<std::string>* remarks)
      : records_(records), file_(file), remarks_(remarks), fabric_(file) {}

  Fabric build() && {
    nameSwitches();
    nameAdapters();
    for (const IbCable& cable : records_.cables) add(cable);
    return std::move(fabric_).finish();
  }

 private:
  void nameSwitches() {
    std::unordered_map<std::string_view, int> users;
    for (const std::string& id : records_.order)
      if (id.front() == 'S') ++users[switchNameIn(records_.nodes.at(id).description)];
    for (const std::string& id : records_.order) {
      if (id.front() != 'S') continue;
      const IbNode& node = records_.nodes.at(id);
      const std::string_view name = switchNameIn(node.description);
      // A switch may have another one's id as its description, so no name may look like an id.
      const bool useName = isPlainName(name) && users[name] == 1 && !name.starts_with("S-");
      names_[id] = useName ? std::string(name) : id;
      fabric_.addSwitch(names_[id], {file_, node.line});
    }
  }

  void nameAdapters() {
    std::unordered_map<std::string, int> counts;
    for (const std::string& id : records_.order) {
      if (id.front() != 'H') continue;
      const IbNode& node = records_.nodes.at(id);
      std::optional<Adapter> adapter = adapterIn(node.description);
      if (!adapter) {
        if (remarks_ != nullptr)
          remarks_->push_back(fmt::format("{}:{}: left out: `{}` does not name a host and its NIC", file_,
                                          node.line, node.description));
        continue;
      }
      const int count = counts[adapter->host]++;
      if (adapter->nic.empty()) adapter->nic = std::to_string(count);
      adapters_[id] = std::move(*adapter);
    }
  }

  void add(const IbCable& cable) {
    const SourceLocation where = {file_, cable.line};
    const auto [a, b] = cable.a.front() == 'S' ? std::pair(cable.a, cable.b) : std::pair(cable.b, cable.a);
    // Ignore cables between adapters, and those to routers into other fabrics.
    if (a.front() != 'S' || b.front() == 'R') return;
    if (b.front() == 'S') {
      // A cable from a switch to itself carries nothing.
      if (a != b) fabric_.addCables(names_.at(a), names_.at(b), cable.bandwidth, 1, where);
    } else if (const auto adapter = adapters_.find(b); adapter != adapters_.end()) {
      fabric_.addPort(adapter->second.host, adapter->second.nic, names_.at(a), cable.bandwidth, where);
    }
  }

  const IbRecords& records_;
  const std::string& file_;
  std::vector<std::string>* remarks_;
  FabricBuilder fabric_;
  std::unordered_map<std::string, std::string> names_;  // names of switches, by id
  std::unordered_map<std::string, Adapter> adapters_;   // by id
};

}  // namespace

bool looksLikeIbnetdiscover(std::string_view text) {
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    for (const std::string_view start : {"Switch\t", "Switch ", "Ca\t", "Ca ", "vendid="})
      if (line.starts_with(start)) return true;
    if (!line.empty() && line.front() != '#' && line.front() != '\r') return false;
    text.remove_prefix(std::min(line.size() + 1, text.size()));
  }
  return false;
}

Fabric parseIbnetdiscover(std::string_view text, const std::string& file, std::vector<std::string>* remarks) {
  const IbRecords records = readIbRecords(text, file);
  Fabric fabric = IbImport(records, file, remarks).build();
  if (fabric.hosts.empty())
    throw InputError({file, 0}, "no host at a switch", "adapters whose description is HOST NIC");
  return fabric;
}

}  // namespace xylem::fabric
