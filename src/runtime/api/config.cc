#include "runtime/api/config.h"

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "core/error.h"

namespace xylem::api {
namespace {

constexpr ncclConfig_t kUntouched = NCCL_CONFIG_INITIALIZER;
constexpr ncclSimInfo_t kUntouchedSimInfo = NCCL_SIM_INFO_INITIALIZER;
constexpr int kMaxCgaClusterSize = 8;
constexpr int kMaxChannels = 64;
constexpr int kAllPolicies = NCCL_CTA_POLICY_EFFICIENCY | NCCL_CTA_POLICY_ZERO;

// The versions of NCCL that added fields.
constexpr unsigned kBlockingSince = NCCL_VERSION(2, 14, 0);
constexpr unsigned kChannelsSince = NCCL_VERSION(2, 17, 0);  // and cgaClusterSize, netName
constexpr unsigned kSplitShareSince = NCCL_VERSION(2, 18, 0);
constexpr unsigned kTrafficClassSince = NCCL_VERSION(2, 25, 0);
constexpr unsigned kPoliciesSince = NCCL_VERSION(2, 27, 0);  // collnetEnable to nvlsCTAs
constexpr unsigned kNetPeerSince = NCCL_VERSION(2, 28, 0);   // and nvlinkCentricSched
constexpr unsigned kGraphUsageSince = NCCL_VERSION(2, 29, 0);
constexpr unsigned kPeersSince = NCCL_VERSION(2, 30, 0);
constexpr unsigned kGraphOrderSince = NCCL_VERSION(2, 30, 5);

ncclConfig_t copyOf(const ncclConfig_t* theirs, const char* function) {
  std::size_t size = 0;
  std::memcpy(&size, theirs, sizeof size);
  ncclConfig_t copy = kUntouched;
  if (size >= offsetof(ncclConfig_t, blocking)) {
    copy.magic = 0;
    std::memcpy(&copy, theirs, std::min(size, sizeof copy));
  }
  if (size < offsetof(ncclConfig_t, blocking) || copy.magic != kUntouched.magic)
    throw Error(ResultCode::kInvalidArgument,
                "{}: config does not start as it should; initialize it with NCCL_CONFIG_INITIALIZER",
                function);
  if (copy.version < kBlockingSince) copy.blocking = NCCL_CONFIG_UNDEF_INT;
  if (copy.version < kChannelsSince) {
    copy.cgaClusterSize = copy.minCTAs = copy.maxCTAs = NCCL_CONFIG_UNDEF_INT;
    copy.netName = nullptr;
  }
  if (copy.version < kSplitShareSince) copy.splitShare = NCCL_CONFIG_UNDEF_INT;
  if (copy.version < kTrafficClassSince) copy.trafficClass = NCCL_CONFIG_UNDEF_INT;
  if (copy.version < kPoliciesSince)
    copy.collnetEnable = copy.CTAPolicy = copy.shrinkShare = copy.nvlsCTAs = NCCL_CONFIG_UNDEF_INT;
  if (copy.version < kNetPeerSince)
    copy.nChannelsPerNetPeer = copy.nvlinkCentricSched = NCCL_CONFIG_UNDEF_INT;
  if (copy.version < kGraphUsageSince) copy.graphUsageMode = copy.numRmaCtx = NCCL_CONFIG_UNDEF_INT;
  if (copy.version < kPeersSince) copy.maxP2pPeers = NCCL_CONFIG_UNDEF_INT;
  if (copy.version < kGraphOrderSince) copy.graphStreamOrdering = NCCL_CONFIG_UNDEF_INT;
  return copy;
}

// Sets `field`, unless the program left the value undefined.
void take(int value, int least, int most, const char* name, const char* function, int& field) {
  if (value == NCCL_CONFIG_UNDEF_INT) return;
  if (value < least || value > most) {
    if (most == INT_MAX)
      throw Error(ResultCode::kInvalidArgument, "{}: config.{} is {}; expected at least {}", function, name,
                  value, least);
    throw Error(ResultCode::kInvalidArgument, "{}: config.{} is {}; expected {} to {}", function, name, value,
                least, most);
  }
  field = value;
}

void take(int value, const char* name, const char* function, bool& field) {
  int number = field ? 1 : 0;
  take(value, 0, 1, name, function, number);
  field = number == 1;
}

}  // namespace

comm::CommConfig readConfig(const ncclConfig_t* config, const char* function) {
  comm::CommConfig result;
  if (config == nullptr) return result;
  const ncclConfig_t theirs = copyOf(config, function);
  take(theirs.blocking, "blocking", function, result.blocking);
  take(theirs.cgaClusterSize, 0, kMaxCgaClusterSize, "cgaClusterSize", function, result.cgaClusterSize);
  take(theirs.minCTAs, 1, INT_MAX, "minCTAs", function, result.minCtas);
  take(theirs.maxCTAs, 1, INT_MAX, "maxCTAs", function, result.maxCtas);
  if (result.maxCtas > 0 && result.minCtas > result.maxCtas)
    throw Error(ResultCode::kInvalidArgument, "{}: config.minCTAs is {}, more than config.maxCTAs, {}",
                function, result.minCtas, result.maxCtas);
  if (theirs.netName != nullptr) {
    result.netName = theirs.netName;
    if (result.netName.empty())
      throw Error(ResultCode::kInvalidArgument,
                  "{}: config.netName is empty; expected the name of a network, or NULL for any", function);
  }
  take(theirs.splitShare, "splitShare", function, result.splitShare);
  take(theirs.trafficClass, 0, INT_MAX, "trafficClass", function, result.trafficClass);
  if (theirs.commName != nullptr) result.name = theirs.commName;
  take(theirs.collnetEnable, 0, 1, "collnetEnable", function, result.collnetEnable);
  take(theirs.nvlsCTAs, 1, kMaxChannels, "nvlsCTAs", function, result.nvlsCtas);
  take(theirs.nChannelsPerNetPeer, 1, kMaxChannels, "nChannelsPerNetPeer", function,
       result.channelsPerNetPeer);
  // Host devices have no thread blocks and no NVLinks, and no communicator has resources that another one could use.
  // Their graphs may be used in any way and order, and sends may have any number of peers.
  int ignored = 0;
  take(theirs.CTAPolicy, 0, kAllPolicies, "CTAPolicy", function, ignored);
  take(theirs.shrinkShare, 0, 1, "shrinkShare", function, ignored);
  take(theirs.nvlinkCentricSched, 0, 1, "nvlinkCentricSched", function, ignored);
  take(theirs.graphUsageMode, 0, 2, "graphUsageMode", function, ignored);
  int contexts = 1;
  take(theirs.numRmaCtx, 0, INT_MAX, "numRmaCtx", function, contexts);
  result.oneSided = contexts > 0;
  take(theirs.maxP2pPeers, 1, INT_MAX, "maxP2pPeers", function, ignored);
  take(theirs.graphStreamOrdering, 0, 1, "graphStreamOrdering", function, ignored);
  return result;
}

void checkSimInfo(const ncclSimInfo_t& info, const char* function) {
  if (info.size < offsetof(ncclSimInfo_t, estimatedTime) + sizeof info.estimatedTime ||
      info.magic != kUntouchedSimInfo.magic)
    throw Error(ResultCode::kInvalidArgument,
                "{}: simInfo does not start as it should; initialize it with NCCL_SIM_INFO_INITIALIZER",
                function);
}

}  // namespace xylem::api
