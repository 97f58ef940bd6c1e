#include "runtime/libfabric/fabric_receiver.h"

#include <algorithm>
#include <vector>

namespace xylem {
namespace {

// While the sender has room for more messages than that, further rooms are offered together.
constexpr std::uint32_t kEnoughRooms = 4;

}  // namespace

FabricReceiver::FabricReceiver(std::shared_ptr<FabricEndpoint> endpoint, fi_addr_t to, std::uint32_t self,
                               std::uint32_t link)
    : endpoint_(std::move(endpoint)), to_(to), self_(self), link_(link) {
  for (FabricOp& op : offerOps_) op.user = this;
  for (Message& message : messages_) message.op.user = this;
  offersMemory_ = endpoint_->know(reinterpret_cast<std::byte*>(offers_.data()), sizeof offers_, false);
}

FabricReceiver::~FabricReceiver() {
  settle();
  const std::lock_guard lock(endpoint_->mutex());
  endpoint_->forget(std::move(offersMemory_));
}

NetMemory* FabricReceiver::registerMemory(std::byte* data, std::size_t bytes, NetPointer) {
  const std::lock_guard lock(endpoint_->mutex());
  return endpoint_->know(data, bytes, true).release();
}

void FabricReceiver::deregisterMemory(NetMemory* memory) {
  if (memory == nullptr) return;
  settle();
  const std::lock_guard lock(endpoint_->mutex());
  endpoint_->forget(std::unique_ptr<FabricMemory>(static_cast<FabricMemory*>(memory)));
}

NetRequest* FabricReceiver::irecv(std::span<const NetBuffer> buffers) {
  if (buffers.size() != 1)
    throw Error(ResultCode::kInternalError, "the fabric receives into one buffer at once, not {}",
                buffers.size());
  const NetBuffer& buffer = buffers.front();
  const std::lock_guard lock(endpoint_->mutex());
  Message& message = messages_[received_ % kMostMessages];
  // What has arrived is still to be taken, so a broken link is not said here.
  if (broken_ || message.used) return nullptr;
  if (next_.count == kMostRooms) {
    endpoint_->progress();
    offerRooms();
    if (next_.count == kMostRooms) return nullptr;
  }
  const auto* memory = static_cast<const FabricMemory*>(buffer.memory);
  if (!endpoint_->receive(message.op, {buffer.data, buffer.bytes, memory},
                          fabricTag(FabricTag::kData, self_, received_)))
    return nullptr;
  message.used = true;
  message.failed = false;
  message.bytes = buffer.bytes;
  if (next_.count == 0) {
    next_.first = received_;
    next_.writable = memory != nullptr && endpoint_->writes() ? 1 : 0;
  }
  FabricRoom& room = next_.rooms[next_.count++];
  room.tag = buffer.tag;
  room.bytes = static_cast<std::uint32_t>(std::min<std::size_t>(buffer.bytes, 0xffff'ffffu));
  if (next_.writable != 0) {
    room.key = memory->key;
    room.address = memory->origin + static_cast<std::uint64_t>(buffer.data - memory->data);
  }
  ++received_;
  offerRooms();
  return &message;
}

void FabricReceiver::offerRooms() {
  if (next_.count == 0 || (next_.count < kMostRooms && next_.first - arrived_ > kEnoughRooms)) return;
  const auto free =
      std::find_if(offerOps_.begin(), offerOps_.end(), [](const FabricOp& op) { return !op.pending; });
  if (free == offerOps_.end()) return;
  FabricOffer& offer = offers_[static_cast<std::size_t>(free - offerOps_.begin())];
  offer = next_;
  try {
    if (endpoint_->send(*free, to_, {reinterpret_cast<std::byte*>(&offer), sizeof offer, offersMemory_.get()},
                        fabricTag(FabricTag::kOffer, link_)))
      next_.count = 0;
  } catch (const LinkBroken& error) {
    broken_ = error.what();
  }
}

// An offer of nothing.
bool FabricReceiver::welcome() {
  FabricOp& op = offerOps_.front();
  offers_.front() = {};
  if (!welcoming_)
    welcoming_ = endpoint_->send(
        op, to_, {reinterpret_cast<std::byte*>(offers_.data()), sizeof offers_.front(), offersMemory_.get()},
        fabricTag(FabricTag::kOffer, link_));
  if (broken_) throw LinkBroken(false, *broken_);
  return welcoming_ && !op.pending;
}

bool FabricReceiver::test(NetRequest* request, std::size_t* bytes) {
  const std::lock_guard lock(endpoint_->mutex());
  Message& message = *static_cast<Message*>(request);
  if (message.op.pending) {
    if (broken_) throw LinkBroken(false, *broken_);
    endpoint_->progress();
    offerRooms();
    if (message.op.pending) return false;
  }
  if (message.failed) throw LinkBroken(false, broken_.value_or("a message did not arrive"));
  message.used = false;
  if (bytes != nullptr) *bytes = message.bytes;
  return true;
}

void FabricReceiver::completed(FabricOp& op, const FabricCompletion& completion) noexcept {
  for (Message& message : messages_)
    if (&op == &message.op) {
      ++arrived_;
      // Written, if there is a number: so many bytes.
      const std::size_t came = completion.hasData ? completion.data : completion.bytes;
      message.failed = came > message.bytes;
      message.bytes = came;
      return;
    }
}

void FabricReceiver::failed(FabricOp& op, const std::string& why) noexcept {
  for (Message& message : messages_)
    if (&op == &message.op) message.failed = true;
  if (!settled_) broken_ = why;
}

void FabricReceiver::settle() noexcept {
  {
    const std::lock_guard lock(endpoint_->mutex());
    settled_ = true;
  }
  std::vector<FabricOp*> receives, sends;
  for (Message& message : messages_) receives.push_back(&message.op);
  for (FabricOp& op : offerOps_) sends.push_back(&op);
  endpoint_->settle(receives, sends);
}

}  // namespace xylem
