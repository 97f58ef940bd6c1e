#include "torch/pair_channel.h"

#include <algorithm>
#include <cstring>

namespace xylem::torch {
namespace {

constexpr int kPeer[] = {1, 0};  // the sender is rank 0 of the two

std::exception_ptr errorOf(const std::string& text) {
  return std::make_exception_ptr(std::runtime_error("xylem: " + text));
}

void transfer(Membership& member, bool send, void* data, std::size_t bytes) {
  if (bytes == 0) return;
  if (send)
    member.call("ncclSend", [&](ncclComm_t comm, cudaStream_t stream) {
      return ncclSend(data, bytes, ncclUint8, kPeer[0], comm, stream);
    });
  else
    member.call("ncclRecv", [&](ncclComm_t comm, cudaStream_t stream) {
      return ncclRecv(data, bytes, ncclUint8, kPeer[1], comm, stream);
    });
}

}  // namespace

PairChannel::PairChannel(Direction direction, int peer, Connect connect)
    : direction_(direction), peer_(peer), connect_(std::move(connect)), thread_([this] { run(); }) {}

PairChannel::~PairChannel() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  breakOff("the process group has ended");
  thread_.join();
}

void PairChannel::post(Message message) {
  {
    const std::lock_guard lock(mutex_);
    if (!broken_) {
      posted_.push_back(std::move(message));
      changed_.notify_all();
      return;
    }
  }
  message.done(errorOf(*broken_));
}

std::optional<std::chrono::steady_clock::time_point> PairChannel::expire() {
  std::optional<std::chrono::steady_clock::time_point> next;
  {
    const std::lock_guard lock(mutex_);
    if (current_) next = current_->deadline->load();
    for (const Message& message : posted_) {
      const auto deadline = message.deadline->load();
      next = next ? std::min(*next, deadline) : deadline;
    }
  }
  if (!next || *next > std::chrono::steady_clock::now()) return next;
  const std::string peer = "rank " + std::to_string(peer_);
  breakOff(direction_ == Direction::kSend ? "a send to " + peer + " timed out: it does not receive"
                                          : "a receive from " + peer + " timed out: it does not send");
  return std::nullopt;
}

void PairChannel::breakOff(const std::string& reason) {
  std::shared_ptr<Membership> member;
  {
    const std::lock_guard lock(mutex_);
    if (!broken_) broken_ = reason;
    member = member_;
  }
  changed_.notify_all();
  if (!member) return;
  // An idle channel leaves in order: its last message may still be under way to a slower peer.
  bool atRest = false;
  {
    const std::lock_guard lock(mutex_);
    atRest = ending_ && !current_ && posted_.empty();
  }
  if (!atRest) member->fail(reason);
}

void PairChannel::throwIfOver() {
  const std::lock_guard lock(mutex_);
  if (broken_) throw std::runtime_error("xylem: " + *broken_);
}

void PairChannel::run() try {
  {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return broken_ || !posted_.empty(); });
  }
  throwIfOver();
  std::shared_ptr<Membership> member = connect_([this] { throwIfOver(); });
  {
    const std::lock_guard lock(mutex_);
    member_ = member;
  }
  serve(*member);
} catch (const std::exception& error) {
  std::string reason = error.what();
  reason.resize(std::min(reason.find('\n'), reason.size()));  // torch's have a backtrace
  constexpr std::string_view kOurs = "xylem: ";
  const bool ours = reason.starts_with(kOurs);
  if (ours) reason.erase(0, kOurs.size());
  {
    const std::lock_guard lock(mutex_);
    // While the two ranks meet, others are the store's.
    if (!ours && !member_)
      reason = "rank " + std::to_string(peer_) + " cannot be met: the store failed: " + reason;
    if (!broken_) broken_ = reason;
    reason = *broken_;
  }
  failAll(errorOf(reason));
}

void PairChannel::serve(Membership& member) {
  for (;;) {
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [this] { return broken_ || !posted_.empty(); });
    }
    throwIfOver();
    if (direction_ == Direction::kSend)
      sendOne(member);
    else if (!takeKept())
      receiveOne(member);
  }
}

void PairChannel::sendOne(Membership& member) {
  {
    const std::lock_guard lock(mutex_);
    current_ = std::move(posted_.front());
    posted_.pop_front();
  }
  header_ = {current_->tag, current_->bytes};
  transfer(member, true, &header_, sizeof header_);
  transfer(member, true, current_->data, current_->bytes);
  member.wait(member.now());
  std::optional<Message> sent;
  {
    const std::lock_guard lock(mutex_);
    sent.swap(current_);
  }
  sent->done(nullptr);
}

void PairChannel::receiveOne(Membership& member) {
  transfer(member, false, &header_, sizeof header_);
  member.wait(member.now());
  std::optional<Message> wanted = take(header_.tag);
  const bool fits = wanted && wanted->bytes == header_.bytes;
  Kept kept{header_.tag, std::vector<std::byte>(fits ? 0 : header_.bytes)};
  {
    const std::lock_guard lock(mutex_);
    current_ = wanted;
  }
  transfer(member, false, fits ? wanted->data : kept.data.data(), header_.bytes);
  member.wait(member.now());
  const std::size_t bytes = header_.bytes;
  {
    const std::lock_guard lock(mutex_);
    current_.reset();
    if (!wanted) kept_.push_back(std::move(kept));
  }
  if (wanted)
    wanted->done(fits ? nullptr
                      : errorOf("a message of " + std::to_string(bytes) + " bytes with tag " +
                                std::to_string(header_.tag) + " came, but the tensor to receive it has " +
                                std::to_string(wanted->bytes)));
}

// Serves a receive from messages that came before it.
bool PairChannel::takeKept() {
  std::unique_lock lock(mutex_);
  for (auto message = posted_.begin(); message != posted_.end(); ++message)
    for (auto kept = kept_.begin(); kept != kept_.end(); ++kept) {
      if (kept->tag != message->tag) continue;
      const Message wanted = std::move(*message);
      const Kept data = std::move(*kept);
      posted_.erase(message);
      kept_.erase(kept);
      lock.unlock();
      const bool fits = data.data.size() == wanted.bytes;
      if (fits && wanted.bytes > 0) std::memcpy(wanted.data, data.data.data(), wanted.bytes);
      wanted.done(fits ? nullptr
                       : errorOf("a message of " + std::to_string(data.data.size()) + " bytes with tag " +
                                 std::to_string(data.tag) + " came, but the tensor to receive it has " +
                                 std::to_string(wanted.bytes)));
      return true;
    }
  return false;
}

std::optional<Message> PairChannel::take(std::int64_t tag) {
  const std::lock_guard lock(mutex_);
  const auto found = std::find_if(posted_.begin(), posted_.end(),
                                  [tag](const Message& message) { return message.tag == tag; });
  if (found == posted_.end()) return std::nullopt;
  Message message = std::move(*found);
  posted_.erase(found);
  return message;
}

void PairChannel::failAll(std::exception_ptr failure) {
  std::deque<Message> messages;
  {
    const std::lock_guard lock(mutex_);
    messages.swap(posted_);
    if (current_) messages.push_front(std::move(*current_));
    current_.reset();
  }
  for (Message& message : messages) message.done(failure);
}

}  // namespace xylem::torch
