#include "runtime/transport/net/net_doorway.h"

#include <fcntl.h>

#include "runtime/transport/net/net_message.h"
#include "runtime/sockets/frames.h"

namespace xylem {

FileDescriptor NetDoorway::take(int rank, std::uint32_t purpose) {
  const std::lock_guard lock(mutex_);
  for (Accepted& accepted : acceptor_.advance()) {
    if (accepted.hello.purpose == Purpose::kPair)
      // If it has come before, it has given up the earlier one.
      waiting_[{accepted.hello.rank, accepted.hello.detail}] = std::move(accepted.socket);
    else
      acceptor_.reception().drop(accepted, "it is none between two ranks");
  }
  const auto found = waiting_.find({rank, purpose});
  if (found == waiting_.end()) return {};
  FileDescriptor socket = std::move(found->second);
  waiting_.erase(found);
  return socket;
}

void NetDoorway::abort(int culprit, std::string_view text) {
  const auto say = [culprit, text = std::string(text.substr(0, kMostErrorBytes))](int socket) {
    // Whoever takes the connection after all has it as it was.
    FrameStream stream(FileDescriptor(fcntl(socket, F_DUPFD_CLOEXEC, 0)));
    if (!stream.open()) return;
    NetMessage message;
    message.kind = NetMessage::kAbort;
    message.culprit = culprit;
    stream.queue(FrameKind::kData, netMessage<char>(message, text));
    stream.flush();
  };
  const std::lock_guard lock(mutex_);
  acceptor_.reception().tellAll(say);
  for (const auto& [from, socket] : waiting_) say(socket.get());
}

}  // namespace xylem
