#include "runtime/transport/local/local_dialogue.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <new>

#include "runtime/sockets/secret.h"
#include "runtime/transport/local/local_peer_memory.h"
#include "runtime/transport/local/mailbox.h"

namespace xylem::transport {

LocalDialogue::LocalDialogue(LocalLink& link, LocalTerms terms) : link_(link), terms_(std::move(terms)) {
  makeMemory();
  offer();
}

void LocalDialogue::makeMemory() {
  if (terms_.mailbox) {
    incoming_ = terms_.mailbox;
  } else if (terms_.receives > 0) {
    const std::size_t bytes = queueBytes(terms_.stepBytes);
    incoming_ = std::make_shared<SharedMemory>(SharedMemory::create("xylem queues", terms_.receives * bytes));
    for (std::size_t i = 0; i < terms_.receives; ++i)
      new (queueIn(incoming_->data() + i * bytes, terms_.stepBytes).control) QueueControl{};
  }
}

void LocalDialogue::offer() {
  LocalMessage offer;
  offer.kind = LocalMessage::kMemory;
  offer.receives = static_cast<std::uint32_t>(terms_.receives);
  offer.sends = static_cast<std::uint32_t>(terms_.sends);
  std::copy(terms_.stepBytes.begin(), terms_.stepBytes.end(), offer.stepBytes);
  if (terms_.sameProcess && incoming_) offer.handle = entry_.emplace(incoming_).handle();
  if (terms_.probes) {
    admitReaders();
    sockets::fillRandom(probe_, sizeof probe_);
    std::memcpy(offer.probe, probe_, sizeof probe_);
    offer.probeAddress = reinterpret_cast<std::uintptr_t>(probe_);
  }
  hasReach_ = !acknowledges();
  const int fd = incoming_ && !terms_.sameProcess ? incoming_->fd() : -1;
  if (!link_.send(offer, fd)) throwClosed();
  if (incoming_ && !terms_.mailbox) incoming_->closeFd();
}

bool LocalDialogue::advance() {
  while (!hasMemory_ || !hasReach_) {
    LocalMessage message;
    std::optional<ReceivedMessage> received = receiveMessage(link_.socket(), &message, sizeof message);
    if (!received) return false;
    if (received->bytes != sizeof message) throwClosed();
    handle(message, std::move(received->fd));
  }
  return true;
}

void LocalDialogue::handle(const LocalMessage& message, FileDescriptor fd) {
  switch (message.kind) {
    case LocalMessage::kMemory:
      checkOffer(message);
      takeMemory(message, std::move(fd));
      if (acknowledges()) acknowledge(message);
      break;
    case LocalMessage::kReach:
      hasReach_ = true;
      peerReads_ = message.readable != 0;
      break;
    case LocalMessage::kAbort:
      throw Error(ResultCode::kRemoteError, "rank {} gave up while connecting: {}", link_.peer(),
                  LocalLink::textOf(message));
    default:
      throwClosed();
  }
}

void LocalDialogue::checkOffer(const LocalMessage& message) const {
  if (message.receives == terms_.sends && message.sends == terms_.receives &&
      std::equal(terms_.stepBytes.begin(), terms_.stepBytes.end(), std::begin(message.stepBytes)))
    return;
  throw Error(ResultCode::kInvalidUsage,
              "rank {} receives on {} queues and sends on {}, in steps of {} bytes, where this rank sends on "
              "{} and receives on {}, in steps of {}: do all ranks have the same settings?",
              link_.peer(), message.receives, message.sends,
              message.stepBytes[static_cast<std::size_t>(Protocol::kSimple)], terms_.sends, terms_.receives,
              terms_.stepBytes[Protocol::kSimple]);
}

std::size_t LocalDialogue::outgoingBytes() const {
  return terms_.mailbox ? sizeof(Mailbox) : terms_.sends * queueBytes(terms_.stepBytes);
}

void LocalDialogue::takeMemory(const LocalMessage& message, FileDescriptor fd) {
  const std::size_t bytes = outgoingBytes();
  if (bytes > 0 && terms_.sameProcess) {
    outgoing_ = InProcess::find(message.handle);
    // The peer may have connected and left again. The link reports that; what is sent to it is lost.
    if (!outgoing_) outgoing_ = std::make_shared<SharedMemory>(SharedMemory::create("xylem queues", bytes));
    if (outgoing_->size() < bytes)
      throw Error(ResultCode::kRemoteError, "rank {} handed over {} bytes where {} are needed", link_.peer(),
                  outgoing_->size(), bytes);
  } else if (bytes > 0) {
    outgoing_ =
        std::make_shared<SharedMemory>(terms_.mailbox ? SharedMemory::openForReading(std::move(fd), bytes)
                                                      : SharedMemory::open(std::move(fd), bytes));
    outgoing_->closeFd();
  }
  hasMemory_ = true;
}

// Tells the peer that its memory has arrived, and whether this rank can read all memory of its process.
void LocalDialogue::acknowledge(const LocalMessage& message) {
  LocalMessage reach;
  reach.kind = LocalMessage::kReach;
  if (terms_.probes) reads_ = readsProbe(message);
  reach.readable = reads_;
  if (!link_.send(reach)) throwClosed();
}

bool LocalDialogue::readsProbe(const LocalMessage& message) const {
  std::uint64_t read[2] = {};
  // Another process may have got the process id meanwhile: compare the bytes.
  return terms_.peerPid > 0 &&
         readProcess(terms_.peerPid, message.probeAddress, reinterpret_cast<std::byte*>(read), sizeof read) &&
         std::memcmp(read, message.probe, sizeof read) == 0;
}

void LocalDialogue::throwClosed() const {
  throw Error(ResultCode::kRemoteError, "rank {} closed its connection while connecting", link_.peer());
}

}  // namespace xylem::transport
