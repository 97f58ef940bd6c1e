#pragma once
// The two ends of a link over libfabric, and their credits. The receiver grants the sender a credit for each
// buffer that it receives into, and the sender sends a message only for a credit, so libfabric never has to
// keep a message that no buffer waits for. A message is a tagged message. If it is long and both sides can,
// the sender writes it into the receiver's memory instead; an empty tagged message then reports its length.
//
//   FabricReceiver receiver(endpoint, sendersAddress, ownLink, sendersLink);
//   FabricSender sender(endpoint, receiversAddress, ownLink, receiversLink);      // at the other side
//   NetRequest* r = receiver.irecv({&buffer, 1});                                 // grants a credit
//   NetRequest* s = sender.isend(data, bytes, tag, memory);                       // null: no credit yet
//
// Messages that have arrived stay valid if the link breaks.

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "runtime/libfabric/fabric_endpoint.h"

namespace xylem::libfabric {

// Permits one message.
struct FabricCredit {
  std::uint64_t address = 0;  // of the receiver's buffer, to write into it
  std::uint64_t key = 0;      // the registration of that memory
  std::uint32_t bytes = 0;    // the longest message that fits
  std::uint32_t tag = 0;      // of the message
};

// The receiver's credit message: credits for messages first, first + 1, ... of the link.
constexpr std::size_t kMaxCredits = 8;
struct FabricCredits {
  std::uint32_t first = 0;
  std::uint16_t count = 0;     // 0: only acknowledges the link
  std::uint16_t writable = 0;  // 1: the sender may write into the buffers
  std::array<FabricCredit, kMaxCredits> credits{};
};
static_assert(sizeof(FabricCredits) == 8 + kMaxCredits * 24);

// The most messages of a link that have a credit or are under way at once.
constexpr std::size_t kMaxMessages = 32;
// The most credit messages of a link that are under way at once.
constexpr std::size_t kMaxCreditMessages = 4;

class FabricSender final : public transport::NetSender, private FabricUser {
 public:
  // Receives credits as link `self` of this endpoint; sends to `link` of the endpoint `to`.
  FabricSender(std::shared_ptr<FabricEndpoint> endpoint, fi_addr_t to, std::uint32_t self,
               std::uint32_t link);
  ~FabricSender() override;
  FabricSender(const FabricSender&) = delete;
  FabricSender& operator=(const FabricSender&) = delete;

  // Returns whether the receiver has accepted the link. The caller has locked the endpoint.
  bool acknowledged() const { return acknowledged_; }

  transport::NetMemory* registerMemory(std::byte* data, std::size_t bytes,
                                       transport::NetPointer kind) override;
  void deregisterMemory(transport::NetMemory* memory) override;
  transport::NetRequest* isend(const std::byte* data, std::size_t bytes, std::uint32_t tag,
                               transport::NetMemory* memory) override;
  bool test(transport::NetRequest* request, std::size_t* bytes) override;

 private:
  struct Message : transport::NetRequest {
    FabricOp payload, note;  // the note reports the length of a payload that was written
    std::size_t bytes = 0;
    std::uint32_t number = 0;
    bool used = false, noteDue = false;
    bool done() const { return !payload.pending && !noteDue && !note.pending; }
  };

  void completed(FabricOp& op, const FabricCompletion& completion) noexcept override;
  void failed(FabricOp& op, const std::string& why) noexcept override;
  void advance();
  void receiveCredits();
  void take(const FabricCredits& message);
  bool post(Message& message, const FabricPiece& piece, const FabricCredit& credit);
  void sendNote(Message& message);
  void settle() noexcept;

  std::shared_ptr<FabricEndpoint> endpoint_;
  fi_addr_t to_;
  std::uint32_t self_, link_;
  std::array<FabricCredits, kMaxCreditMessages> credits_;  // buffers for credit messages
  std::array<FabricOp, kMaxCreditMessages> creditOps_;
  std::unique_ptr<FabricMemory> creditsMemory_;
  std::array<FabricCredit, kMaxMessages> granted_;  // by number of message
  bool writable_ = false;
  std::array<Message, kMaxMessages> messages_;
  std::uint32_t sent_ = 0;    // messages sent
  std::uint32_t credit_ = 0;  // messages that may be sent, counted like sent_
  bool acknowledged_ = false;
  bool settled_ = false;
  std::optional<std::string> broken_;
};

class FabricReceiver final : public transport::NetReceiver, private FabricUser {
 public:
  // Receives as link `self` of this endpoint; sends credits to `link` of the endpoint `to`.
  FabricReceiver(std::shared_ptr<FabricEndpoint> endpoint, fi_addr_t to, std::uint32_t self,
                 std::uint32_t link);
  ~FabricReceiver() override;
  FabricReceiver(const FabricReceiver&) = delete;
  FabricReceiver& operator=(const FabricReceiver&) = delete;

  // Tells the sender that the link is accepted. Returns whether that message has arrived. The caller has
  // locked the endpoint.
  bool acknowledge();

  transport::NetMemory* registerMemory(std::byte* data, std::size_t bytes,
                                       transport::NetPointer kind) override;
  void deregisterMemory(transport::NetMemory* memory) override;
  transport::NetRequest* irecv(std::span<const transport::NetBuffer> buffers) override;
  bool test(transport::NetRequest* request, std::size_t* bytes) override;

 private:
  struct Message : transport::NetRequest {
    FabricOp op;
    std::size_t bytes = 0;  // the buffer's, then the message's
    bool used = false, failed = false;
  };

  void completed(FabricOp& op, const FabricCompletion& completion) noexcept override;
  void failed(FabricOp& op, const std::string& why) noexcept override;
  void sendCredits();
  void settle() noexcept;

  std::shared_ptr<FabricEndpoint> endpoint_;
  fi_addr_t to_;
  std::uint32_t self_, link_;
  std::array<FabricCredits, kMaxCreditMessages> credits_;
  std::array<FabricOp, kMaxCreditMessages> creditOps_;
  std::unique_ptr<FabricMemory> creditsMemory_;
  FabricCredits next_;  // credits that have not been sent yet
  std::array<Message, kMaxMessages> messages_;
  std::uint32_t posted_ = 0;   // number of buffers given to irecv()
  std::uint32_t arrived_ = 0;  // number of messages that have arrived
  bool acknowledging_ = false;
  bool settled_ = false;
  std::optional<std::string> broken_;
};

}  // namespace xylem::libfabric
