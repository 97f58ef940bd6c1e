#include "runtime/transport/session/given_file.h"

#include <poll.h>

#include <algorithm>
#include <chrono>
#include <exception>
#include <map>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "core/error.h"
#include "runtime/sockets/service_thread.h"
#include "runtime/transport/session/unix_socket.h"

namespace xylem::transport {
namespace {

// A process that has connected says within this time which file it wants.
constexpr std::chrono::seconds kAsksWithin{5};
// Further processes wait in the kernel.
constexpr std::size_t kMostAsking = 64;
constexpr std::chrono::milliseconds kPause{100};
constexpr std::chrono::milliseconds kRetry{5};

pollfd readable(int fd) { return {fd, POLLIN, 0}; }

}  // namespace

// The question is the number of a file; the answer is the same number, with the descriptor if there is such a file.
class GivenFile::Giver {
 public:
  static std::shared_ptr<Giver> ofThisProcess() { return sockets::sharedInProcess<Giver>(); }

  const LocalName& socket() const { return listener_.name(); }
  std::uint64_t add(Open open) {
    const std::lock_guard lock(mutex_);
    files_[++numbers_] = std::move(open);
    return numbers_;
  }
  void remove(std::uint64_t number) {
    if (!thread_.isOurs()) return;  // the thread may have had the lock when this child was forked
    const std::lock_guard lock(mutex_);
    files_.erase(number);
  }

 private:
  struct Asking {
    FileDescriptor socket;
    Deadline until;
  };

  void serve(int stop) {
    std::vector<Asking> asking;
    std::vector<pollfd> fds;
    bool accepts = true;
    for (;;) {
      fds.assign({readable(stop), readable(accepts ? listener_.fd() : -1)});
      int wait = accepts ? -1 : static_cast<int>(kPause.count());
      for (const Asking& one : asking) {
        fds.push_back(readable(one.socket.get()));
        const int left = one.until.pollMilliseconds();
        wait = wait < 0 ? left : std::min(wait, left);
      }
      poll(fds.data(), fds.size(), wait);
      if (fds[0].revents != 0) return;
      std::erase_if(asking,
                    [this](const Asking& one) { return answer(one.socket.get()) || one.until.passed(); });
      accepts = acceptAll(asking);
    }
  }

  // Returns false if connections may be left that the process cannot take now: too many are open, or too many files.
  bool acceptAll(std::vector<Asking>& asking) const {
    using Kind = sockets::AcceptResult::Kind;
    while (asking.size() < kMostAsking) {
      sockets::AcceptResult accepted = listener_.accept();
      if (accepted.kind == Kind::kConnection)
        asking.push_back({std::move(accepted.socket), Deadline::after(kAsksWithin)});
      else if (accepted.kind != Kind::kRefused)
        return accepted.kind == Kind::kNone;
    }
    return false;
  }

  // Returns false as long as the process has not asked.
  bool answer(int socket) {
    std::uint64_t number = 0;
    const std::optional<ReceivedMessage> question = receiveMessage(socket, &number, sizeof number);
    if (!question) return false;
    if (question->bytes != sizeof number) return true;
    const std::lock_guard lock(mutex_);
    const auto found = files_.find(number);
    const FileDescriptor file = found == files_.end() ? FileDescriptor() : opened(found->second);
    sendMessage(socket, &number, sizeof number, file.get());
    return true;
  }

  // An exception would end the process, as there is no caller to catch it.
  static FileDescriptor opened(const Open& open) {
    try {
      return open();
    } catch (const std::exception&) {
      return {};
    }
  }

  const LocalListener listener_;
  std::mutex mutex_;  // guards the members below; held while a file is opened and sent
  std::map<std::uint64_t, Open> files_;
  std::uint64_t numbers_ = 0;
  sockets::ServiceThread thread_{"xylem-files", [this](int stop) { serve(stop); }};
};

GivenFile::GivenFile(Open open) : giver_(Giver::ofThisProcess()), number_(giver_->add(std::move(open))) {}
GivenFile::~GivenFile() { giver_->remove(number_); }
FileName GivenFile::name() const { return {giver_->socket(), number_}; }

FileDescriptor takeFile(const FileName& name, const Deadline& deadline) {
  FileDescriptor socket = connectLocal(name.socket);
  while (!socket && !deadline.passed()) {
    std::this_thread::sleep_for(kRetry);
    socket = connectLocal(name.socket);
  }
  if (socket && sendMessage(socket.get(), &name.number, sizeof name.number) == SendOutcome::kSent)
    while (!deadline.passed()) {
      pollfd answered = readable(socket.get());
      if (poll(&answered, 1, deadline.pollMilliseconds()) <= 0) continue;
      std::uint64_t number = 0;
      std::optional<ReceivedMessage> answer = receiveMessage(socket.get(), &number, sizeof number);
      if (!answer) continue;
      if (answer->bytes == sizeof number && number == name.number && answer->fd) return std::move(answer->fd);
      throw Error(ResultCode::kRemoteError, "{}",
                  answer->bytes == 0 ? "the other process is gone" : "the other process gives no such file");
    }
  throw Error(ResultCode::kRemoteError, "the other process does not answer");
}

}  // namespace xylem::transport
