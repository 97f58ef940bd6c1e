#pragma once
// The session of a pair of ranks: one authenticated connection over which they say everything but data. It
// opens the queues of all transports (SessionChannel), shows whether the peer lives, carries the reason when a
// rank gives up, and ends in order. peer_sessions.h makes the sessions of a rank.
//
//   SessionChannel channel(session, {kForTransfers, ChannelKind::kNet});
//   while (!channel.connected()) ...
//   channel.send(PeerMessage::kOffer, body);
//   if (std::optional<PeerMessage> offer = channel.take()) ...
//   if (session->news().state == PeerState::kLost) ...
//
// The lower rank of a pair decides which connection becomes the session: it connects to the higher one, or, if
// the higher rank has connected meanwhile, takes that connection. Its first message there is kBegin. A higher
// rank that waits longer than kConnectDelay connects itself, so that it notices if the lower rank has ended or
// gives up.
//
//   state      event                                            what the rank does            next
//   kMeeting   lower: its connection is accepted, or it finds
//              one of the peer's                                sends kBegin                  kOpen
//              higher: a connection brings kBegin               forgets the other connection  kOpen
//              higher: a connection brings kAbort               keeps the reason, throws      kAborted
//              higher: a connection ends                        throws                        kLost
//              higher: no connection for kConnectDelay          connects to the lower rank    kMeeting
//              its connection attempt is refused                throws                        kMeeting
//              this rank gives up                               sends kAbort on all           kMeeting
//   kOpen      kOffer, kConfirm, kClose, kCancel                keeps it for the channel      kOpen
//              kRegion, kAnswer                                 maps the memory, notes it     kOpen
//              kAsk                                             sends kAnswer                 kOpen
//              lower: the first message                         drops the peer's connection   kOpen
//              this rank gives up                               sends kAbort                  kOpen
//              kAbort                                           keeps the reason              kAborted
//              kBye                                                                           kClosed
//              kLeft                                           takes channels for closed that
//                                                              do not outlive the peer        kOpen
//              the connection ends, or brings no message                                      kLost
//   kAborted, kClosed, kLost: final; messages that came before for channels can still be taken
//
// A rank that leaves sends kBye, unless it has given up, and closes the connection. Nothing here waits, but
// flushWithin. Any thread may call any function. tests/model/session.pml is a model of the table.

#include <atomic>
#include <chrono>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/deadline.h"
#include "runtime/transport/session/message_stream.h"
#include "runtime/transport/session/peer_message.h"
#include "runtime/transport/session/peer_regions.h"

namespace xylem::transport {

// The state of the peer of a session or of a connection.
enum class PeerState {
  kThere,
  kClosed,   // it closed the connection in order; steps that are in the queues remain valid
  kLost,     // it vanished: its process ended, or its host cannot be reached
  kAborted,  // it gave up and said why
};

struct PeerNews {
  PeerState state = PeerState::kThere;
  int failedRank = -1;  // kAborted: the rank that failed first, as far as the peer knows
  std::string text;     // kAborted: what happened
  std::string how;      // kLost: details, if any are known
};

// The fate of a peer that is not there and has not said why.
std::string howGone(const PeerNews& news);

// A higher rank that has waited this long for the lower one to connect connects itself.
constexpr std::chrono::milliseconds kConnectDelay{500};

// A connection to the peer that is being made.
class SessionConnector {
 public:
  virtual ~SessionConnector() = default;
  // Null until the peer has accepted the connection. Throws if it cannot.
  virtual std::unique_ptr<MessageStream> advance() = 0;
  // A descriptor to poll for reading; -1: call advance() again after a millisecond.
  virtual int waitsFor() const = 0;
};

// The ways to the peer of a session, which the session uses until it is open.
class SessionConnections {
 public:
  virtual ~SessionConnections() = default;
  virtual std::unique_ptr<SessionConnector> connect() = 0;
  // A connection that the peer has made, once it has proven that it belongs to the job; null if there is
  // none.
  virtual std::unique_ptr<MessageStream> accept() = 0;
  // A descriptor that is readable if accept() can make progress; -1: call it again after a millisecond.
  virtual int waitsFor() const = 0;
};

// The transport whose queues a channel sets up, and the purpose of their connection: the same on both ranks.
enum class ChannelKind : std::uint32_t { kP2p = 1, kShm = 2, kNet = 3 };
struct ChannelUse {
  std::uint32_t purpose = 0;
  ChannelKind kind = ChannelKind::kNet;
};

class PeerSession {
 public:
  PeerSession(int rank, int peer, std::unique_ptr<SessionConnections> connections);
  // Over a connection that exists.
  PeerSession(int rank, int peer, std::unique_ptr<MessageStream> stream);
  // Leaves in order: says farewell, which takes a tenth of a second at most.
  ~PeerSession();
  PeerSession(const PeerSession&) = delete;
  PeerSession& operator=(const PeerSession&) = delete;

  int peer() const { return peer_; }
  // Goes on with meeting the peer. Returns whether the session is, or was, open. Throws if the peer cannot be
  // reached or has given up.
  bool advance();
  // A descriptor to poll for reading; -1: look again after a millisecond.
  int waitsFor() const;
  // The socket of an open session.
  int socket() const;
  // The state of the peer. Makes a system call.
  PeerNews news();

