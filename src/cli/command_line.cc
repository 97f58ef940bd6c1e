#include "cli/command_line.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <sstream>

#include "cli/line_wrap.h"
#include "cli/terminal.h"
#include "core/edit_distance.h"
#include "core/spelling.h"

namespace xylem::cli {
namespace {

// The commands by their purpose, in the order of the help.
struct CommandGroup {
  const char* title;
  std::vector<std::string> commands;
};
const std::vector<CommandGroup>& commandGroups() {
  static const std::vector<CommandGroup> kGroups = {
      {"Look at a machine", {"show", "detect", "zoo", "lint", "vm"}},
      {"Plan a job", {"plan", "tune", "preflight", "settings", "versions"}},
      {"Ask", {"why", "draw"}},
      {"Compare", {"diff", "whatif", "upgrade"}},
      {"Improve", {"repair", "optimize", "order"}},
      {"Run", {"run", "perf"}},
      {"Watch", {"status"}},
      {"Help", {"help", "man", "completion", "version"}}};
  return kGroups;
}

// CLI11 has the value's name and the words that oneOf allows in one text: `OP:{all_reduce,all_gather}`.
void readType(const std::string& type, OptionPage& page) {
  const std::size_t brace = type.find(":{");
  page.value = type.substr(0, brace);
  while (!page.value.empty() && page.value.back() == ' ') page.value.pop_back();
  if (brace == std::string::npos) return;
  std::istringstream words(type.substr(brace + 2, type.find('}', brace) - brace - 2));
  for (std::string word; std::getline(words, word, ',');) page.choices.push_back(word);
}

OptionPage pageOf(const CLI::Option& option) {
  OptionPage page;
  for (const std::string& name : option.get_snames()) page.names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) page.names.push_back("--" + name);
  if (option.get_positional()) page.names = {option.get_name(true)};
  if (option.get_items_expected_max() > 0) readType(option.get_type_name(), page);
  page.description = option.get_description();
  page.required = option.get_required();
  page.repeats = option.get_items_expected_max() > 1;
  return page;
}

// CLI11's help with the commands in groups, and without what it adds to options: lists of excluded and needed
// options, which can be longer than the help, and lists of words before the text.
class HelpFormatter : public CLI::Formatter {
 public:
  // Without what the library adds to a flag that clears its target.
  std::string make_option_name(const CLI::Option* option, bool isPositional) const override {
    constexpr std::string_view kCleared = "{false}";
    std::string text = CLI::Formatter::make_option_name(option, isPositional);
    if (const std::size_t at = text.find(kCleared); at != std::string::npos) text.erase(at, kCleared.size());
    return text;
  }

  std::string make_option_opts(const CLI::Option* option) const override {
    std::string text = CLI::Formatter::make_option_opts(option);
    for (const char* label : {"Excludes", "Needs"})
      text.resize(std::min(text.size(), text.find(" " + get_label(label) + ":")));
    const std::size_t brace = text.find(":{");
    if (brace == std::string::npos) return text;
    return text.erase(brace, text.find('}', brace) + 1 - brace);
  }

  // Adds the words that an option takes if its text does not name them.
  std::string make_option_desc(const CLI::Option* option) const override {
    const OptionPage page = pageOf(*option);
    const bool told = std::all_of(page.choices.begin(), page.choices.end(), [&](const std::string& choice) {
      return page.description.find(choice) != std::string::npos;
    });
    return inColumn(told ? page.description
                         : fmt::format("{}: {}", page.description, fmt::join(page.choices, ", ")));
  }

  std::string make_subcommand(const CLI::App* command) const override {
    std::ostringstream out;
    CLI::detail::format_help(out, command->get_name(), inColumn(command->get_description()), column_width_);
    return out.str();
  }

  std::string make_footer(const CLI::App* app) const override {
    const std::string text = Formatter::make_footer(app);
    const int width = terminalOf(stdout).width;
    return width > 0 ? reflowed(text, width) : text;
  }

  // The text in lines that fit beside the names.
  std::string inColumn(const std::string& text) const {
    constexpr int kPageWidth = 110;  // where no terminal says its own
    constexpr int kLeast = 30;
    const Terminal screen = terminalOf(stdout);
    const int width = (screen.width > 0 ? screen.width : kPageWidth) - static_cast<int>(column_width_);
    return fmt::format("{}", fmt::join(wrapped(text, std::max(width, kLeast)), "\n"));
  }

