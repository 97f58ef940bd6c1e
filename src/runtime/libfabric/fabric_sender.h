#pragma once
// The sending end of a link over libfabric. A message goes as a tagged message, or, where it is long and both
// sides can, is written into the receiver's memory; a tagged message without content then says how long it
// is.

#include <array>
#include <memory>
#include <optional>
#include <string>

#include "runtime/libfabric/fabric_endpoint.h"
#include "runtime/libfabric/fabric_offer.h"

namespace xylem {

class FabricSender final : public NetSender, private FabricUser {
 public:
  // Expects offers for `self`, a link here; sends to `link` there.
  FabricSender(std::shared_ptr<FabricEndpoint> endpoint, fi_addr_t to, std::uint32_t self,
               std::uint32_t link);
  ~FabricSender() override;
  FabricSender(const FabricSender&) = delete;
  FabricSender& operator=(const FabricSender&) = delete;

  // Whether the receiver has accepted the link. By who has locked the endpoint.
  bool welcomed() const { return welcomed_; }

  NetMemory* registerMemory(std::byte* data, std::size_t bytes, NetPointer kind) override;
  void deregisterMemory(NetMemory* memory) override;
  NetRequest* isend(const std::byte* data, std::size_t bytes, std::uint32_t tag, NetMemory* memory) override;
  bool test(NetRequest* request, std::size_t* bytes) override;

 private:
  struct Message : NetRequest {
    FabricOp payload, note;
    std::size_t bytes = 0;
    std::uint32_t number = 0;
    bool used = false, noteDue = false;
    bool done() const { return !payload.pending && !noteDue && !note.pending; }
  };

  void completed(FabricOp& op, const FabricCompletion& completion) noexcept override;
  void failed(FabricOp& op, const std::string& why) noexcept override;
  void advance();
  void expectOffers();
  void take(const FabricOffer& offer);
  bool post(Message& message, const FabricPiece& piece, const FabricRoom& room);
  void sendNote(Message& message);
  void settle() noexcept;

  std::shared_ptr<FabricEndpoint> endpoint_;
  fi_addr_t to_;
  std::uint32_t self_, link_;
  std::array<FabricOffer, kOffersUnderWay> offers_;
  std::array<FabricOp, kOffersUnderWay> offerOps_;
  std::unique_ptr<FabricMemory> offersMemory_;
  std::array<FabricRoom, kMostMessages> rooms_;
  bool writable_ = false;
  std::array<Message, kMostMessages> messages_;
  std::uint32_t sent_ = 0, offered_ = 0;
  bool welcomed_ = false;
  bool settled_ = false;
  std::optional<std::string> broken_;
};

}  // namespace xylem
