#include "runtime/libfabric/fabric_sender.h"

#include <vector>

namespace xylem {
namespace {

// Less is sent as it is: a message is cheaper than a write and one.
constexpr std::size_t kLeastWritten = 4 << 10;

}  // namespace

FabricSender::FabricSender(std::shared_ptr<FabricEndpoint> endpoint, fi_addr_t to, std::uint32_t self,
                           std::uint32_t link)
    : endpoint_(std::move(endpoint)), to_(to), self_(self), link_(link) {
  for (FabricOp& op : offerOps_) op.user = this;
  for (Message& message : messages_) message.payload.user = message.note.user = this;
  const std::lock_guard lock(endpoint_->mutex());
  offersMemory_ = endpoint_->know(reinterpret_cast<std::byte*>(offers_.data()), sizeof offers_, false);
  expectOffers();
}

FabricSender::~FabricSender() {
  settle();
  const std::lock_guard lock(endpoint_->mutex());
  endpoint_->forget(std::move(offersMemory_));
}

NetMemory* FabricSender::registerMemory(std::byte* data, std::size_t bytes, NetPointer) {
  const std::lock_guard lock(endpoint_->mutex());
  return endpoint_->know(data, bytes, false).release();
}

void FabricSender::deregisterMemory(NetMemory* memory) {
  if (memory == nullptr) return;
  settle();
  const std::lock_guard lock(endpoint_->mutex());
  endpoint_->forget(std::unique_ptr<FabricMemory>(static_cast<FabricMemory*>(memory)));
}

NetRequest* FabricSender::isend(const std::byte* data, std::size_t bytes, std::uint32_t tag,
                                NetMemory* memory) {
  const std::lock_guard lock(endpoint_->mutex());
  if (broken_) throw LinkBroken(false, *broken_);
  if (sent_ == offered_) advance();
  if (sent_ == offered_) return nullptr;
  Message& message = messages_[sent_ % kMostMessages];
  if (message.used) return nullptr;
  const FabricRoom& room = rooms_[sent_ % kMostMessages];
  if (room.tag != tag || bytes > room.bytes)
    throw Error(ResultCode::kInternalError,
                "message {} of {} bytes is sent where message {} of at most {} is expected", tag, bytes,
                room.tag, room.bytes);
  message.bytes = bytes;
  message.number = sent_;
  if (!post(message, {data, bytes, static_cast<const FabricMemory*>(memory)}, room)) {
    endpoint_->progress();
    return nullptr;
  }
  message.used = true;
  ++sent_;
  return &message;
}

bool FabricSender::post(Message& message, const FabricPiece& piece, const FabricRoom& room) {
  if (!writable_ || !endpoint_->writes() || message.bytes < kLeastWritten)
    return endpoint_->send(message.payload, to_, piece, fabricTag(FabricTag::kData, link_, message.number));
  message.noteDue = endpoint_->write(message.payload, to_, piece, room.address, room.key);
  return message.noteDue;
}

void FabricSender::sendNote(Message& message) {
  const auto bytes = static_cast<std::uint32_t>(message.bytes);
  message.noteDue =
      !endpoint_->send(message.note, to_, {}, fabricTag(FabricTag::kData, link_, message.number), &bytes);
}

bool FabricSender::test(NetRequest* request, std::size_t* bytes) {
  const std::lock_guard lock(endpoint_->mutex());
  Message& message = *static_cast<Message*>(request);
  if (!message.done() && !broken_) advance();
  if (broken_) throw LinkBroken(false, *broken_);
  if (!message.done()) return false;
  message.used = false;
  if (bytes != nullptr) *bytes = message.bytes;
  return true;
}

void FabricSender::advance() {
  endpoint_->progress();
  expectOffers();
  if (writable_)
    for (Message& message : messages_)
      if (message.noteDue && !message.payload.pending) sendNote(message);
}

void FabricSender::expectOffers() {
  for (std::size_t i = 0; i < offers_.size(); ++i)
    if (!offerOps_[i].pending)
      endpoint_->receive(offerOps_[i],
                         {reinterpret_cast<std::byte*>(&offers_[i]), sizeof offers_[i], offersMemory_.get()},
                         fabricTag(FabricTag::kOffer, self_));
}

void FabricSender::take(const FabricOffer& offer) {
  if (offer.first != offered_ || offer.count > kMostRooms || offered_ - sent_ + offer.count > kMostMessages) {
    broken_ = fmt::format("the receiver offers room for {} messages from number {}; {} are sent, {} offered",
                          offer.count, offer.first, sent_, offered_);
    return;
  }
  welcomed_ = true;
  writable_ = offer.writable != 0;
  for (std::size_t i = 0; i < offer.count; ++i) rooms_[offered_++ % kMostMessages] = offer.rooms[i];
}

void FabricSender::completed(FabricOp& op, const FabricCompletion& completion) noexcept {
  if (settled_) return;
  try {
    for (std::size_t i = 0; i < offers_.size(); ++i)
      if (&op == &offerOps_[i]) {
        if (completion.bytes == sizeof offers_[i]) take(offers_[i]);
        endpoint_->receive(
            op, {reinterpret_cast<std::byte*>(&offers_[i]), sizeof offers_[i], offersMemory_.get()},
            fabricTag(FabricTag::kOffer, self_));
      }
    for (Message& message : messages_)
      if (&op == &message.payload && message.noteDue) sendNote(message);
  } catch (const std::exception& error) {
    broken_ = error.what();
  }
}

void FabricSender::failed(FabricOp& op, const std::string& why) noexcept {
  for (Message& message : messages_)
    if (&op == &message.payload) message.noteDue = false;
  if (!settled_) broken_ = why;
}

void FabricSender::settle() noexcept {
  {
    const std::lock_guard lock(endpoint_->mutex());
    settled_ = true;
  }
  std::vector<FabricOp*> receives, sends;
  for (FabricOp& op : offerOps_) receives.push_back(&op);
  for (Message& message : messages_) sends.insert(sends.end(), {&message.payload, &message.note});
  endpoint_->settle(receives, sends);
}

}  // namespace xylem
