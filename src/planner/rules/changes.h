#pragma once
// The table of changes: what each version of NCCL decides differently, with a stable name for each.
//
//   for (const Change& change : changes())
//     if (change.since > from && change.since <= to) ... change.name, change.summary, change.touches ...
//   auto rules = rulesOf(kNewestVersion);
//   auto partly = rulesWith(kOldestVersion, {&changes()[0]});   // one change alone

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "core/settings.h"
#include "planner/rules/rule_set.h"

namespace xylem::rules {

// Where a change is felt.
enum class Concerns : std::uint8_t {
  kPlans,      // in the plans of described machines
  kDetection,  // in how a live machine is described, and which descriptions are accepted
  kTexts,      // in log lines and in files that are written
  kExecution,  // in what Xylem's planner does not decide: kernels, registered memory, groups, plugins, failures at run time
};
const char* name(Concerns concerns);

struct Change {
  const char* name;         // `26-c2c-type`
  Version since;            // the first release with it
  const char* summary;      // what is decided differently
  const char* touches;      // the machines and jobs that it concerns
  const char* back;         // the variable and value that restores the old rule; empty if there is none
  void (*apply)(RuleSet&);  // null if no field stands for it
  Concerns concerns = Concerns::kPlans;
};

// All changes, oldest first.
std::span<const Change> changes();
// The changes that a known version brings: those since the known version before it.
std::vector<const Change*> changesOf(const Version& known);
// The changes of plans that the rules of `to` have and those of `from` have not.
std::vector<const Change*> changesBetween(const Version& from, const Version& to);
// The fewest of `changes` that suffice, found by leaving out halves, then quarters and so on down to single ones, the newest first. `suffice`
// is asked about parts of `changes` in their order, and must hold for all of them.
std::vector<const Change*> fewestOf(std::vector<const Change*> changes,
                                    const std::function<bool(std::span<const Change* const>)>& suffice);
// Null if no change has this name.
const Change* findChange(std::string_view name);

// Returns whether these are the rules of exactly this release.
bool isRelease(const RuleSet& rules, const Version& release);
// Returns whether these are the rules of the oldest known version, which plans name by not naming any.
bool isOldest(const RuleSet& rules);

// The rules of the newest known version, for who has no reason to ask for another one.
std::shared_ptr<const RuleSet> newestRules();
// The rules of a version. Between two releases the nearest known one answers (nearestKnown).
std::shared_ptr<const RuleSet> rulesOf(const Version& version);
// The rules of the version that XYLEM_NCCL names. Throws InputError for a text that is no version.
std::shared_ptr<const RuleSet> rulesOf(const Settings& settings);
// The rules of a version with further changes, applied in the table's order.
std::shared_ptr<const RuleSet> rulesWith(const Version& version, std::span<const Change* const> more);

}  // namespace xylem::rules
