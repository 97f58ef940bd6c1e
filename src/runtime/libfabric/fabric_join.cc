#include "runtime/libfabric/fabric_join.h"

#include <algorithm>
#include <cstring>

#include "runtime/sockets/secret.h"

namespace xylem {
namespace {

static_assert(sizeof(FabricHandle) <= sizeof(NetHandle));

template <typename Message>
void putAddress(Message& message, std::span<const std::byte> address) {
  if (address.size() > message.address.size())
    throw Error(ResultCode::kInternalError, "the fabric's address has {} bytes; {} are possible",
                address.size(), message.address.size());
  std::copy(address.begin(), address.end(), message.address.begin());
  message.addressBytes = static_cast<std::uint32_t>(address.size());
}

template <typename Message>
std::span<const std::byte> addressIn(const Message& message) {
  return std::span(message.address)
      .first(std::min<std::size_t>(message.addressBytes, message.address.size()));
}

template <typename Message>
FabricPiece pieceOf(const Message& message, const FabricMemory* memory) {
  return {reinterpret_cast<const std::byte*>(&message), sizeof message, memory};
}

std::array<char, 16> wordOf(const std::string& provider) {
  std::array<char, 16> word{};
  std::copy_n(provider.begin(), std::min(provider.size(), word.size() - 1), word.begin());
  return word;
}

}  // namespace

NetHandle FabricHandle::pack() const {
  NetHandle handle{};
  std::memcpy(handle.data(), this, sizeof *this);
  return handle;
}

FabricHandle FabricHandle::unpack(const NetHandle& handle, const std::string& provider) {
  FabricHandle content;
  std::memcpy(&content, handle.data(), sizeof content);
  content.provider.back() = 0;
  if (content.provider != wordOf(provider))
    throw Error(ResultCode::kInvalidUsage,
                "its fabric is libfabric's provider {}, here it is {}: is XYLEM_FABRIC_PROVIDER the same?",
                content.provider.data(), provider);
  if (content.addressBytes == 0 || content.addressBytes > kMostFabricAddress)
    throw Error(ResultCode::kRemoteError, "the handle of a connection has an address of {} bytes",
                content.addressBytes);
  return content;
}

FabricListener::FabricListener(std::shared_ptr<FabricEndpoint> endpoint) : endpoint_(std::move(endpoint)) {
  op_.user = this;
  const std::lock_guard lock(endpoint_->mutex());
  fillRandom(nonce_.data(), nonce_.size());
  link_ = endpoint_->newLink();
  FabricHandle handle;
  handle.provider = wordOf(endpoint_->provider());
  handle.nonce = nonce_;
  handle.link = link_;
  putAddress(handle, endpoint_->address());
  handle_ = handle.pack();
  memory_ = endpoint_->know(reinterpret_cast<std::byte*>(&hello_), sizeof hello_, false);
  expect();
}

FabricListener::~FabricListener() {
  FabricOp* op = &op_;
  endpoint_->settle({&op, 1}, {});
  const std::lock_guard lock(endpoint_->mutex());
  endpoint_->forget(std::move(memory_));
}

void FabricListener::expect() {
  endpoint_->receive(op_, pieceOf(hello_, memory_.get()), fabricTag(FabricTag::kHello, link_));
}

std::unique_ptr<NetReceiver> FabricListener::accept() {
  const std::lock_guard lock(endpoint_->mutex());
  endpoint_->progress();
  if (receiver_) return receiver_->welcome() ? std::move(receiver_) : nullptr;
  if (!heard_) {
    if (!op_.pending) expect();
    return nullptr;
  }
  heard_ = false;
  // Somebody else's, who guessed the link.
  if (hello_.nonce != nonce_) return nullptr;
  receiver_ =
      std::make_unique<FabricReceiver>(endpoint_, endpoint_->peer(addressIn(hello_)), link_, hello_.link);
  receiver_->welcome();
  return nullptr;
}

void FabricListener::completed(FabricOp&, const FabricCompletion& completion) noexcept {
  heard_ = completion.bytes == sizeof hello_;
}

void FabricListener::failed(FabricOp&, const std::string&) noexcept {}

FabricCaller::FabricCaller(std::shared_ptr<FabricEndpoint> endpoint, const NetHandle& handle)
    : endpoint_(std::move(endpoint)), there_(FabricHandle::unpack(handle, endpoint_->provider())) {
  op_.user = this;
  {
    const std::lock_guard lock(endpoint_->mutex());
    to_ = endpoint_->peer(addressIn(there_));
    hello_.nonce = there_.nonce;
    hello_.link = endpoint_->newLink();
    putAddress(hello_, endpoint_->address());
    memory_ = endpoint_->know(reinterpret_cast<std::byte*>(&hello_), sizeof hello_, false);
  }
  sender_ = std::make_unique<FabricSender>(endpoint_, to_, hello_.link, there_.link);
}

FabricCaller::~FabricCaller() {
  FabricOp* op = &op_;
  endpoint_->settle({}, {&op, 1});
  const std::lock_guard lock(endpoint_->mutex());
  endpoint_->forget(std::move(memory_));
}

std::unique_ptr<NetSender> FabricCaller::advance() {
  const std::lock_guard lock(endpoint_->mutex());
  if (!sent_)
    sent_ =
        endpoint_->send(op_, to_, pieceOf(hello_, memory_.get()), fabricTag(FabricTag::kHello, there_.link));
  endpoint_->progress();
  if (broken_) throw LinkBroken(false, *broken_);
  return sent_ && !op_.pending && sender_->welcomed() ? std::move(sender_) : nullptr;
}

void FabricCaller::completed(FabricOp&, const FabricCompletion&) noexcept {}

void FabricCaller::failed(FabricOp&, const std::string& why) noexcept { broken_ = why; }

}  // namespace xylem
