#include "runtime/libfabric/fabric_link.h"

#include <algorithm>
#include <vector>

namespace xylem::libfabric {
namespace {

// Shorter messages are sent: one tagged message costs less than a write and a note.
constexpr std::size_t kMinWrittenBytes = 4 << 10;

// While the sender has more credits than this, further ones are collected and sent in one message.
constexpr std::uint32_t kEnoughCredits = 4;

}  // namespace

FabricSender::FabricSender(std::shared_ptr<FabricEndpoint> endpoint, fi_addr_t to, std::uint32_t self,
                           std::uint32_t link)
    : endpoint_(std::move(endpoint)), to_(to), self_(self), link_(link) {
  for (FabricOp& op : creditOps_) op.user = this;
  for (Message& message : messages_) message.payload.user = message.note.user = this;
  const std::lock_guard lock(endpoint_->mutex());
  creditsMemory_ =
      endpoint_->registerMemory(reinterpret_cast<std::byte*>(credits_.data()), sizeof credits_, false);
  receiveCredits();
}

FabricSender::~FabricSender() {
  settle();
  const std::lock_guard lock(endpoint_->mutex());
  endpoint_->deregisterMemory(std::move(creditsMemory_));
}

transport::NetMemory* FabricSender::registerMemory(std::byte* data, std::size_t bytes,
                                                   transport::NetPointer) {
  const std::lock_guard lock(endpoint_->mutex());
  return endpoint_->registerMemory(data, bytes, false).release();
}

void FabricSender::deregisterMemory(transport::NetMemory* memory) {
  if (memory == nullptr) return;
  settle();
  const std::lock_guard lock(endpoint_->mutex());
  endpoint_->deregisterMemory(std::unique_ptr<FabricMemory>(static_cast<FabricMemory*>(memory)));
}

transport::NetRequest* FabricSender::isend(const std::byte* data, std::size_t bytes, std::uint32_t tag,
                                           transport::NetMemory* memory) {
  const std::lock_guard lock(endpoint_->mutex());
  if (broken_) throw transport::LinkBroken(false, *broken_);
  if (sent_ == credit_) advance();
  if (sent_ == credit_) return nullptr;
  Message& message = messages_[sent_ % kMaxMessages];
  if (message.used) return nullptr;
  const FabricCredit& credit = granted_[sent_ % kMaxMessages];
  if (credit.tag != tag || bytes > credit.bytes)
    throw Error(ResultCode::kInternalError,
                "message {} of {} bytes is sent where message {} of at most {} is expected", tag, bytes,
                credit.tag, credit.bytes);
  message.bytes = bytes;
  message.number = sent_;
  if (!post(message, {data, bytes, static_cast<const FabricMemory*>(memory)}, credit)) {
    endpoint_->progress();
    return nullptr;
  }
  message.used = true;
  ++sent_;
  return &message;
}

// Starts the message: as a tagged message, or as a write, which a note follows.
bool FabricSender::post(Message& message, const FabricPiece& piece, const FabricCredit& credit) {
  if (!writable_ || !endpoint_->writes() || message.bytes < kMinWrittenBytes)
    return endpoint_->send(message.payload, to_, piece, fabricTag(FabricTag::kData, link_, message.number));
  message.noteDue = endpoint_->write(message.payload, to_, piece, credit.address, credit.key);
  return message.noteDue;
}

void FabricSender::sendNote(Message& message) {
  const auto bytes = static_cast<std::uint32_t>(message.bytes);
  message.noteDue =
      !endpoint_->send(message.note, to_, {}, fabricTag(FabricTag::kData, link_, message.number), &bytes);
}

bool FabricSender::test(transport::NetRequest* request, std::size_t* bytes) {
  const std::lock_guard lock(endpoint_->mutex());
  Message& message = *static_cast<Message*>(request);
  if (!message.done() && !broken_) advance();
  if (broken_) throw transport::LinkBroken(false, *broken_);
  if (!message.done()) return false;
  message.used = false;
  if (bytes != nullptr) *bytes = message.bytes;
  return true;
}

// Makes progress, receives credits, and sends the notes of finished writes that could not be sent before.
void FabricSender::advance() {
  endpoint_->progress();
  receiveCredits();
  if (writable_)
    for (Message& message : messages_)
      if (message.noteDue && !message.payload.pending) sendNote(message);
}

void FabricSender::receiveCredits() {
  for (std::size_t i = 0; i < credits_.size(); ++i)
    if (!creditOps_[i].pending)
      endpoint_->receive(
          creditOps_[i],
          {reinterpret_cast<std::byte*>(&credits_[i]), sizeof credits_[i], creditsMemory_.get()},
          fabricTag(FabricTag::kCredits, self_));
}

// Adds the credits of a message. If they do not continue the earlier ones, the link is broken.
void FabricSender::take(const FabricCredits& message) {
  if (message.first != credit_ || message.count > kMaxCredits ||
      credit_ - sent_ + message.count > kMaxMessages) {
    broken_ = fmt::format("the receiver offers room for {} messages from number {}; {} are sent, {} offered",
                          message.count, message.first, sent_, credit_);
    return;
  }
  acknowledged_ = true;
  writable_ = message.writable != 0;
  for (std::size_t i = 0; i < message.count; ++i) granted_[credit_++ % kMaxMessages] = message.credits[i];
}

void FabricSender::completed(FabricOp& op, const FabricCompletion& completion) noexcept {
  if (settled_) return;
  try {
    for (std::size_t i = 0; i < credits_.size(); ++i)
      if (&op == &creditOps_[i]) {
        if (completion.bytes == sizeof credits_[i]) take(credits_[i]);
        endpoint_->receive(
            op, {reinterpret_cast<std::byte*>(&credits_[i]), sizeof credits_[i], creditsMemory_.get()},
            fabricTag(FabricTag::kCredits, self_));
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
  for (FabricOp& op : creditOps_) receives.push_back(&op);
  for (Message& message : messages_) sends.insert(sends.end(), {&message.payload, &message.note});
  endpoint_->settle(receives, sends);
}

FabricReceiver::FabricReceiver(std::shared_ptr<FabricEndpoint> endpoint, fi_addr_t to, std::uint32_t self,
                               std::uint32_t link)
    : endpoint_(std::move(endpoint)), to_(to), self_(self), link_(link) {
  for (FabricOp& op : creditOps_) op.user = this;
  for (Message& message : messages_) message.op.user = this;
  creditsMemory_ =
      endpoint_->registerMemory(reinterpret_cast<std::byte*>(credits_.data()), sizeof credits_, false);
}

FabricReceiver::~FabricReceiver() {
  settle();
  const std::lock_guard lock(endpoint_->mutex());
  endpoint_->deregisterMemory(std::move(creditsMemory_));
}

transport::NetMemory* FabricReceiver::registerMemory(std::byte* data, std::size_t bytes,
                                                     transport::NetPointer) {
  const std::lock_guard lock(endpoint_->mutex());
  return endpoint_->registerMemory(data, bytes, true).release();
}

void FabricReceiver::deregisterMemory(transport::NetMemory* memory) {
  if (memory == nullptr) return;
  settle();
  const std::lock_guard lock(endpoint_->mutex());
  endpoint_->deregisterMemory(std::unique_ptr<FabricMemory>(static_cast<FabricMemory*>(memory)));
}

transport::NetRequest* FabricReceiver::irecv(std::span<const transport::NetBuffer> buffers) {
  if (buffers.size() != 1)
    throw Error(ResultCode::kInternalError, "the fabric receives into one buffer at once, not {}",
                buffers.size());
  const transport::NetBuffer& buffer = buffers.front();
  const std::lock_guard lock(endpoint_->mutex());
  Message& message = messages_[posted_ % kMaxMessages];
  // Messages that have arrived can still be tested, so a broken link is not an error here.
  if (broken_ || message.used) return nullptr;
  if (next_.count == kMaxCredits) {
    endpoint_->progress();
    sendCredits();
    if (next_.count == kMaxCredits) return nullptr;
  }
  const auto* memory = static_cast<const FabricMemory*>(buffer.memory);
  if (!endpoint_->receive(message.op, {buffer.data, buffer.bytes, memory},
                          fabricTag(FabricTag::kData, self_, posted_)))
    return nullptr;
  message.used = true;
  message.failed = false;
  message.bytes = buffer.bytes;
  if (next_.count == 0) {
    next_.first = posted_;
    next_.writable = memory != nullptr && endpoint_->writes() ? 1 : 0;
  }
  FabricCredit& credit = next_.credits[next_.count++];
  credit.tag = buffer.tag;
  credit.bytes = static_cast<std::uint32_t>(std::min<std::size_t>(buffer.bytes, 0xffff'ffffu));
  if (next_.writable != 0) {
    credit.key = memory->key;
    credit.address = memory->origin + static_cast<std::uint64_t>(buffer.data - memory->data);
  }
  ++posted_;
  sendCredits();
  return &message;
}

// Sends the collected credits if the sender may run short of them and a credit message is free.
void FabricReceiver::sendCredits() {
  if (next_.count == 0 || (next_.count < kMaxCredits && next_.first - arrived_ > kEnoughCredits)) return;
  const auto free =
      std::find_if(creditOps_.begin(), creditOps_.end(), [](const FabricOp& op) { return !op.pending; });
  if (free == creditOps_.end()) return;
  FabricCredits& message = credits_[static_cast<std::size_t>(free - creditOps_.begin())];
  message = next_;
  try {
    if (endpoint_->send(*free, to_,
                        {reinterpret_cast<std::byte*>(&message), sizeof message, creditsMemory_.get()},
                        fabricTag(FabricTag::kCredits, link_)))
      next_.count = 0;
  } catch (const transport::LinkBroken& error) {
    broken_ = error.what();
  }
}

// The acknowledgement is a credit message without credits.
bool FabricReceiver::acknowledge() {
  FabricOp& op = creditOps_.front();
  credits_.front() = {};
  if (!acknowledging_)
    acknowledging_ = endpoint_->send(
        op, to_,
        {reinterpret_cast<std::byte*>(credits_.data()), sizeof credits_.front(), creditsMemory_.get()},
        fabricTag(FabricTag::kCredits, link_));
  if (broken_) throw transport::LinkBroken(false, *broken_);
  return acknowledging_ && !op.pending;
}

bool FabricReceiver::test(transport::NetRequest* request, std::size_t* bytes) {
  const std::lock_guard lock(endpoint_->mutex());
  Message& message = *static_cast<Message*>(request);
  if (message.op.pending) {
    if (broken_) throw transport::LinkBroken(false, *broken_);
    endpoint_->progress();
    sendCredits();
    if (message.op.pending) return false;
  }
  if (message.failed) throw transport::LinkBroken(false, broken_.value_or("a message did not arrive"));
  message.used = false;
  if (bytes != nullptr) *bytes = message.bytes;
  return true;
}

void FabricReceiver::completed(FabricOp& op, const FabricCompletion& completion) noexcept {
  for (Message& message : messages_)
    if (&op == &message.op) {
      ++arrived_;
      // A note has the length of the written payload as its data.
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
  for (FabricOp& op : creditOps_) sends.push_back(&op);
  endpoint_->settle(receives, sends);
}

}  // namespace xylem::libfabric
