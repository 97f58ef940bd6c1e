#include "planner/tuning/tuning_options.h"

#include <gmock/gmock.h>

#include "core/error.h"
#include "core/settings.h"
#include "fuzz/replay.h"
#include "fuzz/settings_input.h"

namespace xylem::tuning {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

TuningOptions options(const char* variable, const char* value) {
  return TuningOptions::from(Settings::fromPairs({{variable, value}}, "test"));
}

// Returns the names of the algorithms that a list leaves for a collective.
std::string allowed(const char* list, Collective collective) {
  std::string text;
  const TuningOptions all = options("NCCL_ALGO", list);
  for (const Algorithm a : kAllAlgorithms)
    if (all.algorithms[collective][a]) text += std::string(text.empty() ? "" : " ") + name(a);
  return text;
}

std::string refusal(const char* variable, const char* value) {
  try {
    options(variable, value);
  } catch (const InputError& error) {
    return error.what();
  }
  return "accepted";
}

TEST(UserLists, TheFirstEntryMayBeForAllCollectives) {
  EXPECT_EQ(allowed("ring", Collective::kReduce), "Ring");
  EXPECT_EQ(allowed("Ring,TREE", Collective::kAllReduce), "Tree Ring");
  EXPECT_EQ(allowed("ring;allreduce:tree", Collective::kAllReduce), "Tree");
  EXPECT_EQ(allowed("ring;allreduce:tree", Collective::kAllGather), "Ring");
}

TEST(UserLists, EntriesForOneCollectiveLeaveTheOthers) {
  EXPECT_EQ(allowed("Broadcast:Ring", Collective::kBroadcast), "Ring");
  EXPECT_EQ(allowed("Broadcast:Ring", Collective::kReduce),
            "Tree Ring CollNetDirect CollNetChain NVLS NVLSTree PAT");
}

TEST(UserLists, CaretMeansAllBut) {
  EXPECT_EQ(allowed("^tree,pat", Collective::kReduce), "Ring CollNetDirect CollNetChain NVLS NVLSTree");
  const auto protocols = options("NCCL_PROTO", "^Simple").protocols[Collective::kReduce];
  EXPECT_EQ(protocols[Protocol::kSimple], Enabled::kNo);
  // The list includes LL128 by not leaving it out, so that the model no longer decides.
  EXPECT_EQ(protocols[Protocol::kLl128], Enabled::kYes);
  EXPECT_EQ(options("NCCL_ALGO", "Ring").protocols[Collective::kReduce][Protocol::kLl128], Enabled::kDecide);
}

TEST(UserLists, MistakesNameTheVariableAndWhatWasFound) {
  EXPECT_THAT(refusal("NCCL_ALGO", "Rong"), AllOf(HasSubstr("test: NCCL_ALGO"), HasSubstr("`Rong`"),
                                                  HasSubstr("Tree, Ring, CollNetDirect")));
  EXPECT_THAT(refusal("NCCL_PROTO", "LL;Simple"), AllOf(HasSubstr("NCCL_PROTO"), HasSubstr("a collective")));
  EXPECT_THAT(refusal("NCCL_PROTO", "sendrecv:LL"), HasSubstr("`sendrecv`; expected Broadcast"));
  EXPECT_THAT(refusal("NCCL_ALGO", ";"), HasSubstr("a list of names"));
  EXPECT_THAT(refusal("NCCL_ALGO", "Ring,^Tree"), HasSubstr("`^Tree`"));
  EXPECT_THAT(refusal("NCCL_THREAD_THRESHOLDS", "1 2 three"), HasSubstr("`three`"));
  EXPECT_THAT(refusal("NCCL_THREAD_THRESHOLDS", "1 2 3 4 5 6 7"), HasSubstr("at most six"));
}

// Replays the settings fuzzer's corpus: every input that once broke something goes there and stays.
TEST(Corpus, EverySettingIsTakenOrRefused) {
  const Replayed replayed = replayCorpus("settings", feedSettings);
  EXPECT_GE(replayed.accepted, 10);
  EXPECT_GE(replayed.refused, 5);
}

}  // namespace
}  // namespace xylem::tuning
