#include "runtime/comm/join/coll_net.h"

#include <algorithm>
#include <array>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <thread>

namespace xylem::comm {
namespace {

constexpr std::chrono::milliseconds kLookEvery{20};

// Shared by the thread that connects and the rank that waits for it; the last of them deletes it.
struct Joining {
  CollJoinRequest meeting;
  std::mutex mutex;
  std::condition_variable changed;
  bool over = false;
  std::unique_ptr<transport::CollLink> link;
  std::optional<Error> error;
};

void join(Joining& joining) {
  std::unique_ptr<transport::CollLink> link;
  std::optional<Error> error;
  CollJoinRequest& meeting = joining.meeting;
  try {
    link = meeting.network->connect(meeting.handles, meeting.self, *meeting.listener);
  } catch (const Error& failed) {
    error = failed;
  } catch (const std::exception& failed) {
    error = errorOf(failed);
  }
  meeting.listener.reset();
  const std::lock_guard lock(joining.mutex);
  joining.link = std::move(link);
  joining.error = std::move(error);
  joining.over = true;
  joining.changed.notify_one();
}

void await(Joining& joining, const transport::Waiting& waiting) {
  std::unique_lock lock(joining.mutex);
  while (!joining.changed.wait_for(lock, kLookEvery, [&] { return joining.over; })) {
    lock.unlock();
    if (waiting.look) waiting.look();
    if (waiting.deadline.passed())
      throw Error(ResultCode::kRemoteError, "timed out connecting to {}, which waits for the other hosts",
                  joining.meeting.network->name());
    lock.lock();
  }
}

}  // namespace

std::unique_ptr<transport::CollLink> joinWithin(CollJoinRequest meeting, const transport::Waiting& waiting) {
  auto joining = std::make_shared<Joining>();
  joining->meeting = std::move(meeting);
  std::thread thread([joining] { join(*joining); });
  try {
    await(*joining, waiting);
  } catch (...) {
    thread.detach();
    throw;
  }
  thread.join();
  if (joining->error) throw Error(*joining->error);
  return std::move(joining->link);
}

namespace {

// Each member's message to the others: its address, and whether it listens there.
struct ListenerAddress {
  transport::NetHandle handle{};
  std::uint64_t listens = 0;
};

// A rank's reason against CollNet, as a text of fixed size.
constexpr std::size_t kMaxReasonBytes = 400;
using Refusal = std::array<char, kMaxReasonBytes>;

}  // namespace

CollNet::CollNet(const plan::Plan& plan, int rank, const LinkScope& scope, CollNetBasics basics)
    : plan_(plan), rank_(rank), scope_(scope), basics_(std::move(basics)) {}

// Returns null, and keeps the reason, if this rank cannot listen.
std::unique_ptr<transport::CollListener> CollNet::listen(int device) {
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

transport::CollEndpoint CollNet::endpoint(const NetworkGroup& group, int device) const {
  transport::CollEndpoint made{nullptr,
                               basics_.stepBytes,
                               fmt::format("{}/{}", basics_.network->name(), device),
                               rank_,
                               static_cast<int>(group.members.size()),
                               {}};
  for (const int member : group.beside(rank_)) made.neighbours.push_back(basics_.connections.at(member));
  return made;
}

void CollNet::connectGroup(bootstrap::Bootstrap& bootstrap, const transport::Waiting& waiting, int channel,
                           const NetworkGroup& group) {
  const std::vector<int>& heads = group.members;
  const auto self = std::find(heads.begin(), heads.end(), rank_);
  const int device = basics_.network->deviceBeside(group.device);
  std::unique_ptr<transport::CollListener> listener = listen(device);
  const ListenerAddress mine = listener ? ListenerAddress{listener->handle(), 1} : ListenerAddress{};
  std::vector<transport::NetHandle> handles;
  bool all = true;
  for (const ListenerAddress& invitation :
       bootstrap.allGatherAmong(heads, mine, "the exchange of the reducing network's addresses")) {
    handles.push_back(invitation.handle);
    all = all && invitation.listens != 0;
  }
  if (!all) return;
  transport::CollEndpoint made = endpoint(group, device);
  try {
    made.link = joinWithin(
        {basics_.network, std::move(listener), std::move(handles), static_cast<int>(self - heads.begin())},
        waiting);
    connections_.push_back({channel, group.algorithm,
                            std::make_unique<transport::CollConnection>(std::move(made), *basics_.engine)});
  } catch (const Error& error) {
    // If joining has failed on another rank, throw that instead.
    bootstrap.check();
    reason_ = error.what();
  }
}

std::string CollNet::connect(bootstrap::Bootstrap& bootstrap, const transport::Waiting& waiting) {
  for (int channel = 0; channel < basics_.channels; ++channel)
    for (const NetworkGroup& group : networkGroups(plan_, rank_, scope_, channel))
      connectGroup(bootstrap, waiting, channel, group);
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

std::vector<ChannelNetwork> CollNet::ends() const {
  std::vector<ChannelNetwork> all(static_cast<std::size_t>(basics_.channels));
  for (const auto& [channel, algorithm, connection] : connections_)
    all[static_cast<std::size_t>(channel)][algorithm] = {&connection->receiver(0), &connection->sender(0)};
  return all;
}

std::string missingCollNet(std::span<const PeerInfo> peers) {
  const auto has = [](const PeerInfo& peer) { return peer.reduces != 0; };
  if (std::none_of(peers.begin(), peers.end(), has) || reducedByAll(peers) != 0) return {};
  const auto without = std::find_if_not(peers.begin(), peers.end(), has);
  if (without == peers.end()) return "there is nothing that the networks of all ranks reduce";
  return fmt::format("rank {} has no network that reduces (NCCL_COLLNET_ENABLE and the plugin there)",
                     without - peers.begin());
}

}  // namespace xylem::comm
