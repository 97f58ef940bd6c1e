// Libraries that cannot be loaded, and tables without a function.

#include "runtime/plugins/plugin_library.h"

#include <gmock/gmock.h>

#include <fstream>
#include <sstream>

#include "core/settings.h"
#include "core/temporary_directory.h"
#include "runtime/plugins/profiler.h"
#include "runtime/plugins/tuner.h"

namespace xylem::plugins {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

// The log of looking for a plugin of that name.
std::string logOfSearch(const std::string& value) {
  TemporaryDirectory folder;
  const Logger log(Settings::fromPairs({{"NCCL_DEBUG", "INFO"}, {"NCCL_DEBUG_FILE", folder / "log"}}));
  EXPECT_FALSE(PluginLibrary::find({"NET/Plugin", "libnccl-net", value}, log));
  std::ostringstream text;
  text << std::ifstream(folder / "log").rdbuf();
  return text.str();
}

TEST(PluginLibrary, ThatIsThereAndCannotBeLoadedIsNotMissing) {
  TemporaryDirectory folder;
  const std::string file = (folder / "broken.so").string();
  std::ofstream(file) << "this is no library\n";
  EXPECT_THAT(logOfSearch(file),
              AllOf(HasSubstr("NET/Plugin: cannot load " + file + ": "), Not(HasSubstr("Could not find"))));
  const std::string missing = (folder / "none.so").string();
  EXPECT_THAT(logOfSearch(missing),
              AllOf(HasSubstr("NET/Plugin: Could not find: " + missing), Not(HasSubstr("cannot load"))));
}

abi::Result neverCalled(std::size_t, std::size_t, abi::LogFunction, void**) { return abi::kInternalError; }
abi::Result neverEnded(void*) { return abi::kInternalError; }

TEST(PluginTable, WithoutAFunctionIsRefusedAndTheFunctionNamed) {
  const auto log = std::make_shared<const Logger>(Settings());
  const auto library = std::make_shared<const PluginLibrary>("");
  const auto refused = [](const auto& make) -> std::string {
    try {
      make();
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ResultCode::kInvalidUsage);
      return error.what();
    }
    return "";
  };
  abi::TunerV4 tuner{"Halved", neverCalled, nullptr, neverEnded};
  EXPECT_THAT(refused([&] {
                Tuner(library, {&tuner, 4}, {}, log);
              }),
              HasSubstr("tuner plugin Halved of the program (v4) has no function getCollInfo"));
  abi::TunerV5 later{"Halved", nullptr, nullptr, nullptr};
  later.init = [](void**, std::uint64_t, std::size_t, std::size_t, abi::LogFunction, abi::NvlinkDomains*,
                  abi::TunerConstants*) { return abi::kInternalError; };
  later.getCollInfo = [](void*, int, std::size_t, int, float**, int, int, int, int*) {
    return abi::kInternalError;
  };
  EXPECT_THAT(refused([&] {
                Tuner(library, {&later, 5}, {}, log);
              }),
              HasSubstr("(v5) has no function finalize"));
  abi::Profiler profiler{
      "Halved", [](void**, int*) { return abi::kInternalError; }, nullptr, nullptr, nullptr, nullptr};
  EXPECT_THAT(refused([&] {
                Profiler(library, {&profiler, 1}, {}, log);
              }),
              HasSubstr("profiler plugin Halved of the program (v1) has no function startEvent"));
}

}  // namespace
}  // namespace xylem::plugins
