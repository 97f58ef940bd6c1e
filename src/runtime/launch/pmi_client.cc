#include "runtime/launch/pmi_client.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <sstream>

#include "core/deadline.h"
#include "core/error.h"

namespace xylem::launch {
namespace {

constexpr std::size_t kMaxLineLength = 4096;

[[noreturn]] void fail(const std::string& what) {
  throw Error(
      ResultCode::kSystemError,
      "the launcher's store (PMI_FD) cannot be used: {}; each process that mpiexec starts can use it once, "
      "and no MPI library beside it: set NCCL_COMM_ID=host:port to do without",
      what);
}

// The fields of a line such as `cmd=get_result rc=0 value=abc`. The value of `msg` may contain spaces; it is
// cut off at the first, as it is not needed.
std::map<std::string, std::string, std::less<>> fieldsOf(const std::string& line) {
  std::map<std::string, std::string, std::less<>> fields;
  std::istringstream words(line);
  for (std::string word; words >> word;)
    if (const std::size_t equals = word.find('='); equals != std::string::npos)
      fields[word.substr(0, equals)] = word.substr(equals + 1);
  return fields;
}

}  // namespace

PmiClient::PmiClient(int socket, std::chrono::seconds timeout) : socket_(socket), timeout_(timeout) {
  ask("init pmi_version=1 pmi_subversion=1", "response_to_init", timeout_);
  store_ = ask("get_my_kvsname", "my_kvsname", timeout_)["kvsname"];
  if (store_.empty()) fail("it has no name");
}

void PmiClient::put(const std::string& key, const std::string& value) {
  ask(fmt::format("put kvsname={} key={} value={}", store_, key, value), "put_result", timeout_);
}

void PmiClient::barrier() { ask("barrier_in", "barrier_out", std::chrono::seconds(0)); }

std::string PmiClient::get(const std::string& key) {
  return ask(fmt::format("get kvsname={} key={}", store_, key), "get_result", timeout_)["value"];
}

void PmiClient::finish() { ask("finalize", "finalize_ack", timeout_); }

PmiClient::Reply PmiClient::ask(const std::string& request, const std::string& answer,
                                std::chrono::seconds timeout) {
  const std::string line = "cmd=" + request + "\n";
  // The socket is a blocking one, and a request fits into its buffer.
  if (send(socket_, line.data(), line.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(line.size()))
    fail(fmt::format("sending `{}`: {}", request, errnoText(errno)));
  const std::string text = readLine(timeout);
  Reply reply = fieldsOf(text);
  if (reply["cmd"] != answer || (reply.contains("rc") && reply["rc"] != "0"))
    fail(fmt::format("it answered `{}` to `{}`", text, request));
  return reply;
}

std::string PmiClient::readLine(std::chrono::seconds timeout) {
  const Deadline deadline = Deadline::after(timeout);
  std::size_t end = 0;
  while ((end = received_.find('\n')) == std::string::npos) {
    if (received_.size() > kMaxLineLength) fail("it sent a line without an end");
    pollfd waiting{socket_, POLLIN, 0};
    const int ready = poll(&waiting, 1, timeout.count() == 0 ? -1 : deadline.pollMilliseconds());
    if (ready == 0 && deadline.passed()) fail(fmt::format("no answer within {} s", timeout.count()));
    if (ready <= 0) continue;
    std::array<char, 1024> buffer;
    const ssize_t count = read(socket_, buffer.data(), buffer.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) fail(errnoText(errno));
    if (count == 0) fail("it closed the connection");
    received_.append(buffer.data(), static_cast<std::size_t>(count));
  }
  const std::string line = received_.substr(0, end);
  received_.erase(0, end + 1);
  return line;
}

}  // namespace xylem::launch
