#include "runtime/comm/issue/coll_net.h"

#include <algorithm>
#include <array>

#include "runtime/comm/join/coll_join.h"
#include "planner/connect/collnet_links.h"

namespace xylem {
namespace {

// What a member tells the others.
struct Invitation {
  NetHandle handle{};
  std::uint64_t listens = 0;
};

// Of what a rank says went wrong.
constexpr std::size_t kMostReasonBytes = 400;
using Refusal = std::array<char, kMostReasonBytes>;

}  // namespace

CollNet::CollNet(const Plan& plan, int rank, CollNetBasics basics)
    : plan_(plan), rank_(rank), basics_(std::move(basics)) {
  connections_.resize(static_cast<std::size_t>(basics_.channels));
}

// Null, with the reason, if that is not possible.
std::unique_ptr<CollListener> CollNet::listen(int device) {
  if (!reason_.empty()) return nullptr;
  try {
    const std::size_t most = basics_.network->properties(device).maxBytes;
    if (const std::size_t step = basics_.stepBytes[Protocol::kSimple]; most < step)
      throw Error(ResultCode::kInvalidUsage, "{} reduces {} bytes at once, and steps have {} (NCCL_BUFFSIZE)",
                  basics_.network->name(), most, step);
    return basics_.network->listen(device);
  } catch (const Error& error) {
    reason_ = error.what();
    return nullptr;
  }
}

CollEndpoint CollNet::endpoint(int channel, int device) const {
  CollEndpoint made{
      nullptr, basics_.stepBytes, fmt::format("{}/{}", basics_.network->name(), device), rank_, {}};
  for (const int head : headsBeside(plan_.connections, rank_, channel))
    made.neighbours.push_back(basics_.connections.at(head));
  return made;
}

void CollNet::connectChannel(Bootstrap& bootstrap, const Waiting& waiting, int channel) {
  const std::vector<int> heads = collnetChainHeads(plan_.connections, channel);
  const auto self = std::find(heads.begin(), heads.end(), rank_);
  if (self == heads.end()) return;
  const int device = basics_.network->deviceBeside(collnetChainDevice(plan_.connections, rank_, channel));
  std::unique_ptr<CollListener> listener = listen(device);
  const Invitation mine = listener ? Invitation{listener->handle(), 1} : Invitation{};
  std::vector<NetHandle> handles;
  bool all = true;
  for (const Invitation& invitation :
       bootstrap.allGatherAmong(heads, mine, "the exchange of the reducing network's addresses")) {
    handles.push_back(invitation.handle);
    all = all && invitation.listens != 0;
  }
  if (!all) return;
  CollEndpoint made = endpoint(channel, device);
  try {
    made.link = joinWithin(
        {basics_.network, std::move(listener), std::move(handles), static_cast<int>(self - heads.begin())},
        waiting);
    connections_[static_cast<std::size_t>(channel)] =
        std::make_unique<CollConnection>(std::move(made), *basics_.engine);
  } catch (const Error& error) {
    // What another rank has failed of, this one will hear in a moment.
    bootstrap.check();
    reason_ = error.what();
  }
}

std::string CollNet::connect(Bootstrap& bootstrap, const Waiting& waiting) {
  for (int channel = 0; channel < basics_.channels; ++channel) connectChannel(bootstrap, waiting, channel);
  Refusal mine{};
  std::copy_n(reason_.begin(), std::min(reason_.size(), mine.size() - 1), mine.begin());
  const std::vector<Refusal> reasons = bootstrap.allGather(mine, "the agreement on the reducing network");
  const auto failed =
      std::find_if(reasons.begin(), reasons.end(), [](const Refusal& r) { return r[0] != 0; });
  if (failed == reasons.end()) return {};
  connections_.clear();
  Refusal text = *failed;
  text.back() = 0;
  return fmt::format("rank {}: {}", failed - reasons.begin(), text.data());
}

std::vector<NetworkEnds> CollNet::ends() const {
  std::vector<NetworkEnds> all;
  for (const auto& connection : connections_)
    all.push_back(connection ? NetworkEnds{&connection->receiver(0), &connection->sender(0)} : NetworkEnds{});
  return all;
}

}  // namespace xylem
