// Every function of nccl.h has its two names in the shared library, and the first gives way to a profiler's.

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <fstream>
#include <memory>
#include <regex>
#include <set>
#include <sstream>
#include <string>

#include "nccl.h"

namespace {

// The functions that the header declares, without the `p` names.
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
  EXPECT_EQ(names.size(), 42u);
  for (const std::string& name : names) {
    void* function = dlsym(library.get(), name.c_str());
    EXPECT_NE(function, nullptr) << name << " is not exported";
    EXPECT_EQ(dlsym(library.get(), ("p" + name).c_str()), function) << "p" << name;
  }
}

int seen = 0;

}  // namespace

// What a profiler does: this takes the place of the library's.
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
