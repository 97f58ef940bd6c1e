// The public headers: every function of nccl.h has its two names in the shared library, and the first gives
// way to a profiler's; initializers work in C; the examples in the headers compile.

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "core/temporary_directory.h"
#include "nccl.h"

// In header_c99.c.
extern "C" int headerConfigIsUntouched(void);

TEST(Header, InitializersWorkInC) { EXPECT_TRUE(headerConfigIsUntouched()); }

namespace {

const std::filesystem::path kInclude = std::filesystem::path(XYLEM_SOURCE_DIR) / "include";

// The indented blocks in the comments of a header, which are its examples.
std::vector<std::string> examplesOf(const std::filesystem::path& header) {
  static const std::regex indented(R"(^ *(?://|\*)   +(\S.*)$)");
  std::vector<std::string> examples;
  std::ifstream file(header);
  bool inExample = false;
  for (std::string line; std::getline(file, line);) {
    std::smatch match;
    const bool isExample = std::regex_match(line, match, indented);
    if (isExample && !inExample) examples.emplace_back();
    if (isExample) examples.back() += match[1].str() + "\n";
    inExample = isExample;
  }
  return examples;
}

// A program with all examples of the public headers, each in a function that has what examples take for
// granted.
std::string programOf(const std::vector<std::string>& examples) {
  std::string includes =
      "#include <nccl.h>\n#include <xylem/launch.h>\n#include <xylem/plan.h>\n#include <cstddef>\n#include "
      "<cstdio>\n";
  std::string functions;
  for (std::size_t i = 0; i < examples.size(); ++i) {
    functions += "void example" + std::to_string(i) +
                 "(ncclComm_t comm, ncclUniqueId id, int ranks, "
                 "int rank, std::size_t count, const float* send, "
                 "float* receive, cudaStream_t stream) {{\n";
    std::istringstream lines(examples[i]);
    for (std::string line; std::getline(lines, line);)
      (line.starts_with("#include") ? includes : functions) += line + "\n";
    functions += "}}\n";
  }
  return includes + functions;
}

// The compiler's output for a program; empty if it compiles.
std::string compilerErrors(const std::string& program) {
  const xylem::TemporaryDirectory folder;
  const std::filesystem::path source = folder / "examples.cc";
  std::ofstream(source) << program;
  const char* compiler = getenv("CXX");
  const std::string command = std::string(compiler == nullptr ? "c++" : compiler) +
                              " -std=c++20 -fsyntax-only -I'" + kInclude.string() + "' -I'" +
                              (kInclude / "host").string() + "' '" + source.string() + "' 2>&1";
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> output(popen(command.c_str(), "r"), pclose);
  std::string text;
  std::array<char, 4096> part;
  while (output != nullptr && std::fgets(part.data(), part.size(), output.get()) != nullptr)
    text += part.data();
  return text;
}

TEST(Header, ExamplesCompile) {
  std::vector<std::string> all;
  for (const char* name : {"nccl.h", "host/cuda_runtime.h", "xylem/launch.h", "xylem/plan.h"}) {
    const std::vector<std::string> examples = examplesOf(kInclude / name);
    EXPECT_FALSE(examples.empty()) << name << " has no example";
    all.insert(all.end(), examples.begin(), examples.end());
  }
  const std::string program = programOf(all);
  EXPECT_EQ(compilerErrors(program), "") << program;
  EXPECT_NE(compilerErrors(program + "void last() { doesNotExist(); }\n"), "")
      << "the compiler does not work";
}

// The functions that nccl.h declares, without the pncclX names.
std::set<std::string> declared() {
  std::ifstream file(std::string(XYLEM_SOURCE_DIR) + "/include/nccl.h");
  std::stringstream text;
  text << file.rdbuf();
  const std::string header = text.str();
  const std::regex declaration(R"(\n(?:ncclResult_t|const char\*|void) (nccl\w+)\()");
  std::set<std::string> names;
  for (std::sregex_iterator i(header.begin(), header.end(), declaration), end; i != end; ++i)
    names.insert((*i)[1]);
  return names;
}

TEST(Symbols, EveryFunctionHasItsProfilingName) {
  const std::unique_ptr<void, int (*)(void*)> library(dlopen(XYLEM_LIBRARY, RTLD_LAZY | RTLD_LOCAL), dlclose);
  ASSERT_NE(library, nullptr) << dlerror();
  const std::set<std::string> names = declared();
  EXPECT_EQ(names.size(), 71u);
  for (const std::string& name : names) {
    void* function = dlsym(library.get(), name.c_str());
    EXPECT_NE(function, nullptr) << name << " is not exported";
    EXPECT_EQ(dlsym(library.get(), ("p" + name).c_str()), function) << "p" << name;
  }
}

int seen = 0;

}  // namespace

// Like a profiler's function, this takes the place of the library's.
extern "C" ncclResult_t ncclGetVersion(int* version) {
  ++seen;
  return pncclGetVersion(version);
}

TEST(Symbols, AProfilersFunctionTakesTheFirstName) {
  const int before = seen;
  int version = 0;
  EXPECT_EQ(ncclGetVersion(&version), ncclSuccess);
  EXPECT_EQ(version, NCCL_VERSION_CODE);
  EXPECT_EQ(seen, before + 1);
}
