#pragma once
// One input of the fuzzer of links over sockets. The sending side writes valid headers and anything else on
// one to three sockets, while the receiving side offers buffers. The receiver must never write outside a
// buffer, and must throw Error for an invalid message.
//
//   feedSocketLink(bytes);   // true if the link still works

#include <sys/socket.h>

#include <optional>
#include <vector>

#include "fuzz/input.h"
#include "fuzz/require.h"
#include "runtime/transport/net/socket/socket_link.h"

namespace xylem {

class FuzzedLink {
 public:
  FuzzedLink(int sockets, std::uint32_t key) : key_(key) {
    std::vector<FileDescriptor> ours;
    for (int i = 0; i < sockets; ++i) {
      int ends[2];
      require(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends) == 0);
      theirs_.emplace_back(ends[0]);
      ours.emplace_back(ends[1]);
    }
    receiver_ = std::make_unique<transport::SocketReceiver>(std::move(ours), 0, key);
  }

  void write(std::size_t socket, std::span<const std::byte> bytes) {
    const FileDescriptor& to = theirs_[socket % theirs_.size()];
    if (!bytes.empty()) send(to.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  }
  void writeHeader(std::uint64_t bytes, std::uint32_t tag) {
    const transport::MessageHeader header{bytes, tag, key_ ^ sent_++};
    write(0, std::as_bytes(std::span(&header, 1)));
  }
  // Offers the receiver a buffer of this many bytes.
  void offer(std::size_t bytes) {
    if (posted_.size() == 32) return;
    buffers_.emplace_back(bytes);
    const transport::NetBuffer buffer{buffers_.back().data(), bytes, tag_++};
    transport::NetRequest* const request = receiver_->irecv({&buffer, 1});
    require(request != nullptr);
    posted_.push_back(request);
  }
  void test() {
    while (done_ < posted_.size()) {
      std::size_t bytes = 0;
      if (!receiver_->test(posted_[done_], &bytes)) break;
      require(bytes <= buffers_[done_].size());
      next();
    }
  }
  // Acts as a reader that expects the oldest message to have `expected` bytes, with a buffer of its own or
  // without.
  void read(std::size_t expected, bool lands) {
    if (done_ == posted_.size()) return;
    if (!reader_) {
      place_.assign(lands ? expected : 0, std::byte{});
      reader_ = transport::ReceiveBuffer{lands ? place_.data() : nullptr, expected};
    }
    std::size_t bytes = 0;
    if (!receiver_->testInto(posted_[done_], *reader_, &bytes)) return;
    require(bytes <= buffers_[done_].size() && reader_->filled <= place_.size());
    next();
  }

 private:
  void next() {
    ++done_;
    reader_.reset();
  }

  std::uint32_t key_;
  std::uint32_t sent_ = 0;
  std::uint32_t tag_ = 0;
  std::vector<FileDescriptor> theirs_;
  std::vector<std::vector<std::byte>> buffers_;  // outlive the receiver, which writes into them
  std::vector<transport::NetRequest*> posted_;
  std::size_t done_ = 0;
  std::optional<transport::ReceiveBuffer> reader_;  // of the oldest
  std::vector<std::byte> place_;
  std::unique_ptr<transport::SocketReceiver> receiver_;
};

inline bool feedSocketLink(std::string_view bytes) {
  Input input(bytes);
  FuzzedLink link(1 + input.take<std::uint8_t>() % 3, 0x5eed);
  try {
    while (!input.empty()) {
      const auto what = input.take<std::uint8_t>();
      switch (what % 128 % 6) {
        case 0:
          link.offer(input.take<std::uint16_t>());
          break;
        case 1: {
          const auto length = input.take<std::uint16_t>();
          link.writeHeader(length, input.take<std::uint8_t>());
          break;
        }
        case 2: {
          const auto length = input.take<std::uint64_t>();
          link.writeHeader(length, input.take<std::uint32_t>());
          break;
        }
        case 3: {
          const auto socket = input.take<std::uint8_t>();
          link.write(socket, input.piece(input.take<std::uint8_t>()));
          break;
        }
        case 4: {
          // Payload that is longer than an input.
          const auto socket = input.take<std::uint8_t>();
          link.write(socket, std::vector<std::byte>(input.take<std::uint16_t>(), std::byte{7}));
          break;
        }
        default: {
          const auto expected = input.take<std::uint16_t>();
          link.read(expected, input.take<std::uint8_t>() % 2 == 0);
          break;
        }
      }
      // Otherwise more data arrives before the next test.
      if (what < 128) link.test();
    }
    return true;
  } catch (const Error&) {
    return false;
  }
}

}  // namespace xylem
