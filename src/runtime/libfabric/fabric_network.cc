#include "runtime/libfabric/fabric_network.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <string>

#include "runtime/libfabric/fabric_link.h"
#include "runtime/sockets/secret.h"

namespace xylem::libfabric {
namespace {

// A link is made like this. The listener's handle contains the address of its endpoint, the number of the
// link and a nonce. The connector sends a hello with that nonce, its own address and link, and the listener
// acknowledges it.
constexpr std::size_t kMaxFabricAddressBytes = 84;
using FabricNonce = std::array<std::uint8_t, 16>;

struct FabricHandle {
  std::array<char, 16> provider{};
  FabricNonce nonce{};
  std::uint32_t link = 0;
  std::uint32_t addressBytes = 0;
  std::array<std::byte, kMaxFabricAddressBytes> address{};

  transport::NetHandle pack() const;
  // Throws if the handle is invalid or of another provider.
  static FabricHandle unpack(const transport::NetHandle& handle, const std::string& provider);
};

struct FabricHello {
  FabricNonce nonce{};
  std::uint32_t link = 0;
  std::uint32_t addressBytes = 0;
  std::array<std::byte, kMaxFabricAddressBytes> address{};
};

class FabricListener final : public transport::NetListener, private FabricUser {
 public:
  explicit FabricListener(std::shared_ptr<FabricEndpoint> endpoint);
  ~FabricListener() override;
  FabricListener(const FabricListener&) = delete;
  FabricListener& operator=(const FabricListener&) = delete;

  const transport::NetHandle& handle() const override { return handle_; }
  std::unique_ptr<transport::NetReceiver> accept() override;

 private:
  void completed(FabricOp& op, const FabricCompletion& completion) noexcept override;
  void failed(FabricOp& op, const std::string& why) noexcept override;
  void expect();

  std::shared_ptr<FabricEndpoint> endpoint_;
  FabricNonce nonce_{};
  std::uint32_t link_ = 0;
  transport::NetHandle handle_{};
  FabricHello hello_;
  FabricOp op_;
  std::unique_ptr<FabricMemory> memory_;
  bool helloArrived_ = false;
  std::unique_ptr<FabricReceiver> receiver_;
};

class FabricConnector final : public transport::NetConnector, private FabricUser {
 public:
  FabricConnector(std::shared_ptr<FabricEndpoint> endpoint, const transport::NetHandle& handle);
  ~FabricConnector() override;
  FabricConnector(const FabricConnector&) = delete;
  FabricConnector& operator=(const FabricConnector&) = delete;

  std::unique_ptr<transport::NetSender> advance() override;

 private:
  void completed(FabricOp& op, const FabricCompletion& completion) noexcept override;
  void failed(FabricOp& op, const std::string& why) noexcept override;