  std::string make_subcommands(const CLI::App* app, CLI::AppFormatMode) const override {
    std::string text;
    std::vector<const CLI::App*> rest = app->get_subcommands([](const CLI::App*) { return true; });
    const auto addGroup = [&](const std::string& title, const auto& belongs) {
      std::string lines;
      for (const CLI::App* command : rest)
        if (belongs(command)) lines += make_subcommand(command);
      std::erase_if(rest, belongs);
      if (!lines.empty()) text += fmt::format("\n{}:\n{}", title, lines);
    };
    for (const CommandGroup& group : commandGroups())
      addGroup(group.title, [&](const CLI::App* command) {
        return std::find(group.commands.begin(), group.commands.end(), command->get_name()) !=
               group.commands.end();
      });
    addGroup("More", [](const CLI::App*) { return true; });
    return text;
  }
};

CLI::Validator integerIn(std::int64_t minimum, std::int64_t maximum) {
  const auto check = [minimum, maximum](const std::string& text) -> std::string {
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    const bool whole = error == std::errc() && end == text.data() + text.size();
    if (whole && value >= minimum && value <= maximum) return {};
    return fmt::format("found `{}`, expected an integer from {} to {}", text, minimum, maximum);
  };
  // No description: an option's own text names the range where it matters.
  return CLI::Validator(check, "");
}

CommandPage pageOf(const CLI::App& command, const std::string& name) {
  CommandPage page{name, command.get_description(), {}, {}, command.get_footer()};
  for (const CLI::Option* option : command.get_options())
    (option->get_positional() ? page.positionals : page.options).push_back(pageOf(*option));
  return page;
}

std::vector<std::string> commandNames(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands({})) names.push_back(command->get_name());
  return names;
}

std::vector<std::string> optionNames(const CLI::App& command) {
  std::vector<std::string> names;
  for (const CLI::Option* option : command.get_options())
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  return names;
}

std::string didYouMean(const std::string& nearest) {
  return nearest.empty() ? "" : fmt::format("; did you mean {}?", nearest);
}

// A complaint about a first word that is no command, which CLI11 would take for a positional argument; else
// empty.
std::string unknownCommand(const CLI::App& app, const std::vector<std::string>& words) {
  if (words.empty() || words.front().starts_with('-')) return "";
  const std::vector<std::string> names = commandNames(app);
  for (const std::string& name : names)
    if (name == words.front()) return "";
  const std::string nearest = nearestWord(words.front(), names);
  return fmt::format("there is no command `{}`{}", words.front(),
                     nearest.empty() ? fmt::format("; the commands are {}", fmt::join(names, ", "))
                                     : didYouMean("`" + nearest + "`"));
}

// The one of `names` that is most like `option`, both with their dashes, which do not make words alike.
std::string nearestOption(const std::string& option, std::vector<std::string> names) {
  for (std::string& name : names) name.erase(0, 2);
  const std::string nearest = nearestWord(option.substr(2), names);
  return nearest.empty() ? "" : "--" + nearest;
}

// A complaint about the first option that the chosen command does not have; empty if it has all.
std::string unknownOption(const CLI::App& app, const std::vector<std::string>& words) {
  const auto chosen = app.get_subcommands();
  const CLI::App& command = chosen.empty() ? app : *chosen.front();
  const std::vector<std::string> names = optionNames(command);
  for (const std::string& word : words) {
    const std::string option = word.substr(0, word.find('='));
    if (option == "--") break;  // the program's own words follow
    if (!option.starts_with("--") || std::find(names.begin(), names.end(), option) != names.end()) continue;
    return fmt::format("`{}` has no option {}{}", command.get_name(), option,
                       didYouMean(nearestOption(option, names)));
  }
  return "";
}

