#include "runtime/transport/collnet/coll_connection.h"

#include <algorithm>

namespace xylem {
namespace {

// What a member brought before it ended may still be on its way.
constexpr std::chrono::seconds kResultNeeds{1};

}  // namespace

CollConnection::CollConnection(CollEndpoint endpoint, Engine& engine)
    : Connection(kReducingNetwork),
      name_(std::move(endpoint.name)),
      rank_(endpoint.rank),
      engine_(engine),
      neighbours_(std::move(endpoint.neighbours)),
      out_(endpoint.stepBytes),
      in_(endpoint.stepBytes) {
  pump_.emplace(out_.queue(), in_.queue(), std::move(endpoint.link), engine);
  senders_.push_back(std::make_unique<SendEnd>(peer(), out_.queue(), nullptr, &*pump_));
  receivers_.push_back(std::make_unique<RecvEnd>(peer(), in_.queue(), nullptr, &*pump_));
  engine_.add(*pump_);
}

CollConnection::~CollConnection() { engine_.remove(*pump_); }

PeerNews CollConnection::news() {
  if (!pump_->waits()) return {};
  const auto lost = std::find_if(neighbours_.begin(), neighbours_.end(), [](Connection* neighbour) {
    return neighbour->news().state == PeerState::kLost;
  });
  if (lost == neighbours_.end()) return {};
  const auto now = std::chrono::steady_clock::now();
  if (const std::uint64_t reduced = pump_->reduced(); reduced != reducedThen_) {
    reducedThen_ = reduced;
    lostAt_ = now;
  }
  if (now - lostAt_ < kResultNeeds) return {};
  const int rank = (*lost)->peer();
  return {PeerState::kAborted, rank,
          fmt::format("rank {} is gone (its process ended or cannot be reached) while rank {} waits for what "
                      "{} reduces",
                      rank, rank_, name_)};
}

}  // namespace xylem