  std::shared_ptr<FabricEndpoint> endpoint_;
  FabricHandle there_;
  fi_addr_t to_ = FI_ADDR_UNSPEC;
  FabricHello hello_;
  FabricOp op_;
  std::unique_ptr<FabricMemory> memory_;
  bool sent_ = false;
  std::optional<std::string> broken_;
  std::unique_ptr<FabricSender> sender_;
};

static_assert(sizeof(FabricHandle) <= sizeof(transport::NetHandle));

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

// The provider's name in a handle, cut to 15 characters.
std::array<char, 16> wordOf(const std::string& provider) {
  std::array<char, 16> word{};
  std::copy_n(provider.begin(), std::min(provider.size(), word.size() - 1), word.begin());
  return word;
}

transport::NetHandle FabricHandle::pack() const {
  transport::NetHandle handle{};
  std::memcpy(handle.data(), this, sizeof *this);
  return handle;
}

FabricHandle FabricHandle::unpack(const transport::NetHandle& handle, const std::string& provider) {
  FabricHandle content;
  std::memcpy(&content, handle.data(), sizeof content);
  content.provider.back() = 0;
  if (content.provider != wordOf(provider))
    throw Error(ResultCode::kInvalidUsage,
                "its fabric is libfabric's provider {}, here it is {}: is XYLEM_FABRIC_PROVIDER the same?",
                content.provider.data(), provider);
  if (content.addressBytes == 0 || content.addressBytes > kMaxFabricAddressBytes)
    throw Error(ResultCode::kRemoteError, "the handle of a connection has an address of {} bytes",
                content.addressBytes);
  return content;
}

FabricListener::FabricListener(std::shared_ptr<FabricEndpoint> endpoint) : endpoint_(std::move(endpoint)) {
  op_.user = this;
  const std::lock_guard lock(endpoint_->mutex());
  sockets::fillRandom(nonce_.data(), nonce_.size());
  link_ = endpoint_->newLink();
  FabricHandle handle;
  handle.provider = wordOf(endpoint_->provider());
  handle.nonce = nonce_;
  handle.link = link_;
  putAddress(handle, endpoint_->address());
  handle_ = handle.pack();
  memory_ = endpoint_->registerMemory(reinterpret_cast<std::byte*>(&hello_), sizeof hello_, false);
  expect();
}

FabricListener::~FabricListener() {
  FabricOp* op = &op_;
  endpoint_->settle({&op, 1}, {});
  const std::lock_guard lock(endpoint_->mutex());
  endpoint_->deregisterMemory(std::move(memory_));
}

// Starts to receive the connector's hello.
void FabricListener::expect() {
  endpoint_->receive(op_, pieceOf(hello_, memory_.get()), fabricTag(FabricTag::kHello, link_));
}

std::unique_ptr<transport::NetReceiver> FabricListener::accept() {
  const std::lock_guard lock(endpoint_->mutex());
  endpoint_->progress();
  if (receiver_) return receiver_->acknowledge() ? std::move(receiver_) : nullptr;
  if (!helloArrived_) {
    if (!op_.pending) expect();
    return nullptr;
  }
  helloArrived_ = false;
  // Not from a holder of the handle: drop it.
  if (hello_.nonce != nonce_) return nullptr;
  receiver_ =
      std::make_unique<FabricReceiver>(endpoint_, endpoint_->peer(addressIn(hello_)), link_, hello_.link);
  receiver_->acknowledge();
  return nullptr;
}

void FabricListener::completed(FabricOp&, const FabricCompletion& completion) noexcept {
  helloArrived_ = completion.bytes == sizeof hello_;
}

void FabricListener::failed(FabricOp&, const std::string&) noexcept {}

FabricConnector::FabricConnector(std::shared_ptr<FabricEndpoint> endpoint, const transport::NetHandle& handle)
    : endpoint_(std::move(endpoint)), there_(FabricHandle::unpack(handle, endpoint_->provider())) {
  op_.user = this;
  {
    const std::lock_guard lock(endpoint_->mutex());
    to_ = endpoint_->peer(addressIn(there_));
    hello_.nonce = there_.nonce;
    hello_.link = endpoint_->newLink();
    putAddress(hello_, endpoint_->address());
    memory_ = endpoint_->registerMemory(reinterpret_cast<std::byte*>(&hello_), sizeof hello_, false);
  }
  sender_ = std::make_unique<FabricSender>(endpoint_, to_, hello_.link, there_.link);
}

FabricConnector::~FabricConnector() {
  FabricOp* op = &op_;
  endpoint_->settle({}, {&op, 1});
  const std::lock_guard lock(endpoint_->mutex());
  endpoint_->deregisterMemory(std::move(memory_));
}

std::unique_ptr<transport::NetSender> FabricConnector::advance() {
  const std::lock_guard lock(endpoint_->mutex());
  if (!sent_)
    sent_ =
        endpoint_->send(op_, to_, pieceOf(hello_, memory_.get()), fabricTag(FabricTag::kHello, there_.link));
  endpoint_->progress();
  if (broken_) throw transport::LinkBroken(false, *broken_);
  return sent_ && !op_.pending && sender_->acknowledged() ? std::move(sender_) : nullptr;
}

void FabricConnector::completed(FabricOp&, const FabricCompletion&) noexcept {}

void FabricConnector::failed(FabricOp&, const std::string& why) noexcept { broken_ = why; }

}  // namespace

FabricNetwork::FabricNetwork(std::vector<FabricDevice> devices)
    : devices_(std::move(devices)), endpoints_(devices_.size()) {}

const FabricDevice& FabricNetwork::at(int device) const {
  if (device < 0 || device >= deviceCount())
    throw Error(ResultCode::kInternalError, "the fabric has no device {}; it has {}", device, deviceCount());
  return devices_[static_cast<std::size_t>(device)];
}

std::shared_ptr<FabricEndpoint> FabricNetwork::endpoint(int device) {
  const FabricDevice& wanted = at(device);
  const std::lock_guard lock(mutex_);
  std::shared_ptr<FabricEndpoint>& endpoint = endpoints_[static_cast<std::size_t>(device)];
  if (!endpoint) endpoint = std::make_shared<FabricEndpoint>(wanted);
  return endpoint;
}

std::unique_ptr<transport::NetListener> FabricNetwork::listen(int device) {
  return std::make_unique<FabricListener>(endpoint(device));
}

std::unique_ptr<transport::NetConnector> FabricNetwork::call(int device, const transport::NetHandle& handle) {
  return std::make_unique<FabricConnector>(endpoint(device), handle);
}

}  // namespace xylem::libfabric
