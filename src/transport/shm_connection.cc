#include "transport/shm_connection.h"

#include <algorithm>
#include <cstring>
#include <new>

#include "transport/unix_socket.h"

namespace xylem {
namespace {

constexpr std::size_t kPage = 4096;

// All counters first, then the slots of each queue.
std::size_t slotsOffset(int queues) {
  const std::size_t counters = static_cast<std::size_t>(queues) * sizeof(FifoControl);
  return (counters + kPage - 1) / kPage * kPage;
}

FifoMemory queueIn(const SharedMemory& memory, int queues, int index, std::size_t slotBytes) {
  const auto i = static_cast<std::size_t>(index);
  FifoMemory queue;
  queue.control = std::launder(reinterpret_cast<FifoControl*>(memory.data() + i * sizeof(FifoControl)));
  queue.slots = memory.data() + slotsOffset(queues) + i * kFifoSlots * slotBytes;
  queue.slotBytes = slotBytes;
  return queue;
}

}  // namespace

std::size_t shmBytes(int queues, std::size_t slotBytes) {
  return slotsOffset(queues) + static_cast<std::size_t>(queues) * kFifoSlots * slotBytes;
}

ShmConnection::ShmConnection(const ConnectionRequest& request, FileDescriptor socket, std::size_t slotBytes)
    : Connection(request.peer), request_(request), socket_(std::move(socket)), slotBytes_(slotBytes) {}

ShmConnection::~ShmConnection() {
  if (aborted_ || !complete_) return;
  ShmMessage bye;
  bye.kind = ShmMessage::kBye;
  sendMessage(socket_.get(), &bye, sizeof bye);
}

void ShmConnection::offerMemory() {
  if (request_.receives > 0) {
    incoming_ = SharedMemory::create("xylem-shm", shmBytes(request_.receives, slotBytes_));
    for (int i = 0; i < request_.receives; ++i) {
      new (incoming_.data() + static_cast<std::size_t>(i) * sizeof(FifoControl)) FifoControl{};
      readers_.emplace_back(queueIn(incoming_, request_.receives, i, slotBytes_));
    }
  }
  ShmMessage offer;
  offer.kind = ShmMessage::kMemory;
  offer.queues = static_cast<std::uint32_t>(request_.receives);
  offer.slotBytes = slotBytes_;
  if (!sendMessage(socket_.get(), &offer, sizeof offer, incoming_.fd()))
    throw Error(ResultCode::kRemoteError, "rank {} closed its connection while connecting", peer());
  incoming_.closeFd();
}

void ShmConnection::acceptMemory(const ShmMessage& message, FileDescriptor fd) {
  if (message.kind == ShmMessage::kAbort)
    throw Error(
        ResultCode::kRemoteError, "rank {} gave up while connecting: {}", peer(),
        std::string_view(message.text, std::min<std::size_t>(message.textBytes, sizeof message.text)));
  if (message.kind != ShmMessage::kMemory || message.queues != static_cast<std::uint32_t>(request_.sends) ||
      message.slotBytes != slotBytes_)
    throw Error(ResultCode::kInvalidUsage,
                "rank {} offers {} queues of {}-byte slots where this rank needs {} of {} bytes: do all "
                "ranks have the "
                "same settings?",
                peer(), message.queues, message.slotBytes, request_.sends, slotBytes_);
  if (request_.sends > 0) {
    outgoing_ = SharedMemory::open(std::move(fd), shmBytes(request_.sends, slotBytes_));
    outgoing_.closeFd();
    for (int i = 0; i < request_.sends; ++i)
      writers_.emplace_back(queueIn(outgoing_, request_.sends, i, slotBytes_));
  }
  complete_ = true;
}

bool ShmConnection::complete() {
  if (complete_) return true;
  ShmMessage message;
  std::optional<ReceivedMessage> received = receiveMessage(socket_.get(), &message, sizeof message);
  if (!received) return false;
  if (received->bytes != sizeof message)
    throw Error(ResultCode::kRemoteError, "rank {} closed its connection while connecting", peer());
  acceptMemory(message, std::move(received->fd));
  return true;
}

PeerNews ShmConnection::news() {
  if (last_.state != PeerState::kThere) return last_;
  ShmMessage message;
  const std::optional<ReceivedMessage> received = receiveMessage(socket_.get(), &message, sizeof message);
  if (!received) return last_;
  if (received->bytes != sizeof message) {
    last_.state = PeerState::kLost;
  } else if (message.kind == ShmMessage::kBye) {
    last_.state = PeerState::kClosed;
  } else if (message.kind == ShmMessage::kAbort) {
    last_.state = PeerState::kAborted;
    last_.culprit = message.rank;
    last_.text.assign(message.text, std::min<std::size_t>(message.textBytes, sizeof message.text));
  }
  return last_;
}

void ShmConnection::abort(int culprit, std::string_view text) noexcept {
  if (aborted_) return;
  aborted_ = true;
  ShmMessage message;
  message.kind = ShmMessage::kAbort;
  message.rank = culprit;
  message.textBytes = static_cast<std::uint32_t>(std::min(text.size(), sizeof message.text));
  std::memcpy(message.text, text.data(), message.textBytes);
  sendMessage(socket_.get(), &message, sizeof message);
}

}  // namespace xylem