// A complaint about words that the chosen command does not take, in the order in which they were given; empty without any.
std::string unexpectedWords(const CLI::App& app, const std::vector<std::string>& words) {
  const auto chosen = app.get_subcommands();
  const CLI::App& command = chosen.empty() ? app : *chosen.front();
  const std::vector<std::string> extra = command.remaining();
  std::vector<std::string> quoted;
  bool sizes = false;
  for (const std::string& word : words) {
    if (std::find(extra.begin(), extra.end(), word) == extra.end()) continue;
    quoted.push_back("`" + word + "`");
    sizes = sizes || parseSize(word).has_value();
  }
  if (quoted.empty()) return "";
  const std::vector<std::string> names = optionNames(command);
  const bool takesSizes = std::find(names.begin(), names.end(), "--sizes") != names.end();
  return fmt::format("`{}` does not take {}{}", command.get_name(), fmt::join(quoted, ", "),
                     sizes && takesSizes ? "; sizes are given as --sizes 8,64K,1.5M" : "");
}

// CLI11's message in one line, with the help to look into.
std::string complaintAbout(const CLI::App& app, const CLI::ParseError& error,
                           const std::vector<std::string>& words) {
  std::string extra;
  if (error.get_exit_code() == static_cast<int>(CLI::ExitCodes::ExtrasError)) {
    extra = unknownOption(app, words);
    if (extra.empty()) extra = unexpectedWords(app, words);
  }
  const auto chosen = app.get_subcommands();
  return fmt::format("{} (see `xylem {}--help`)", extra.empty() ? error.what() : extra,
                     chosen.empty() ? "" : chosen.front()->get_name() + " ");
}

}  // namespace

Option& Option::value(const std::string& name) {
  option_->type_name(name);
  return *this;
}

Option& Option::required(bool isRequired) {
  option_->required(isRequired);
  return *this;
}

Option& Option::within(std::int64_t minimum, std::int64_t maximum) {
  option_->check(integerIn(minimum, maximum));
  return *this;
}

Option& Option::oneOf(const std::vector<std::string>& words) {
  // AllReduce and all-reduce are all_reduce, too; the option gets the word as it stands in the list.
  const auto choose = [words](std::string& text) -> std::string {
    for (const std::string& word : words)
      if (isSameWord(word, text)) {
        text = word;
        return {};
      }
    const std::string nearest = nearestWord(text, words);
    return fmt::format("found `{}`; expected one of {}{}", text, fmt::join(words, ", "),
                       nearest.empty() ? "" : fmt::format("; did you mean {}?", nearest));
  };
  option_->transform(CLI::Validator(choose, fmt::format("{{{}}}", fmt::join(words, ","))));
  return *this;
}

Option& Option::repeats() {
  option_->expected(1)->take_all();
  return *this;
}

Option& Option::takesOne() {
  option_->allow_extra_args(false);
  return *this;
}

Option& Option::separatedBy(char mark) {
  option_->delimiter(mark);
  return *this;
}

Option& Option::excludes(const Option& other) {
  option_->excludes(other.option_);
  return *this;
}

Option& Option::mayStandWith(const Option& other) {
  option_->remove_excludes(other.option_);
  other.option_->remove_excludes(option_);
  return *this;
}

Option& Option::needs(const Option& other) {
  option_->needs(other.option_);
  return *this;
}

template <typename T>
Option Command::add(const std::string& names, T& target, const std::string& help) {
  CLI::Option* option = app_->add_option(names, target, help);
  option->type_name("");
  return Option(option);
}

// An empty text is no value, as from an unset variable of a script (--nccl "$VERSION"), whose author did not mean the default.
template <typename T>
Option Command::addText(const std::string& names, T& target, const std::string& help) {
  const Option option = add(names, target, help);
  option.option_->check(CLI::Validator(
      [](const std::string& text) {
        return text.empty() ? "found an empty text, expected a value" : std::string();
      },
      ""));
  return option;
}

Option Command::option(const std::string& names, int& target, const std::string& help) {
  return add(names, target, help);
}

Option Command::option(const std::string& names, std::size_t& target, const std::string& help) {
  return add(names, target, help);
}

Option Command::option(const std::string& names, std::string& target, const std::string& help) {
  return addText(names, target, help);
}

Option Command::option(const std::string& names, std::vector<std::string>& target, const std::string& help) {
  return addText(names, target, help);
}

Option Command::option(const std::string& names, std::vector<int>& target, const std::string& help) {
  return add(names, target, help);
}

