#pragma once
// One input of the fuzzer of the dialogue by which two ranks of a host set their queues up. This side wants
// queues or a mailbox; the peer answers with offers that fit, nearly fit or do not fit, with all kinds of
// descriptors. Memory that this side takes over must be as large as the queues need.
//
//   feedLocalDialogue(bytes);   // true if the dialogue completed

#include <unistd.h>

#include "fuzz/local_link_input.h"
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

// An offer that fits the terms, with some of its bytes changed.
inline transport::LocalMessage dialogueOffer(const transport::LocalTerms& terms, Input& input) {
  const auto how = input.take<std::uint8_t>();
  transport::LocalMessage offer;
  offer.kind = transport::LocalMessage::kMemory;
  offer.sends = static_cast<std::uint32_t>(terms.receives);
  offer.receives = static_cast<std::uint32_t>(terms.sends);
  std::copy(terms.stepBytes.begin(), terms.stepBytes.end(), offer.stepBytes);
  offer.handle = dialogueHandle(how >> 4);
  offer.probeAddress = reinterpret_cast<std::uintptr_t>(kFuzzedProbe);
  std::copy(std::begin(kFuzzedProbe), std::end(kFuzzedProbe), offer.probe);
  for (int changes = how & 3; changes > 0; --changes) {
    const auto at = input.take<std::uint16_t>() % sizeof offer;
    reinterpret_cast<std::byte*>(&offer)[at] = input.take<std::byte>();
  }
  return offer;
}

inline transport::LocalMessage dialogueMessage(const transport::LocalTerms& terms, Input& input) {
  transport::LocalMessage message;
  switch (input.take<std::uint8_t>() % 4) {
    case 0:
      return dialogueOffer(terms, input);
    case 1:
      message.kind = transport::LocalMessage::kReach;
      message.readable = input.take<std::uint8_t>();
      return message;
    case 2:
      message.kind = transport::LocalMessage::kAbort;
      message.textBytes = input.take<std::uint32_t>();
      return message;
    default: {
      const auto piece = input.piece(input.take<std::uint16_t>() % (sizeof message + 1));
      if (!piece.empty()) std::memcpy(static_cast<void*>(&message), piece.data(), piece.size());
      return message;
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
  LocalPair pair;
  transport::LocalLink link(1, std::move(pair.ours));
  const transport::LocalTerms terms = dialogueTerms(input);
  try {
    transport::LocalDialogue dialogue(link, terms);
    for (int i = 0; i < 8 && !input.empty(); ++i) {
      const int fd = dialogueDescriptor(input.take<std::uint8_t>());
      const transport::LocalMessage message = dialogueMessage(terms, input);
      const auto left = input.take<std::uint8_t>();
      // Some messages are cut off.
      transport::sendMessage(pair.peer.get(), &message, left == 255 ? sizeof message - 1 : sizeof message,
                             fd);
      if (!dialogue.advance()) continue;
      touchDialogueMemory(dialogue, terms);
      return true;
    }
  } catch (const Error&) {
  }
  return false;
}

}  // namespace xylem
