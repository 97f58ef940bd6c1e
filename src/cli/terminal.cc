#include "cli/terminal.h"

#include <fmt/core.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>

#include "cli/line_wrap.h"
#include "planner/plan/json_value.h"

namespace xylem::cli {
namespace {

std::string_view escapeCode(Style style) {
  switch (style) {
    case Style::kPlain:
      return "";
    case Style::kBold:
      return "\033[1m";
    case Style::kDim:
      return "\033[2m";
    case Style::kRed:
      return "\033[31m";
    case Style::kGreen:
      return "\033[32m";
    case Style::kYellow:
      return "\033[33m";
    case Style::kBlue:
      return "\033[34m";
    case Style::kMagenta:
      return "\033[35m";
    case Style::kCyan:
      return "\033[36m";
  }
  return "";
}
constexpr std::string_view kResetCode = "\033[0m";

std::string_view variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// The first variable that is set decides the locale's character set.
bool localeIsUtf8() {
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    const std::string_view value = variable(name);
    if (!value.empty())
      return value.find("UTF-8") != std::string_view::npos || value.find("utf8") != std::string_view::npos;
  }
  return false;
}

int firstOutputError = 0;
std::vector<std::string> warnings;

int widthOf(int fd) {
  winsize size{};
  return ioctl(fd, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

}  // namespace

std::string Terminal::paint(Style style, std::string_view text) const {
  if (!colour || style == Style::kPlain || text.empty()) return std::string(text);
  return fmt::format("{}{}{}", escapeCode(style), text, kResetCode);
}

std::string Terminal::heading(std::string_view text) const { return '\n' + paint(Style::kBold, text) + '\n'; }

Terminal terminalOf(std::FILE* stream) {
  const int fd = fileno(stream);
  Terminal terminal;
  if (isatty(fd) == 0) return terminal;
  terminal.width = widthOf(fd);
  // Launchers such as Open MPI's read the output of ranks through a terminal without columns.
  if (terminal.width == 0) return terminal;
  terminal.interactive = true;
  terminal.colour = variable("NO_COLOR").empty() && variable("TERM") != "dumb";
  terminal.unicode = localeIsUtf8();
  return terminal;
}

void writeOut(std::string_view text) {
  const int width = terminalOf(stdout).width;
  writeAsIs(width > 0 ? fitted(text, width) : std::string(text));
}

void writeAsIs(std::string_view text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size()) noteOutputError(errno);
}

void writeJson(const nlohmann::ordered_json& json, int indent) {
  writeAsIs(plan::jsonText(json, indent) + '\n');
}

int outputError() { return firstOutputError; }

void noteOutputError(int error) {
  if (firstOutputError == 0) firstOutputError = error;
}

std::string withoutControls(std::string_view text) {
  constexpr unsigned char kFirstPrintable = 0x20, kDelete = 0x7f;
  std::string result;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    const bool isPrinted = (byte >= kFirstPrintable && byte != kDelete) || c == '\n' || c == '\t';
    isPrinted ? result += c : result += fmt::format("\\x{:02x}", byte);
  }
  return result;
}

void warn(std::string_view text) {
  warnings.push_back(withoutControls(text));
  const std::string line =
      fmt::format("{} {}\n", terminalOf(stderr).paint(Style::kYellow, "xylem: warning:"), warnings.back());
  std::fwrite(line.data(), 1, line.size(), stderr);
}

const std::vector<std::string>& warningsSoFar() { return warnings; }

}  // namespace xylem::cli
