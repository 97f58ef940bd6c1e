#include "core/settings.h"

#include <gmock/gmock.h>

#include <fstream>
#include <set>

#include "core/error.h"
#include "core/scoped_environment.h"
#include "core/setting_values.h"
#include "core/temporary_directory.h"

namespace xylem {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;
using ::testing::UnorderedElementsAre;

// Returns the message that fromPairs fails with.
std::string refusal(const std::map<std::string, std::string>& pairs) {
  try {
    Settings::fromPairs(pairs);
  } catch (const InputError& error) {
    return error.what();
  }
  return "accepted";
}

TEST(SettingTable, IsWellFormed) {
  std::set<std::string> names;
  int index = 0;
  for (const SettingSpec& row : settingSpecs()) {
    SCOPED_TRACE(row.name);
    EXPECT_EQ(static_cast<int>(row.id), index++);
    EXPECT_TRUE(names.insert(row.name).second) << "two rows";
    EXPECT_TRUE(std::string_view(row.name).starts_with("NCCL_") ||
                std::string_view(row.name).starts_with("XYLEM_"));
    EXPECT_STRNE(row.help, "");
    EXPECT_STRNE(name(row.kind), "");
    EXPECT_EQ(findSetting(row.name), &row);
    EXPECT_EQ(&spec(row.id), &row);
    if (row.kind != SettingKind::kInteger) continue;
    const std::int64_t fallback = Settings().integer(row.id);
    EXPECT_LE(row.minimum, fallback);
    EXPECT_GE(row.maximum, fallback);
  }
  EXPECT_EQ(index, static_cast<int>(Setting::kCount));
  EXPECT_EQ(findSetting("NCCL_NOTHING"), nullptr);
}

TEST(Settings, DefaultsAreNotSet) {
  const Settings settings;
  EXPECT_FALSE(settings.isSet(Setting::kCrossNic));
  EXPECT_EQ(settings.integer(Setting::kCrossNic), 2);
  EXPECT_EQ(settings.origin(Setting::kCrossNic), "");
  EXPECT_EQ(settings.text(Setting::kDebugSubsys), "INIT,BOOTSTRAP,ENV");
}

TEST(Settings, KnowsWhereAValueCameFrom) {
  const Settings settings =
      Settings::fromPairs({{"NCCL_CROSS_NIC", "1"}, {"NCCL_TOPO_FILE", "a.xml"}}, "option --set");
  EXPECT_TRUE(settings.isSet(Setting::kCrossNic));
  EXPECT_EQ(settings.integer(Setting::kCrossNic), 1);
  EXPECT_EQ(settings.origin(Setting::kCrossNic), "option --set");
  EXPECT_EQ(settings.text(Setting::kTopoFile), "a.xml");
}

TEST(Settings, ReadsIntegersAsCDoes) {
  const auto integer = [](const char* text) {
    return Settings::fromPairs({{"NCCL_MIN_NCHANNELS", text}}).integer(Setting::kMinNChannels);
  };
  EXPECT_EQ(integer("10"), 10);
  EXPECT_EQ(integer("0x10"), 16);
  EXPECT_EQ(integer("010"), 8);
  EXPECT_EQ(integer("-1"), -1);
  EXPECT_EQ(integer(" 7"), 7);
}

TEST(Settings, RefusesWhatIsNoInteger) {
  EXPECT_EQ(refusal({{"NCCL_CROSS_NIC", "yes"}}),
            "settings: NCCL_CROSS_NIC: found `yes`; expected an integer (NCCL reads 0 of it without a word)");
  EXPECT_THAT(refusal({{"NCCL_CROSS_NIC", "1x"}}),
              HasSubstr("found `1x`; expected an integer (NCCL reads 1"));
  EXPECT_THAT(refusal({{"NCCL_CROSS_NIC", " "}}), HasSubstr("found ` `; expected an integer (NCCL reads 0"));
  EXPECT_EQ(refusal({{"XYLEM_HOST_DEVICES", "4x"}}),
            "settings: XYLEM_HOST_DEVICES: found `4x`; expected an integer");
}

TEST(Settings, ANulEndsNoInteger) {
  EXPECT_THROW(Settings::fromPairs({{"NCCL_CROSS_NIC", std::string("1\0", 2)}}), InputError);
}

TEST(Settings, RefusesWhatIsOutOfRange) {
  EXPECT_EQ(refusal({{"NCCL_CROSS_NIC", "3"}}),
            "settings: NCCL_CROSS_NIC: found 3; expected an integer from 0 to 2");
  EXPECT_EQ(refusal({{"NCCL_BUFFSIZE", "-1"}}),
            "settings: NCCL_BUFFSIZE: found -1; expected an integer from 64 to 1073741824");
}

TEST(Settings, WarnsWhereNcclSilentlyTakesTheDefault) {
  const Settings settings =
      Settings::fromPairs({{"NCCL_CROSS_NIC", "99999999999999999999"}, {"NCCL_P2P_LEVEL", "NEAR"}});
  EXPECT_FALSE(settings.isSet(Setting::kCrossNic));
  EXPECT_EQ(settings.integer(Setting::kCrossNic), 2);
  EXPECT_FALSE(settings.isSet(Setting::kP2pLevel));
  EXPECT_THAT(
      settings.warnings(),
      ElementsAre(
          HasSubstr("NCCL_CROSS_NIC=99999999999999999999 (settings) does not fit in 64 bits"),
          HasSubstr("NCCL_P2P_LEVEL=NEAR (settings) is not one of LOC NVL NVB C2C PIX PXB P2C PXN PHB SYS")));
}

TEST(Settings, TakesLevelsByNameAndByNcclsOldDigits) {
  for (const char* level :
       {"LOC", "NVL", "NVB", "C2C", "PIX", "PXB", "P2C", "PXN", "PHB", "SYS", "0", "5", "12"}) {
    const Settings settings = Settings::fromPairs({{"NCCL_P2P_LEVEL", level}});
    EXPECT_EQ(settings.text(Setting::kP2pLevel), level);
    EXPECT_THAT(settings.warnings(), IsEmpty());
  }
}

TEST(Settings, AnEmptyValueIsNoValue) {
  const Settings settings = Settings::fromPairs({{"NCCL_CROSS_NIC", ""}, {"NCCL_TOPO_FILE", ""}});
  EXPECT_FALSE(settings.isSet(Setting::kCrossNic));
  EXPECT_FALSE(settings.isSet(Setting::kTopoFile));
}

TEST(Settings, PairsMustBeInTheTable) {
  EXPECT_EQ(refusal({{"NCCL_CROS_NIC", "1"}}),
            "settings: found variable NCCL_CROS_NIC, which is no variable of NCCL or Xylem; did you mean "
            "NCCL_CROSS_NIC?; expected one that `xylem settings` lists");
}

TEST(Settings, ALaterSetReplaces) {
  Settings settings = Settings::fromPairs({{"NCCL_CROSS_NIC", "1"}});
  settings.set(spec(Setting::kCrossNic), "0", "here");
  EXPECT_EQ(settings.integer(Setting::kCrossNic), 0);
  EXPECT_EQ(settings.origin(Setting::kCrossNic), "here");
}

// Sources of settings: the environment first, then the files that NCCL reads.

TEST(SettingsEnvironment, TakesOnlyOurVariables) {
  const ScopedEnvironment environment{{"NCCL_CROSS_NIC", "0"}, {"XYLEM_TIMEOUT", "5"}};
  const Settings settings = Settings::fromEnvironment();
  EXPECT_EQ(settings.integer(Setting::kCrossNic), 0);
  EXPECT_EQ(settings.integer(Setting::kTimeout), 5);
  EXPECT_EQ(settings.origin(Setting::kTimeout), "environment");
  EXPECT_THAT(settings.warnings(), IsEmpty());
}

TEST(SettingsEnvironment, NamesUnknownVariablesAndSuggests) {
  const ScopedEnvironment environment{{"NCCL_CROS_NIC", "0"}, {"XYLEM_TEST_GOLDEN", "x"}};
  EXPECT_THAT(Settings::fromEnvironment().warnings(),
              ElementsAre("NCCL_CROS_NIC (environment) is no variable of NCCL or Xylem; "
                          "did you mean NCCL_CROSS_NIC?"));
}

TEST(SettingsEnvironment, TellsNcclsVariablesFromTypingErrors) {
  const ScopedEnvironment environment{{"NCCL_IB_TIMEOUT", "22"},
                                      {"NCCL_FOO", "1"},
                                      {"NCCL_MNNVL_CROSS_CLIQUE", "0"},
                                      {"NCCL_IB_TIMEOT", "1"}};
  const Settings settings = Settings::fromEnvironment();
  EXPECT_THAT(settings.warnings(),
              ::testing::UnorderedElementsAre(
                  "NCCL_FOO (environment) is no variable of NCCL or Xylem",
                  HasSubstr("NCCL_MNNVL_CROSS_CLIQUE (environment) is NCCL's, whose plans depend on it"),
                  HasSubstr("did you mean NCCL_IB_TIMEOUT?")));
  EXPECT_THAT(
      settings.notes(),
      ElementsAre(HasSubstr("NCCL_IB_TIMEOUT (environment) is NCCL's, and no plan depends on it: time-out")));
}

TEST(NcclVariables, EachIsKnownOnce) {
  std::set<std::string> names;
  for (const NcclVariable& variable : ncclVariables()) {
    EXPECT_TRUE(names.insert(variable.name).second) << variable.name;
    EXPECT_EQ(findSetting(variable.name), nullptr) << variable.name;
    EXPECT_STRNE(variable.help, "");
  }
  EXPECT_TRUE(decidesPlans(Setting::kCrossNic));
  EXPECT_TRUE(decidesPlans(Setting::kAlgo));
  EXPECT_FALSE(decidesPlans(Setting::kGraphDumpFile));
  EXPECT_FALSE(decidesPlans(Setting::kDebug));
  EXPECT_FALSE(decidesPlans(Setting::kTimeout));
}

TEST(SettingsEnvironment, DoesNotSuggestWhatIsFarAway) {
  const ScopedEnvironment environment{{"NCCL_ENTIRELY_DIFFERENT", "0"}};
  EXPECT_THAT(Settings::fromEnvironment().warnings(),
              ElementsAre("NCCL_ENTIRELY_DIFFERENT (environment) is no variable of NCCL or Xylem"));
}

TEST(SettingsEnvironment, PluginsHaveVariablesOfTheirOwn) {
  for (const char* plugin : {"NCCL_NET_PLUGIN", "NCCL_TUNER_PLUGIN", "NCCL_PROFILER_PLUGIN"}) {
    const ScopedEnvironment environment{
        {plugin, "example"}, {"NCCL_ENTIRELY_DIFFERENT", "1"}, {"NCCL_CROS_NIC", "1"}};
    EXPECT_THAT(Settings::fromEnvironment().warnings(),
                ElementsAre("NCCL_CROS_NIC (environment) is no variable of NCCL or Xylem; did you mean "
                            "NCCL_CROSS_NIC?"));
  }
  const ScopedEnvironment none{
      {"NCCL_TUNER_PLUGIN", "none"}, {"NCCL_ENTIRELY_DIFFERENT", "1"}, {"NCCL_CROS_NIC", "1"}};
  EXPECT_EQ(Settings::fromEnvironment().warnings().size(), 2u);
}

// A nearest name would be another one's: NCCL_IB_DISABLE turns off what NCCL_IBEXT_DISABLE leaves on.
TEST(SettingsEnvironment, VariablesOfPluginsAreNoTypingErrors) {
  const ScopedEnvironment environment{
      {"NCCL_IBEXT_DISABLE", "1"}, {"NCCL_SHARP_DISABLE", "1"}, {"OFI_NCCL_PROTOCOL", "RDMA"}};
  const Settings settings = Settings::fromEnvironment();
  EXPECT_THAT(settings.warnings(), IsEmpty());
  EXPECT_THAT(settings.notes(),
              ::testing::UnorderedElementsAre(
                  HasSubstr("NCCL_IBEXT_DISABLE (environment) is a plugin's: HPC-X's net plugin"),
                  HasSubstr("NCCL_SHARP_DISABLE (environment) is a plugin's")));
}

TEST(SettingsEnvironment, AllBadValuesCanBeCollected) {
  const ScopedEnvironment environment{{"NCCL_BUFFSIZE", "big"}, {"NCCL_CROSS_NIC", "7"}};
  const Settings settings = Settings::fromEnvironmentWithRefusals();
  ASSERT_EQ(settings.refusals().size(), 2u);
  EXPECT_FALSE(settings.isSet(Setting::kCrossNic));
  EXPECT_EQ(settings.integer(Setting::kCrossNic), 2);
}

TEST(SettingsEnvironment, ABadValueNamesItsVariable) {
  const ScopedEnvironment environment{{"NCCL_BUFFSIZE", "big"}};
  try {
    Settings::fromEnvironment();
    FAIL() << "accepted";
  } catch (const InputError& error) {
    EXPECT_THAT(error.what(), StartsWith("environment: NCCL_BUFFSIZE: found `big`; expected an integer"));
  }
}

TEST(SettingValues, SaysWhatNcclMakesOfThem) {
  EXPECT_THAT(oddityOf("NCCL_DEBUG", "infoo"), HasSubstr("NCCL logs nothing"));
  EXPECT_THAT(oddityOf("NCCL_DEBUG_SUBSYS", "INIT,FOO,^NET"), HasSubstr("no subsystem with FOO, ^NET"));
  EXPECT_THAT(oddityOf("NCCL_LAUNCH_MODE", "PARALEL"), HasSubstr("NCCL uses PARALLEL"));
  EXPECT_THAT(oddityOf("NCCL_NTHREADS", "100"),
              HasSubstr("is not 64 to 512 in steps of 32: NCCL uses the nearer limit, or the greater one"));
  EXPECT_THAT(oddityOf("NCCL_MAX_NCHANNELS", "200"), HasSubstr("is not 1 to 64: NCCL uses the nearer limit"));
  EXPECT_THAT(oddityOf("NCCL_MAX_NCHANNELS", "0"), HasSubstr("is not 1 to 64"));
  EXPECT_THAT(oddityOf("NCCL_IB_TIMEOUT", "99"), HasSubstr("is not 0 to 31"));
  EXPECT_THAT(oddityOf("NCCL_IB_GID_INDEX", "abc"), HasSubstr("is no whole number: NCCL reads 0 of it"));
  EXPECT_THAT(oddityOf("NCCL_IB_SPLIT_DATA_ON_QPS", "1x"), HasSubstr("NCCL reads 1 of it"));
}

TEST(SettingValues, SaysWhichListsAreTooLong) {
  std::string cards = "^=mlx5_0";
  for (int card = 1; card < 33; ++card) cards += ",mlx5_" + std::to_string(card) + ":1";
  EXPECT_EQ(oddityOf("NCCL_IB_HCA", cards), "has 33 entries: NCCL reads the first 32 and ignores the others");
  EXPECT_EQ(oddityOf("NCCL_IB_HCA", cards.substr(0, cards.rfind(','))), "");
  EXPECT_THAT(oddityOf("NCCL_SOCKET_IFNAME", cards), HasSubstr("reads the first 16"));
  EXPECT_THAT(oddityOf("NCCL_IB_HCA", std::string(64, 'm') + ":1"), HasSubstr("of 64 characters"));
  EXPECT_EQ(oddityOf("NCCL_IB_HCA", std::string(63, 'm') + ":1"), "");
}

TEST(SettingValues, NothingIsOddAboutWhatIsRight) {
  for (const auto& [name, value] :
       std::vector<std::pair<std::string, std::string>>{{"NCCL_DEBUG", "info"},
                                                        {"NCCL_DEBUG_SUBSYS", "^NET,init"},
                                                        {"NCCL_LAUNCH_MODE", "GROUP"},
                                                        {"NCCL_NTHREADS", "-2"},
                                                        {"NCCL_NTHREADS", "0x100"},
                                                        {"NCCL_IB_GID_INDEX", "-1"},
                                                        {"NCCL_IB_TIMEOUT", "22"},
                                                        {"NCCL_IB_HCA", "^mlx5_3:1"},
                                                        {"NCCL_HOSTID", "abc"},
                                                        {"NCCL_IB_HCA", ""},
                                                        {"NCCL_FOO", "abc"}})
    EXPECT_EQ(oddityOf(name, value), "") << name << "=" << value;
}

// Every default is a value that nothing is odd about.
TEST(SettingValues, NothingIsOddAboutDefaults) {
  for (const SettingSpec& spec : settingSpecs())
    EXPECT_EQ(oddityOf(spec.name, spec.fallback), "") << spec.name;
  for (const NcclVariable& variable : ncclVariables())
    EXPECT_EQ(oddityOf(variable.name, variable.fallback), "") << variable.name;
}

TEST(SettingsEnvironment, OddValuesAreWarnedOf) {
  const ScopedEnvironment environment{{"NCCL_DEBUG", "infoo"}, {"NCCL_IB_TIMEOUT", "99"}};
  EXPECT_THAT(Settings::fromEnvironment().warnings(),
              UnorderedElementsAre(HasSubstr("NCCL_DEBUG=infoo (environment) is none of"),
                                   HasSubstr("NCCL_IB_TIMEOUT=99 (environment) is not 0 to 31")));
}

class SettingsFile : public ::testing::Test {
 protected:
  std::string write(const std::string& name, const std::string& text) {
    const std::string path = directory_ / name;
    std::ofstream(path) << text;
    return path;
  }
  TemporaryDirectory directory_;
};

TEST_F(SettingsFile, CompletesTheEnvironmentAndNeverReplacesIt) {
  const std::string path =
      write("nccl.conf", "# a comment\n\nNCCL_CROSS_NIC=1\nNCCL_BUFFSIZE=65536\r\nnot a line\n");
  const ScopedEnvironment environment{{"NCCL_CONF_FILE", path}, {"NCCL_CROSS_NIC", "0"}};
  const Settings settings = Settings::fromEnvironment();
  EXPECT_EQ(settings.integer(Setting::kCrossNic), 0);
  EXPECT_EQ(settings.integer(Setting::kBuffSize), 65536);
  EXPECT_EQ(settings.origin(Setting::kBuffSize), path + ":4");
  EXPECT_THAT(settings.warnings(), IsEmpty());
}

TEST_F(SettingsFile, TheFirstLineForAVariableWins) {
  const std::string path = write("nccl.conf", "NCCL_CROSS_NIC=1\nNCCL_CROSS_NIC=0\n");
  const ScopedEnvironment environment{{"NCCL_CONF_FILE", path}};
  EXPECT_EQ(Settings::fromEnvironment().integer(Setting::kCrossNic), 1);
}

TEST_F(SettingsFile, AnEmptyVariableHidesTheFilesValue) {
  const std::string path = write("nccl.conf", "NCCL_CROSS_NIC=1\n");
  const ScopedEnvironment environment{{"NCCL_CONF_FILE", path}, {"NCCL_CROSS_NIC", ""}};
  EXPECT_FALSE(Settings::fromEnvironment().isSet(Setting::kCrossNic));
}

TEST_F(SettingsFile, TheHomeFileIsReadUnlessAnotherIsNamed) {
  const std::string home = write(".nccl.conf", "NCCL_CROSS_NIC=1\n");
  const std::string directory = home.substr(0, home.rfind('/'));
  {
    const ScopedEnvironment environment{{"HOME", directory}};
    EXPECT_EQ(Settings::fromEnvironment().origin(Setting::kCrossNic), home + ":1");
  }
  const std::string other = write("other.conf", "NCCL_BUFFSIZE=128\n");
  const ScopedEnvironment environment{{"HOME", directory}, {"NCCL_CONF_FILE", other}};
  EXPECT_FALSE(Settings::fromEnvironment().isSet(Setting::kCrossNic));
}

TEST_F(SettingsFile, ErrorsAndUnknownNamesPointToTheLine) {
  const std::string bad = write("bad.conf", "\nNCCL_CROSS_NIC=maybe\n");
  try {
    const ScopedEnvironment environment{{"NCCL_CONF_FILE", bad}};
    Settings::fromEnvironment();
    FAIL() << "accepted";
  } catch (const InputError& error) {
    EXPECT_THAT(error.what(), StartsWith(bad + ":2: NCCL_CROSS_NIC: found `maybe`; expected an integer"));
  }
  const std::string unknown = write("unknown.conf", "PATH=/bin\nNCCL_BUFSIZE=1\n");
  const ScopedEnvironment environment{{"NCCL_CONF_FILE", unknown}};
  EXPECT_THAT(Settings::fromEnvironment().warnings(),
              ElementsAre("NCCL_BUFSIZE (" + unknown +
                          ":2) is no variable of NCCL or Xylem; did you mean NCCL_BUFFSIZE?"));
}

TEST_F(SettingsFile, LinesThatNcclReadsOtherwiseAreWarnedOf) {
  const std::string path = write("nccl.conf",
                                 "NCCL_CROSS_NIC = 1\n  NCCL_ALGO=Ring\nnccl_debug=INFO\nNCCL_PROTO\n# "
                                 "NCCL_PROTO = LL\nhost=a b\nNCCL_FOO\t=1\n");
  const ScopedEnvironment environment{{"NCCL_CONF_FILE", path}};
  const Settings settings = Settings::fromEnvironment();
  EXPECT_THAT(settings.warnings(),
              ElementsAre(HasSubstr(":1: `NCCL_CROSS_NIC = 1` has blanks around the name"),
                          HasSubstr(":2: `  NCCL_ALGO=Ring` has blanks"),
                          HasSubstr(":3: `nccl_debug` is ignored: names are in capital letters, NCCL_DEBUG"),
                          HasSubstr(":4: `NCCL_PROTO` has no `=`"),
                          HasSubstr(":7: `NCCL_FOO\t=1` has blanks around the name")));
  EXPECT_FALSE(settings.isSet(Setting::kCrossNic));
}

TEST_F(SettingsFile, ANamedFileThatIsMissingIsNoted) {
  const ScopedEnvironment environment{{"NCCL_CONF_FILE", directory_ / "none"}};
  EXPECT_THAT(Settings::fromEnvironment().warnings(),
              ElementsAre(HasSubstr("none (environment) cannot be read")));
}

}  // namespace
}  // namespace xylem
