#include "runtime/transport/local/local_dialogue.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <new>

#include "core/error.h"
#include "runtime/sockets/secret.h"
#include "runtime/transport/local/mailbox.h"
#include "runtime/transport/local/process_memory.h"

namespace xylem::transport {

namespace {

template <typename Body>
Body exactly(const PeerMessage& message, int peer) {
  if (message.body.size() != sizeof(Body))
    throw Error(ResultCode::kRemoteError, "rank {} sent {} bytes while connecting where {} are expected",
                peer, message.body.size(), sizeof(Body));
  return valueOf<Body>(message.body);
}

}  // namespace

LocalDialogue::LocalDialogue(SessionChannel& channel, LocalTerms terms)
    : channel_(channel), terms_(std::move(terms)) {
  makeMemory();
  offer();
}

void LocalDialogue::makeMemory() {
  if (terms_.mailbox) {
    incoming_ = terms_.mailbox;
  } else if (terms_.receives > 0) {
    const std::size_t bytes = queueBytes(terms_.stepBytes, terms_.slots);
    incoming_ = std::make_shared<SharedMemory>(SharedMemory::create("xylem queues", terms_.receives * bytes));
    for (std::size_t i = 0; i < terms_.receives; ++i)
      new (queueIn(incoming_->data() + i * bytes, terms_.stepBytes, terms_.slots).control) QueueControl{};
  }
}

void LocalDialogue::offer() {
  LocalOffer offer;
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
  channel_.send(PeerMessage::kOffer, bodyOf(offer), fd);
  if (incoming_ && !terms_.mailbox) incoming_->closeFd();
}

bool LocalDialogue::advance() {
  while (!hasMemory_ || !hasReach_) {
    std::optional<PeerMessage> message = channel_.take();
    if (!message) return false;
    handle(std::move(*message));
  }
  return true;
}

void LocalDialogue::handle(PeerMessage message) {
  if (message.kind == PeerMessage::kConfirm) {
    hasReach_ = true;
    peerReads_ = exactly<LocalReach>(message, channel_.peer()).readable != 0;
    return;
  }
  const auto offer = exactly<LocalOffer>(message, channel_.peer());
  checkOffer(offer);
  takeMemory(offer, std::move(message.fd));
  if (acknowledges()) acknowledge(offer);
}

void LocalDialogue::checkOffer(const LocalOffer& offer) const {
  if (offer.receives == terms_.sends && offer.sends == terms_.receives &&
      std::equal(terms_.stepBytes.begin(), terms_.stepBytes.end(), std::begin(offer.stepBytes)))
    return;
  throw Error(ResultCode::kInvalidUsage,
              "rank {} receives on {} queues and sends on {}, in steps of {} bytes, where this rank sends on "
              "{} and receives on {}, in steps of {}: do all ranks have the same settings?",
              channel_.peer(), offer.receives, offer.sends,
              offer.stepBytes[static_cast<std::size_t>(Protocol::kSimple)], terms_.sends, terms_.receives,
              terms_.stepBytes[Protocol::kSimple]);
}

std::size_t LocalDialogue::outgoingBytes() const {
  return terms_.mailbox ? sizeof(Mailbox) : terms_.sends * queueBytes(terms_.stepBytes, terms_.slots);
}

void LocalDialogue::takeMemory(const LocalOffer& offer, FileDescriptor fd) {
  const std::size_t bytes = outgoingBytes();
  if (bytes > 0 && terms_.sameProcess) {
    outgoing_ = InProcess::find(offer.handle);
    // The peer may have connected and left again. The session reports that; what is sent to it is lost.
    if (!outgoing_) outgoing_ = std::make_shared<SharedMemory>(SharedMemory::create("xylem queues", bytes));
    if (outgoing_->size() < bytes)
      throw Error(ResultCode::kRemoteError, "rank {} handed over {} bytes where {} are needed",
                  channel_.peer(), outgoing_->size(), bytes);
  } else if (bytes > 0) {
    outgoing_ = std::make_shared<SharedMemory>(SharedMemory::open(std::move(fd), bytes));
    outgoing_->closeFd();
  }
  hasMemory_ = true;
}

// Tells the peer that its memory has arrived, and whether this rank can read and write all memory of its process.
void LocalDialogue::acknowledge(const LocalOffer& offer) {
  if (terms_.probes) reads_ = readsProbe(offer);
  channel_.send(PeerMessage::kConfirm, bodyOf(LocalReach{reads_ ? 1u : 0u}));
}

bool LocalDialogue::readsProbe(const LocalOffer& offer) const {
  std::uint64_t read[2] = {};
  // Another process may have got the process id meanwhile: compare the bytes.
  return terms_.peerPid > 0 &&
         readProcess(terms_.peerPid, offer.probeAddress, reinterpret_cast<std::byte*>(read), sizeof read) &&
         std::memcmp(read, offer.probe, sizeof read) == 0 &&
         writeProcess(terms_.peerPid, offer.probeAddress, reinterpret_cast<const std::byte*>(read),
                      sizeof read);
}

}  // namespace xylem::transport
