// The part of nccl.h about groups.

#include <optional>
#include <utility>

#include "runtime/api/boundary.h"
#include "runtime/api/captured_calls.h"
#include "runtime/api/config.h"
#include "runtime/api/group_members.h"
#include "runtime/api/one_sided_calls.h"
#include "runtime/api/repeated_groups.h"

using namespace xylem;
using namespace xylem::api;

namespace {

void requireGroup(const char* function) {
  if (comm::groupDepth() == 0)
    throw Error(ResultCode::kInvalidUsage, "{}: there is no open group; call ncclGroupStart before",
                function);
}

// Releases what the group used, once the outermost group has ended, also if that failed.
class AtEnd {
 public:
  AtEnd() = default;
  ~AtEnd() { end(); }
  AtEnd(const AtEnd&) = delete;
  AtEnd& operator=(const AtEnd&) = delete;
  // Throws if a communicator could not be freed.
  void release() {
    if (const std::optional<Error> failure = end()) throw Error(*failure);
  }

 private:
  std::optional<Error> end() noexcept {
    if (comm::groupDepth() > 0 || std::exchange(isOver_, true)) return std::nullopt;
    std::optional<Error> failure = GroupMembers::ofThread().end();
    CapturedCalls::ofThread().dropGroup();
    OneSidedCalls::ofThread().dropGroup();
    return failure;
  }
  bool isOver_ = false;
};

}  // namespace

ncclResult_t pncclGroupStart(void) {
  return guard([] {
    if (comm::groupDepth() == 0)
      RepeatedGroups::begin();
    else
      RepeatedGroups::stop();
    comm::groupStart();
  });
}
XYLEM_PROFILED(GroupStart);

ncclResult_t pncclGroupEnd(void) {
  return guard([] {
    if (RepeatedGroups::launches()) return ncclSuccess;
    requireGroup("ncclGroupEnd");
    AtEnd atEnd;
    const bool goesOn = comm::groupEnd(RepeatedGroups::toFill());
    if (comm::groupDepth() == 0) {
      CapturedCalls::ofThread().endGroup();
      OneSidedCalls::ofThread().endGroup();
    }
    atEnd.release();
    return goesOn ? ncclInProgress : ncclSuccess;
  });
}
XYLEM_PROFILED(GroupEnd);

ncclResult_t pncclGroupSimulateEnd(ncclSimInfo_t* simInfo) {
  return guard([&] {
    requireGroup("ncclGroupSimulateEnd");
    if (simInfo != nullptr) checkSimInfo(*simInfo, "ncclGroupSimulateEnd");
    RepeatedGroups::stop();
    AtEnd atEnd;
    const float microseconds = comm::groupSimulateEnd();
    atEnd.release();
    if (simInfo != nullptr) simInfo->estimatedTime = microseconds;
  });
}
XYLEM_PROFILED(GroupSimulateEnd);