Option Command::flag(const std::string& names, bool& target, const std::string& help) {
  return Option(app_->add_flag(names, target, help));
}

Option Command::get(const std::string& name) { return Option(app_->get_option(name)); }

void Command::excludesOthers(Option option) {
  for (CLI::Option* other : app_->get_options())
    if (other != option.option_ && other != app_->get_help_ptr()) option.option_->excludes(other);
}

void Command::footer(const std::string& text) { app_->footer(text); }

void Command::action(Action action) {
  app_->callback([line = line_, action = std::move(action)] { line->chosen_ = action; });
}

void Command::actionOnProgram(std::function<int(const std::vector<std::string>& program)> act) {
  app_->prefix_command();
  app_->callback([app = app_, line = line_, act = std::move(act)] {
    std::vector<std::string> program = app->remaining();
    if (!program.empty() && program.front().starts_with('-'))
      throw CLI::ExtrasError(app->get_name(), program);
    // `--` ends our options. After the program's name it is one of the program's own words.
    const bool isOurs = program.empty() && !line->program_.empty();
    program.insert(program.end(), line->program_.begin() + (isOurs ? 1 : 0), line->program_.end());
    line->chosen_ = [act, program] { return act(program); };
  });
}

CommandLine::CommandLine(const std::string& description, const std::string& footer,
                         const std::string& version)
    : app_(std::make_unique<CLI::App>(description, "xylem")), version_(version) {
  const auto help = std::make_shared<HelpFormatter>();
  help->label("Positionals", "Arguments");
  app_->formatter(help);
  app_->set_help_flag("-h,--help", "print this help");
  app_->set_version_flag("--version", version, "print the version");
  app_->footer(footer);
  // One subcommand: after it, the name of another is an ordinary word (`xylem man plan`).
  app_->require_subcommand(0, 1);
}

CommandLine::~CommandLine() = default;

Command CommandLine::add(const std::string& name, const std::string& summary) {
  return {app_->add_subcommand(name, summary), this};
}

std::vector<CommandPage> CommandLine::pages() const {
  std::vector<CommandPage> pages = {pageOf(*app_, "")};
  for (const CLI::App* command : app_->get_subcommands({}))
    pages.push_back(pageOf(*command, command->get_name()));
  return pages;
}

std::string CommandLine::help(const std::string& command) const {
  // Not CLI::App::help: while `xylem help` runs, that prints the help of the subcommand `help`.
  const CLI::App* app = command.empty() ? app_.get() : app_->get_subcommand(command);
  const std::string name = command.empty() ? "xylem" : "xylem " + command;
  return app->get_formatter()->make_help(app, name, CLI::AppFormatMode::Normal);
}

CommandLine::Parsed CommandLine::parse(const std::vector<std::string>& words) {
  words_ = words;
  if (words.empty()) {
    std::fputs(app_->help().c_str(), stderr);
    return {.action = {}, .status = kBadInput, .complaint = {}};
  }
  if (std::string unknown = unknownCommand(*app_, words); !unknown.empty())
    return {.action = {}, .status = kBadInput, .complaint = std::move(unknown)};
  // Words from `--` on belong to the program of a command that runs one. CLI11 must not see them.
  std::vector<std::string> ours = words;
  if (!words.front().starts_with('-') && app_->get_subcommand(words.front())->get_prefix_command()) {
    const auto mark = std::find(ours.begin(), ours.end(), "--");
    program_.assign(mark, ours.end());
    ours.erase(mark, ours.end());
  }
  try {
    // CLI11 wants the words in reverse order.
    app_->parse(std::vector<std::string>(ours.rbegin(), ours.rend()));
  } catch (const CLI::Success& wanted) {
    std::ostringstream text;  // --help, --version
    const int status = app_->exit(wanted, text, text);
    writeAsIs(text.str());
    return {.action = {}, .status = status, .complaint = {}};
  } catch (const CLI::ParseError& error) {
    return {.action = {}, .status = kBadInput, .complaint = complaintAbout(*app_, error, words)};
  }
  if (!chosen_)
    return {.action = {}, .status = kBadInput, .complaint = "a command is needed (see `xylem --help`)"};
  return {.action = chosen_, .status = kOk, .complaint = {}};
}

}  // namespace xylem::cli