  // Tells the peer that this rank gives up because of `failedRank`, once. If the peer is not there yet, it
  // learns of it when the session opens. flushWithin() waits until the connection has taken the message.
  void tellAbort(int failedRank, std::string_view text) noexcept;
  bool toldAbort() const;
  void flushWithin(const Deadline& deadline) noexcept;

  // Tells the peer that this rank has left, although the session goes on for channels that outlive it.
  void tellLeft() noexcept;

  // Asks the peer whether it is at work. Returns false if the session is not open. The peer answers when it
  // calls news(), which every rank that waits does all the time.
  bool ask() noexcept;
  bool asked() const;
  // Whether a call of news() has received the answer to the last ask().
  bool answered() const;

  // Sends the peer this region of ShareableMemory unless it has been sent. Returns false if that is not
  // possible now.
  bool sendRegion(std::uint32_t region) noexcept;
  // The address here of a range in a region of the peer; null if the peer has sent no such region.
  std::byte* place(std::uint32_t region, std::uint64_t offset, std::size_t bytes);

 private:
  friend class SessionChannel;
  enum class State { kMeeting, kOpen, kAborted, kClosed, kLost };
  struct Channel {
    std::deque<PeerMessage> inbox;
    std::optional<std::vector<std::byte>> farewell;  // the body of the peer's kClose
    bool cancelled = false;                          // the peer closed it before its queues were set up
    bool closedHere = false;
    bool outlives = false;  // the rank at either end
  };

  bool lower() const { return rank_ < peer_; }
  void meet();
  void choose(std::unique_ptr<MessageStream>& candidate);
  void open(std::unique_ptr<MessageStream> stream);
  void receive();
  void hear(PeerMessage message);
  void keep(PeerMessage message);
  void lose(std::string how);
  PeerNews newsNow() const;

  // For SessionChannel. Two ranks that open channels for the same use get the same numbers.
  std::uint32_t openChannel(const ChannelUse& use);
  void letOutlive(std::uint32_t channel);
  bool send(const PeerMessage& message, int fd);
  std::optional<PeerMessage> take(std::uint32_t channel);
  bool hasMessage(std::uint32_t channel) const;
  PeerNews newsOf(std::uint32_t channel);
  std::vector<std::byte> farewellOf(std::uint32_t channel) const;
  void closeChannel(PeerMessage last) noexcept;

  const int rank_;
  const int peer_;
  std::unique_ptr<SessionConnections> connections_;  // null once it cannot be needed any more
  const Deadline patience_ = Deadline::after(kConnectDelay);
  PeerRegions regions_;
  std::atomic<std::uint64_t> sentRegions_{0};  // bit i: region i
  static_assert(ShareableMemory::kMaxRegions <= 64);

  mutable std::mutex mutex_;  // guards the members below; nothing is called out with it that waits
  State state_ = State::kMeeting;
  std::unique_ptr<SessionConnector> connector_;
  std::unique_ptr<MessageStream> accepted_, connected_;  // the higher rank's candidates
  std::unique_ptr<MessageStream> stream_;                // once it is open
  std::optional<PeerMessage> abort_;                     // why this rank gives up
  bool heard_ = false;                                   // the peer has sent a message
  bool left_ = false;                                    // the peer has left but for channels that outlive it
  std::uint64_t queuedRegions_ = 0;                      // bit i: region i has been given to stream_
  bool asked_ = false;
  bool answered_ = false;                          // since the last ask()
  PeerNews end_;                                   // kAborted, kLost: details
  std::map<std::uint32_t, std::uint32_t> opened_;  // by use: how many channels this rank has opened
  std::map<std::uint32_t, Channel> channels_;
  std::size_t unread_ = 0;  // messages in all inboxes
};

// One connection's part of a session. The peer opens the same one, before or after; messages wait for it.
class SessionChannel {
 public:
  SessionChannel(std::shared_ptr<PeerSession> session, const ChannelUse& use)
      : session_(std::move(session)), number_(session_->openChannel(use)) {}
  // Cancels the channel unless it is closed.
  ~SessionChannel();
  SessionChannel(const SessionChannel&) = delete;
  SessionChannel& operator=(const SessionChannel&) = delete;

  PeerSession& session() const { return *session_; }
  int peer() const { return session_->peer(); }
  // Goes on with meeting the peer; true once messages can be sent. Throws as PeerSession::advance().
  bool connected() { return session_->advance(); }
  // Throws if the peer is gone. `fd`: a descriptor that goes with the message, for ranks of one host.
  void send(PeerMessage::Kind kind, std::vector<std::byte> body, int fd = -1);
  // The channel goes on when the peer, or this rank, has left (PeerSession::tellLeft).
  void outliveRank() { session_->letOutlive(number_); }
  // The next message of this channel; nothing if it has not arrived. Throws if none can come any more.
  std::optional<PeerMessage> take();
  // Whether take() would return a message that has been read already.
  bool hasMessage() const { return session_->hasMessage(number_); }
  // The state of the peer: kClosed once it has closed this channel.
  PeerNews news() { return session_->newsOf(number_); }
  // The body with which the peer closed the channel.
  std::vector<std::byte> farewell() const { return session_->farewellOf(number_); }
  // Closes the channel in order; the peer gets the body as farewell().
  void close(std::vector<std::byte> body) noexcept;

 private:
  [[noreturn]] void throwEnded();

  const std::shared_ptr<PeerSession> session_;
  const std::uint32_t number_;
  bool closed_ = false;
};

}  // namespace xylem::transport
