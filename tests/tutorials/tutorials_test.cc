// Runs the commands in the ```console blocks of README.md and of the pages in docs/, in order, in one folder
// per page: they must print what the page shows. In a page, `…` stands for any text within a line, and a line
// with `…` alone for any number of lines. In the tutorials, a block of C++ or Python that starts with a comment
// naming a file is written to that file; any other one must be part of a program in examples/, word for word.

#include <gtest/gtest.h>
#include <stdlib.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <regex>
#include <sstream>

namespace {

namespace fs = std::filesystem;
const fs::path kPages = fs::path(XYLEM_SOURCE_DIR) / "docs/tutorials";

struct Step {
  int line = 0;         // of the page
  std::string command;  // empty: a file, or part of one
  std::string file;     // empty: part of an example
  std::string text;     // what is printed, or the file's
};

void addCommand(std::vector<Step>& steps, int number, const std::string& line) {
  if (line.starts_with("$ "))
    steps.push_back({number, line.substr(2), "", ""});
  else if (!steps.empty())
    steps.back().text += line + "\n";
}

void addCode(std::vector<Step>& steps, int number, const std::string& line, bool isFirst) {
  static const std::regex named("(//|#) ([a-z_]+\\.(cc|py)): .*");
  std::smatch match;
  if (isFirst) {
    std::regex_match(line, match, named);
    steps.push_back({number, "", match.empty() ? "" : match[2].str(), ""});
  }
  steps.back().text += line + "\n";
}

std::vector<Step> stepsOf(const fs::path& page) {
  std::ifstream in(page);
  std::vector<Step> steps;
  std::string block, line;
  bool isFirst = false;
  for (int number = 1; std::getline(in, line); ++number) {
    if (line.starts_with("```")) {
      block = block.empty() ? line.substr(3) : "";
      isFirst = true;
    } else if (block == "console") {
      addCommand(steps, number, line);
    } else if (block == "cpp" || block == "python") {
      addCode(steps, number, line, isFirst);
      isFirst = false;
    }
  }
  return steps;
}

std::vector<std::string> linesOf(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

constexpr const char* kAny = "…";

bool fitsLine(const std::string& shown, const std::string& line) {
  const std::size_t any = shown.find(kAny);
  if (any == std::string::npos) return shown == line;
  if (line.compare(0, any, shown, 0, any) != 0) return false;
  const std::string rest = shown.substr(any + std::string(kAny).size());
  for (std::size_t at = any; at <= line.size(); ++at)
    if (fitsLine(rest, line.substr(at))) return true;
  return false;
}

using Lines = std::vector<std::string>;

bool fits(Lines::const_iterator shown, const Lines& allShown, Lines::const_iterator line,
          const Lines& lines) {
  if (shown == allShown.end()) return line == lines.end();
  if (*shown == kAny) {
    for (;; ++line) {
      if (fits(shown + 1, allShown, line, lines)) return true;
      if (line == lines.end()) return false;
    }
  }
  return line != lines.end() && fitsLine(*shown, *line) && fits(shown + 1, allShown, line + 1, lines);
}

bool fits(const std::string& shown, const std::string& printed) {
  const Lines allShown = linesOf(shown), lines = linesOf(printed);
  return fits(allShown.begin(), allShown, lines.begin(), lines);
}

// A new folder with links to examples/ and topologies/, and a shell in it.
class Place {
 public:
  Place() {
    std::string folder = (fs::temp_directory_path() / "xylem-tutorial-XXXXXX").string();
    if (mkdtemp(folder.data()) == nullptr) throw std::runtime_error("no temporary folder");
    folder_ = folder;
    for (const char* name : {"examples", "topologies"})
      fs::create_directory_symlink(fs::path(XYLEM_SOURCE_DIR) / name, folder_ / name);
  }
  ~Place() {
    std::error_code ignored;
    fs::remove_all(folder_, ignored);
  }
  Place(const Place&) = delete;
  Place& operator=(const Place&) = delete;

  void write(const std::string& name, const std::string& text) const {
    std::ofstream(folder_ / name) << text;
  }

  std::string print(const std::string& command) const {
    const fs::path script = folder_ / ".command";
    std::ofstream(script) << command << "\n";
    const std::string line = "cd '" + folder_.string() +
                             "' && timeout -k 5 100 env -i HOME=" + folder_.string() +
                             " PATH=" + fs::path(XYLEM_COMMAND).parent_path().string() +
                             ":/usr/local/bin:/usr/bin:/bin PKG_CONFIG_PATH=" XYLEM_PREFIX
                             "/lib/pkgconfig LD_LIBRARY_PATH=" XYLEM_PREFIX
                             "/lib PYTHONPATH=" XYLEM_PYTHON_PATH " bash .command 2>&1";
    std::FILE* pipe = popen(line.c_str(), "r");
    std::string output;
    std::array<char, 4096> buffer{};
    while (const std::size_t count = std::fread(buffer.data(), 1, buffer.size(), pipe))
      output.append(buffer.data(), count);
    pclose(pipe);
    return output;
  }

 private:
  fs::path folder_;
};

bool standsInAnExample(const std::string& text) {
  for (const auto& file : fs::directory_iterator(fs::path(XYLEM_SOURCE_DIR) / "examples")) {
    std::ostringstream example;
    example << std::ifstream(file.path()).rdbuf();
    if (example.str().find(text) != std::string::npos) return true;
  }
  return false;
}

// Returns whether a page's programs are for PyTorch: they need the back-end, which is not in every build.
bool needsTorch(const std::vector<Step>& steps) {
  return std::any_of(steps.begin(), steps.end(), [](const Step& step) {
    return step.text.find("import xylem.torch") != std::string::npos;
  });
}

void expectPrints(const std::string& page, const Step& step, const Place& place) {
  const std::string printed = place.print(step.command);
  EXPECT_TRUE(fits(step.text, printed)) << page << ":" << step.line << ": " << step.command << "\nprints\n"
                                        << printed << "instead of\n"
                                        << step.text;
}

// Runs the console blocks of a page and returns how many commands there were.
int expectPrintsWhatItShows(const fs::path& page) {
  const Place place;
  int commands = 0;
  for (const Step& step : stepsOf(page)) {
    if (step.command.empty()) continue;
    expectPrints(page.filename().string(), step, place);
    ++commands;
  }
  return commands;
}

TEST(Readme, ShowsWhatTheCommandPrints) {
  EXPECT_GE(expectPrintsWhatItShows(fs::path(XYLEM_SOURCE_DIR) / "README.md"), 2);
}

TEST(Docs, ShowWhatTheCommandPrints) {
  int commands = 0;
  for (const auto& file : fs::directory_iterator(fs::path(XYLEM_SOURCE_DIR) / "docs"))
    if (file.path().extension() == ".md") commands += expectPrintsWhatItShows(file.path());
  EXPECT_GT(commands, 10);
}

// The anchor of a heading, as GitHub makes it: lower case, without punctuation, blanks as hyphens.
std::string anchorOf(const std::string& heading) {
  std::string anchor;
  for (const char c : heading) {
    const auto byte = static_cast<unsigned char>(c);
    if (std::isalnum(byte) != 0 || c == '-' || c == '_') anchor += static_cast<char>(std::tolower(byte));
    if (c == ' ') anchor += '-';
  }
  return anchor;
}

std::vector<std::string> anchorsOf(const fs::path& page) {
  std::ifstream in(page);
  std::vector<std::string> anchors;
  bool code = false;
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with("```")) code = !code;
    if (!code && line.starts_with("#"))
      anchors.push_back(anchorOf(line.substr(line.find_first_not_of("# "))));
  }
  return anchors;
}

