#pragma once
// How a link over libfabric comes about: the listener's handle says how its endpoint is called and carries a
// number; the caller says hello with that number and with how it is called itself, and is welcomed.

#include <array>
#include <memory>
#include <optional>
#include <string>

#include "runtime/libfabric/fabric_receiver.h"
#include "runtime/libfabric/fabric_sender.h"

namespace xylem {

constexpr std::size_t kMostFabricAddress = 84;
using FabricNonce = std::array<std::uint8_t, 16>;

struct FabricHandle {
  std::array<char, 16> provider{};
  FabricNonce nonce{};
  std::uint32_t link = 0;
  std::uint32_t addressBytes = 0;
  std::array<std::byte, kMostFabricAddress> address{};

  NetHandle pack() const;
  // Throws if it is none, or of another provider.
  static FabricHandle unpack(const NetHandle& handle, const std::string& provider);
};

struct FabricHello {
  FabricNonce nonce{};
  std::uint32_t link = 0;
  std::uint32_t addressBytes = 0;
  std::array<std::byte, kMostFabricAddress> address{};
};

class FabricListener final : public NetListener, private FabricUser {
 public:
  explicit FabricListener(std::shared_ptr<FabricEndpoint> endpoint);
  ~FabricListener() override;
  FabricListener(const FabricListener&) = delete;
  FabricListener& operator=(const FabricListener&) = delete;

  const NetHandle& handle() const override { return handle_; }
  std::unique_ptr<NetReceiver> accept() override;

 private:
  void completed(FabricOp& op, const FabricCompletion& completion) noexcept override;
  void failed(FabricOp& op, const std::string& why) noexcept override;
  void expect();

  std::shared_ptr<FabricEndpoint> endpoint_;
  FabricNonce nonce_{};
  std::uint32_t link_ = 0;
  NetHandle handle_{};
  FabricHello hello_;
  FabricOp op_;
  std::unique_ptr<FabricMemory> memory_;
  bool heard_ = false;
  std::unique_ptr<FabricReceiver> receiver_;
};

class FabricCaller final : public NetCaller, private FabricUser {
 public:
  FabricCaller(std::shared_ptr<FabricEndpoint> endpoint, const NetHandle& handle);
  ~FabricCaller() override;
  FabricCaller(const FabricCaller&) = delete;
  FabricCaller& operator=(const FabricCaller&) = delete;

  std::unique_ptr<NetSender> advance() override;

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

}  // namespace xylem
