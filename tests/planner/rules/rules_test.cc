#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <regex>
#include <set>

#include "core/settings.h"
#include "planner/rules/changes.h"
#include "planner/rules/patches.h"
#include "planner/rules/variables.h"

namespace xylem::rules {
namespace {

TEST(Version, ReadsWhatPeopleWrite) {
  EXPECT_EQ(parseVersion("2.27.7"), (Version{2, 27, 7}));
  EXPECT_EQ(parseVersion("v2.28.9"), (Version{2, 28, 9}));
  EXPECT_EQ(parseVersion("2.27"), (Version{2, 27, 7})) << "a series means its known version";
  for (const char* text : {"", "2", "2.", "2.27.", "2.27.7.1", "2.27.x", "2.27.7-1", "-2.27", "two"})
    EXPECT_EQ(parseVersion(text), std::nullopt) << text;
}

TEST(Version, ReleasesBetweenAreAnsweredByTheNearestOne) {
  EXPECT_EQ(nearestKnown({2, 26, 5}), (Version{2, 26, 2}));
  EXPECT_EQ(nearestKnown({2, 28, 3}), (Version{2, 28, 9})) << "the one of its series, although it is newer";
  EXPECT_EQ(nearestKnown({2, 19, 3}), kOldestVersion);
  EXPECT_EQ(nearestKnown({2, 31, 1}), kNewestVersion);
  for (const Version& known : kKnownVersions) {
    EXPECT_EQ(nearestKnown(known), known);
    EXPECT_EQ(differenceFromKnown(known), "");
  }
  EXPECT_NE(differenceFromKnown({2, 28, 3}), "");
}

// Padding is zero in static storage, so that bytes compare.
bool changesSomething(const Change& change) {
  static RuleSet before, after;
  after = before;
  change.apply(after);
  return std::memcmp(&before, &after, sizeof(RuleSet)) != 0;
}

TEST(Changes, EachHasANameOfItsVersionAndChangesTheRules) {
  std::set<std::string> names;
  for (const Change& change : changes()) {
    EXPECT_TRUE(names.insert(change.name).second) << change.name << " twice";
    EXPECT_EQ(std::string(change.name).substr(0, 3), std::to_string(change.since.minor) + "-") << change.name;
    EXPECT_STRNE(change.summary, "") << change.name;
    EXPECT_STRNE(change.touches, "") << change.name;
    EXPECT_TRUE(change.concerns != Concerns::kPlans || change.apply != nullptr) << change.name;
    if (change.apply != nullptr) {
      EXPECT_TRUE(changesSomething(change)) << change.name;
    }
    EXPECT_EQ(findChange(change.name), &change);
  }
  EXPECT_EQ(findChange("26-no-such-change"), nullptr);
}

TEST(Changes, WhatBringsTheOldRuleBackIsAccepted) {
  for (const Change& change : changes()) {
    const std::string back = change.back;
    static const std::regex kAssignment("((?:NCCL|XYLEM)_[A-Z0-9_]+)=([^ ,;]+)");
    for (std::sregex_iterator found(back.begin(), back.end(), kAssignment), end; found != end; ++found) {
      SCOPED_TRACE(std::string(change.name) + ": " + found->str());
      const std::string variable = (*found)[1], value = (*found)[2];
      if (findSetting(variable) == nullptr) {
        EXPECT_NE(findNcclVariable(variable), nullptr);
        continue;
      }
      EXPECT_NO_THROW(EXPECT_EQ(Settings::fromPairs({{variable, value}}).warnings().size(), 0u));
      EXPECT_TRUE(knows(kNewestVersion, variable));
    }
  }
}

TEST(Changes, EveryKnownVersionButTheOldestBringsSome) {
  EXPECT_THAT(changesOf(kOldestVersion), ::testing::IsEmpty());
  std::size_t all = 0;
  for (const Version& known : kKnownVersions) {
    if (known != kOldestVersion) {
      EXPECT_THAT(changesOf(known), ::testing::Not(::testing::IsEmpty()));
    }
    all += changesOf(known).size();
  }
  EXPECT_EQ(all, changes().size());
}

// A variable that restores an old rule has to work here, too, where plans change.
TEST(Changes, NameVariablesThatXylemKnows) {
  static const std::regex kVariable("[A-Z0-9_]+_[A-Z0-9_]+");
  for (const Change& change : changes()) {
    std::cmatch found;
    if (!std::regex_search(change.back, found, kVariable)) continue;
    const bool known = findSetting(found.str()) != nullptr ||
                       (change.concerns != Concerns::kPlans && findNcclVariable(found.str()) != nullptr);
    EXPECT_TRUE(known) << change.name << ": " << change.back;
  }
}

TEST(RuleSets, HoldTheChangesUpToTheirVersion) {
  EXPECT_FALSE(rulesOf({2, 25, 1})->c2cLinks);
  EXPECT_TRUE(rulesOf({2, 26, 2})->c2cLinks);
  EXPECT_FALSE(rulesOf({2, 26, 2})->p2cPaths);
  EXPECT_TRUE(rulesOf({2, 30, 7})->c2cLinks);
  EXPECT_EQ(rulesOf({2, 26, 5})->version, (Version{2, 26, 2}));
  EXPECT_TRUE(isOldest(*rulesOf(kOldestVersion)));
  EXPECT_TRUE(isRelease(*rulesOf({2, 28, 3}), {2, 28, 9}));
}

TEST(RuleSets, TakeSingleChanges) {
  const Change* change = findChange("26-c2c-type");
  const auto rules = rulesWith(kOldestVersion, {&change, 1});
  EXPECT_TRUE(rules->c2cLinks);
  EXPECT_FALSE(rules->fourIntelModels);
}

// The one place that says which version is planned for without a request.
TEST(Versions, TheDefaultIsTheNewest) {
  EXPECT_EQ(Settings().text(Setting::kNccl), versionText(kNewestVersion));
  EXPECT_EQ(newestRules()->version, kNewestVersion);
}

TEST(Versions, HaveNumbers) {
  EXPECT_EQ(versionNumber({2, 27, 7}), 22707);
  EXPECT_EQ(versionOfNumber(23007), (Version{2, 30, 7}));
}

TEST(Variables, AreKnownFromTheirVersionOn) {
  EXPECT_FALSE(knows({2, 27, 7}, "NCCL_NETDEVS_POLICY"));
  EXPECT_TRUE(knows({2, 28, 3}, "NCCL_NETDEVS_POLICY"));
  EXPECT_EQ(lifeText("NCCL_NETDEVS_POLICY"), "since NCCL 2.28");
  EXPECT_TRUE(knows({2, 25, 1}, "NCCL_ALGO"));
  EXPECT_EQ(lifeText("NCCL_ALGO"), "");
  EXPECT_TRUE(knows({2, 25, 1}, "XYLEM_CHECK"));
  // Removed within a series.
  EXPECT_TRUE(knows({2, 30, 3}, "NCCL_SHM_USE_CUDA_MEMCPY"));
  EXPECT_FALSE(knows({2, 30, 7}, "NCCL_SHM_USE_CUDA_MEMCPY"));
  EXPECT_EQ(lifeText("NCCL_SHM_USE_CUDA_MEMCPY"), "until NCCL 2.30.4");
}

TEST(Variables, HaveTheirVersionsDefaults) {
  EXPECT_EQ(defaultIn({2, 26, 2}, "NCCL_NET_GDR_C2C", "-2"), "0");
  EXPECT_EQ(defaultIn({2, 27, 7}, "NCCL_NET_GDR_C2C", "-2"), "1");
  EXPECT_EQ(defaultIn({2, 27, 7}, "NCCL_PXN_C2C", "-2"), "0");
  EXPECT_EQ(defaultIn({2, 30, 7}, "NCCL_PXN_C2C", "-2"), "1");
  EXPECT_EQ(defaultIn({2, 30, 7}, "NCCL_ALGO", "Ring"), "Ring");
}

}  // namespace
}  // namespace xylem::rules
