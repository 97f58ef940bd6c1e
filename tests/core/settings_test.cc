#include "core/settings.h"

#include <gmock/gmock.h>

#include <set>

#include "core/error.h"

namespace xylem {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// Runs `fromPairs` and gives the message it fails with.
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
            "settings: NCCL_CROSS_NIC: found `yes`; expected an integer");
  EXPECT_EQ(refusal({{"NCCL_CROSS_NIC", "1x"}}), "settings: NCCL_CROSS_NIC: found `1x`; expected an integer");
  EXPECT_EQ(refusal({{"NCCL_CROSS_NIC", " "}}), "settings: NCCL_CROSS_NIC: found ` `; expected an integer");
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
      ElementsAre(HasSubstr("NCCL_CROSS_NIC=99999999999999999999 (settings) does not fit in 64 bits"),
                  HasSubstr("NCCL_P2P_LEVEL=NEAR (settings) is not one of LOC NVL NVB PIX PXB PXN PHB SYS")));
}

TEST(Settings, TakesLevelsByNameAndByNcclsOldDigits) {
  for (const char* level : {"LOC", "NVL", "NVB", "PIX", "PXB", "PXN", "PHB", "SYS", "0", "5", "12"}) {
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
            "settings: found variable NCCL_CROS_NIC; expected one that `xylem settings` lists");
}

TEST(Settings, ALaterSetReplaces) {
  Settings settings = Settings::fromPairs({{"NCCL_CROSS_NIC", "1"}});
  settings.set(spec(Setting::kCrossNic), "0", "here");
  EXPECT_EQ(settings.integer(Setting::kCrossNic), 0);
  EXPECT_EQ(settings.origin(Setting::kCrossNic), "here");
}

}  // namespace
}  // namespace xylem
