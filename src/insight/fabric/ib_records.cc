#include "insight/fabric/ib_records.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <set>
#include <utility>

#include "core/error.h"

namespace xylem {
namespace {

// What a lane carries after coding, Gb/s, by InfiniBand's names.
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
constexpr int kMostLanes = 12;
constexpr double kGbitsPerGB = 8;
constexpr std::string_view kBlank = " \t\r\v\f";

// One line, taken piece by piece from the left.
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
  // Up to `end`, which goes too.
  std::string_view upTo(char end, const std::string& expected) {
    const std::size_t at = rest_.find(end);
    if (at == std::string_view::npos) refuse(expected);
    const std::string_view piece = rest_.substr(0, at);
    rest_.remove_prefix(at + 1);
    return piece;
  }
  // "[12]", and "(…)" after it if there is one.
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
  // What stands behind "#", if anything does.
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

// "4xHDR".
std::optional<double> widthAndSpeed(std::string_view word) {
  int lanes = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), lanes);
  const std::string_view name = word.substr(static_cast<std::size_t>(end - word.data()));
  if (error != std::errc() || lanes < 1 || lanes > kMostLanes || !name.starts_with('x')) return std::nullopt;
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
    // "vendid=0x2c9" and the like, and what heads of chassis say.
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

  // What stands up to the next quote.
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
    // At an adapter the lid stands before the description, at a switch after it.
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

}  // namespace

IbRecords readIbRecords(std::string_view text, const std::string& file) {
  RecordReader reader(file);
  for (int number = 1; !text.empty(); ++number) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    reader.line(text.substr(0, end), number);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return std::move(reader).finish();
}

}  // namespace xylem