// Expects that every relative link of a page leads to a file, and to a heading if it names one.
void expectLinksLeadSomewhere(const fs::path& page) {
  static const std::regex link("\\]\\(([^)#\\s]*)(#([^)\\s]*))?\\)");
  std::ifstream in(page);
  bool code = false;
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with("```")) code = !code;
    if (code) continue;
    for (std::sregex_iterator at(line.begin(), line.end(), link), end; at != end; ++at) {
      const std::string target = (*at)[1], anchor = (*at)[3];
      if (target.starts_with("http")) continue;
      const fs::path file = target.empty() ? page : page.parent_path() / target;
      EXPECT_TRUE(fs::exists(file)) << page << " links to " << target;
      if (anchor.empty() || file.extension() != ".md") continue;
      const std::vector<std::string> anchors = anchorsOf(file);
      EXPECT_NE(std::find(anchors.begin(), anchors.end(), anchor), anchors.end())
          << page << " links to " << target << "#" << anchor;
    }
  }
}

TEST(Links, LeadToFilesAndHeadings) {
  const fs::path source = XYLEM_SOURCE_DIR;
  for (const char* page : {"README.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md"})
    expectLinksLeadSomewhere(source / page);
  for (const fs::path& folder : {source / "docs", kPages})
    for (const auto& file : fs::directory_iterator(folder))
      if (file.path().extension() == ".md") expectLinksLeadSomewhere(file.path());
}

class Tutorial : public ::testing::TestWithParam<std::string> {};

TEST_P(Tutorial, PrintsWhatItShows) {
  const std::vector<Step> steps = stepsOf(kPages / (GetParam() + ".md"));
  EXPECT_GE(steps.size(), 3u);
  if (needsTorch(steps) && std::string(XYLEM_PYTHON_PATH).empty()) GTEST_SKIP() << "built without PyTorch";
  const Place place;
  for (const Step& step : steps) {
    if (!step.command.empty())
      expectPrints(GetParam() + ".md", step, place);
    else if (!step.file.empty())
      place.write(step.file, step.text);
    else
      EXPECT_TRUE(standsInAnExample(step.text))
          << GetParam() << ".md:" << step.line << ": no program of examples/ has\n"
          << step.text;
  }
}

std::vector<std::string> pages() {
  std::vector<std::string> names;
  for (const auto& file : fs::directory_iterator(kPages)) names.push_back(file.path().stem().string());
  return names;
}

INSTANTIATE_TEST_SUITE_P(Pages, Tutorial, ::testing::ValuesIn(pages()), [](const auto& page) {
  return std::regex_replace(page.param, std::regex("[^a-z0-9]"), "_");
});

TEST(Excerpts, AreLookedFor) {
  EXPECT_TRUE(standsInAnExample("Table ncclNetPlugin_v8;\n"));
  EXPECT_FALSE(standsInAnExample("Table ncclNetPlugin_v7;\n"));
}

TEST(Shown, MayLeaveTextAndLinesOut) {
  EXPECT_TRUE(fits("a\nb\n", "a\nb\n"));
  EXPECT_FALSE(fits("a\n", "a\nb\n"));
  EXPECT_FALSE(fits("a\nb\n", "a\n"));
  EXPECT_TRUE(fits("a … c\n", "a b b c\n"));
  EXPECT_FALSE(fits("a … c\n", "a b\n"));
  EXPECT_TRUE(fits("a\n…\nd\n", "a\nb\nc\nd\n"));
  EXPECT_TRUE(fits("a\n…\nd\n", "a\nd\n"));
  EXPECT_FALSE(fits("a\n…\nd\n", "a\nb\n"));
  EXPECT_TRUE(fits("…\n", ""));
}

}  // namespace
