#pragma once
// One input of the fuzzer of the dialogue by which two ranks of a host set their queues up. This side wants
// queues or a mailbox; the peer answers with offers that fit, nearly fit or do not fit, with all kinds of
// descriptors. Memory that this side takes over must be as large as the queues need.
//
//   feedLocalDialogue(bytes);   // true if the dialogue completed

#include <unistd.h>

#include "fuzz/session_input.h"
#include "runtime/transport/local/local_dialogue.h"
#include "runtime/transport/local/mailbox.h"

namespace xylem {

constexpr std::size_t kFuzzedQueues = 2;  // at most, each way
constexpr std::uint64_t kFuzzedProbe[2] = {17, 4};

// Memory as peers hand it over, enough for any of the terms.
inline const std::shared_ptr<transport::SharedMemory>& largeMemory() {
  static const auto memory = std::make_shared<transport::SharedMemory>(transport::SharedMemory::create(
      "xylem fuzz", std::max(sizeof(transport::Mailbox),
                             kFuzzedQueues * transport::queueBytes(transport::stepBytesFor(1024)))));
  return memory;
}
inline const std::shared_ptr<transport::SharedMemory>& smallMemory() {
  static const auto memory =
      std::make_shared<transport::SharedMemory>(transport::SharedMemory::create("xylem fuzz", 4096));
  return memory;
}

inline int dialogueDescriptor(unsigned kind) {
  return kind % 8 < 4 ? largeMemory()->fd() : descriptorOf(kind);
}

// The handles that a rank of this process could send.
inline std::uint64_t dialogueHandle(unsigned kind) {
  static const transport::InProcess large(largeMemory()), small(smallMemory());
  return kind % 4 == 3 ? 0 : kind % 4 == 2 ? small.handle() : large.handle();
}

inline transport::LocalTerms dialogueTerms(Input& input) {
  static const auto mailbox = std::make_shared<transport::SharedMemory>(
      transport::SharedMemory::create("xylem fuzz", sizeof(transport::Mailbox)));
  const auto how = input.take<std::uint8_t>();
  transport::LocalTerms terms;
  if ((how & 1) != 0) {
    terms.mailbox = mailbox;
  } else {
    terms.sends = input.take<std::uint8_t>() % (kFuzzedQueues + 1);
    terms.receives = input.take<std::uint8_t>() % (kFuzzedQueues + 1);
  }
  terms.stepBytes = transport::stepBytesFor(1024);
  terms.sameProcess = (how & 2) != 0;
  terms.probes = (how & 4) != 0 && !terms.sameProcess;
  terms.peerPid = (how & 8) != 0 ? getpid() : 0;
  return terms;
}

// The channel of the dialogue: the first one for its use.
inline const transport::ChannelUse kFuzzedUse{.purpose = 0, .kind = transport::ChannelKind::kP2p};
constexpr std::uint32_t kFuzzedChannel = 1;

// An offer that fits the terms, with some of its bytes changed.
inline std::vector<std::byte> dialogueOffer(const transport::LocalTerms& terms, Input& input) {
  const auto how = input.take<std::uint8_t>();
  struct Changed {
    std::uint32_t kind = transport::PeerMessage::kOffer;
    std::uint32_t channel = kFuzzedChannel;
    transport::LocalOffer offer;
  } changed;
  transport::LocalOffer& offer = changed.offer;
  offer.sends = static_cast<std::uint32_t>(terms.receives);
  offer.receives = static_cast<std::uint32_t>(terms.sends);
  std::copy(terms.stepBytes.begin(), terms.stepBytes.end(), offer.stepBytes);
  offer.handle = dialogueHandle(how >> 4);
  offer.probeAddress = reinterpret_cast<std::uintptr_t>(kFuzzedProbe);
  std::copy(std::begin(kFuzzedProbe), std::end(kFuzzedProbe), offer.probe);
  for (int changes = how & 3; changes > 0; --changes) {
    const auto at = input.take<std::uint16_t>() % sizeof changed;
    reinterpret_cast<std::byte*>(&changed)[at] = input.take<std::byte>();
  }
  return transport::serialize({.kind = static_cast<transport::PeerMessage::Kind>(changed.kind),
                               .channel = changed.channel,
                               .rank = -1,
                               .body = transport::bodyOf(offer)});
}

inline std::vector<std::byte> dialogueMessage(const transport::LocalTerms& terms, Input& input) {
  switch (input.take<std::uint8_t>() % 4) {
    case 0:
      return dialogueOffer(terms, input);
    case 1:
      return transport::serialize(
          {.kind = transport::PeerMessage::kConfirm,
           .channel = kFuzzedChannel,
           .rank = -1,
           .body = transport::bodyOf(transport::LocalReach{input.take<std::uint8_t>()})});
    case 2:
      return transport::serialize(
          transport::abortMessage(1, std::string(input.take<std::uint32_t>() % kMaxFuzzedBytes, 'x')));
    default: {
      const auto piece = input.piece(input.take<std::uint16_t>() % (kMaxFuzzedBytes + 1));
      return {piece.begin(), piece.end()};
    }
  }
}

inline void touchDialogueMemory(const transport::LocalDialogue& dialogue,
                                const transport::LocalTerms& terms) {
  const std::size_t queue = transport::queueBytes(terms.stepBytes);
  const transport::SharedMemory* const out = dialogue.outgoing();
  const transport::SharedMemory* const in = dialogue.incoming();
  require((out != nullptr) == (terms.mailbox || terms.sends > 0));
  require((in != nullptr) == (terms.mailbox || terms.receives > 0));
  if (out != nullptr) touch(out->data(), terms.mailbox ? sizeof(transport::Mailbox) : terms.sends * queue);
  if (in != nullptr) touch(in->data(), terms.mailbox ? sizeof(transport::Mailbox) : terms.receives * queue);
  require(!dialogue.reads() || terms.probes);
}

inline bool feedLocalDialogue(std::string_view bytes) {
  Input input(bytes);
  const FuzzedSession fuzzed;
  transport::SessionChannel channel(fuzzed.session(), kFuzzedUse);
  const transport::LocalTerms terms = dialogueTerms(input);
  try {
    transport::LocalDialogue dialogue(channel, terms);
    for (int i = 0; i < 8 && !input.empty(); ++i) {
      const int fd = dialogueDescriptor(input.take<std::uint8_t>());
      std::vector<std::byte> message = dialogueMessage(terms, input);
      // Some messages are cut off.
      if (input.take<std::uint8_t>() == 255 && !message.empty()) message.pop_back();
      fuzzed.say(message, fd);
      if (!dialogue.advance()) continue;
      touchDialogueMemory(dialogue, terms);
      return true;
    }
  } catch (const Error&) {
  }
  return false;
}

}  // namespace xylem
