#pragma once
// The receiving end of a link over libfabric. Every buffer that is to be received into is offered to the
// sender; what has arrived stays valid even if the link breaks.

#include <array>
#include <memory>
#include <optional>
#include <string>

#include "runtime/libfabric/fabric_endpoint.h"
#include "runtime/libfabric/fabric_offer.h"

namespace xylem {

class FabricReceiver final : public NetReceiver, private FabricUser {
 public:
  // Receives for `self`, a link here; offers go to `link` there.
  FabricReceiver(std::shared_ptr<FabricEndpoint> endpoint, fi_addr_t to, std::uint32_t self,
                 std::uint32_t link);
  ~FabricReceiver() override;
  FabricReceiver(const FabricReceiver&) = delete;
  FabricReceiver& operator=(const FabricReceiver&) = delete;

  // Tells the sender that it has been accepted; true once it knows. By who has locked the endpoint.
  bool welcome();

  NetMemory* registerMemory(std::byte* data, std::size_t bytes, NetPointer kind) override;
  void deregisterMemory(NetMemory* memory) override;
  NetRequest* irecv(std::span<const NetBuffer> buffers) override;
  bool test(NetRequest* request, std::size_t* bytes) override;

 private:
  struct Message : NetRequest {
    FabricOp op;
    std::size_t bytes = 0;  // room, then what came
    bool used = false, failed = false;
  };

  void completed(FabricOp& op, const FabricCompletion& completion) noexcept override;
  void failed(FabricOp& op, const std::string& why) noexcept override;
  void offerRooms();
  void settle() noexcept;

  std::shared_ptr<FabricEndpoint> endpoint_;
  fi_addr_t to_;
  std::uint32_t self_, link_;
  std::array<FabricOffer, kOffersUnderWay> offers_;
  std::array<FabricOp, kOffersUnderWay> offerOps_;
  std::unique_ptr<FabricMemory> offersMemory_;
  FabricOffer next_;  // what has not been offered yet
  std::array<Message, kMostMessages> messages_;
  std::uint32_t received_ = 0;  // buffers
  std::uint32_t arrived_ = 0;   // messages
  bool welcoming_ = false;
  bool settled_ = false;
  std::optional<std::string> broken_;
};

}  // namespace xylem
