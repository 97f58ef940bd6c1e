// The part of nccl.h about groups.

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

// Releases what the group used, once the outermost group has ended.
struct AtEnd {
  ~AtEnd() {
    if (comm::groupDepth() > 0) return;
    GroupMembers::ofThread().end();
    CapturedCalls::ofThread().dropGroup();
    OneSidedCalls::ofThread().dropGroup();
  }
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
    const AtEnd atEnd;
    const bool goesOn = comm::groupEnd(RepeatedGroups::toFill());
    if (comm::groupDepth() == 0) {
      CapturedCalls::ofThread().endGroup();
      OneSidedCalls::ofThread().endGroup();
    }
    return goesOn ? ncclInProgress : ncclSuccess;
  });
}
XYLEM_PROFILED(GroupEnd);

ncclResult_t pncclGroupSimulateEnd(ncclSimInfo_t* simInfo) {
  return guard([&] {
    requireGroup("ncclGroupSimulateEnd");
    if (simInfo != nullptr) checkSimInfo(*simInfo, "ncclGroupSimulateEnd");
    RepeatedGroups::stop();
    const AtEnd atEnd;
    const float microseconds = comm::groupSimulateEnd();
    if (simInfo != nullptr) simInfo->estimatedTime = microseconds;
  });
}
XYLEM_PROFILED(GroupSimulateEnd);
