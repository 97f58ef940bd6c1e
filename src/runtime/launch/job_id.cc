#include "runtime/launch/job_id.h"

#include <fmt/format.h>
#include <poll.h>

#include <charconv>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "runtime/api/boundary.h"
#include "runtime/bootstrap/meeting.h"
#include "core/deadline.h"
#include "core/error.h"
#include "runtime/launch/local_meeting.h"
#include "runtime/launch/meeting_way.h"
#include "runtime/launch/pmi_client.h"
#include "runtime/launch/pmix_client.h"
#include "runtime/sockets/socket.h"

namespace xylem {
namespace {

constexpr const char* kKey = "xylem-id";  // in the launcher's store

ncclUniqueId newId() {
  ncclUniqueId id;
  const ncclResult_t result = ncclGetUniqueId(&id);
  if (result != ncclSuccess) throw Error(static_cast<ResultCode>(result), "{}", ncclGetLastError(nullptr));
  return id;
}

std::string hexOf(const ncclUniqueId& id) {
  std::string text;
  for (const char byte : id.internal) text += fmt::format("{:02x}", static_cast<unsigned char>(byte));
  return text;
}

ncclUniqueId idOf(const std::string& hex) {
  ncclUniqueId id;
  bool good = hex.size() == 2 * sizeof id.internal;
  for (std::size_t i = 0; good && i < sizeof id.internal; ++i) {
    unsigned char byte = 0;
    const char* digits = &hex[2 * i];
    good = std::from_chars(digits, digits + 2, byte, 16).ptr == digits + 2;
    id.internal[i] = static_cast<char>(byte);
  }
  if (!good)
    throw Error(ResultCode::kInternalError,
                "what process 0 gave to the others is no id: `{}`; do all processes run "
                "the same version?",
                hex);
  return id;
}

std::string shareByPmi(int rank, const std::string& text, std::chrono::seconds timeout) {
  PmiClient store(std::atoi(std::getenv("PMI_FD")), timeout);
  if (rank == 0) store.put(kKey, text);
  store.barrier();
  std::string found = store.get(kKey);
  store.finish();
  return found;
}

std::string shareByPmix(int rank, const std::string& text) {
  const std::unique_ptr<PmixClient> store =
      PmixClient::kept() ? std::move(PmixClient::kept()) : std::make_unique<PmixClient>();
  if (rank == 0) store->put(kKey, text);
  store->barrier();
  std::string found = store->get(kKey, 0);
  store->barrier();  // whoever has left can no longer be asked
  return found;
}

// Until somebody listens there: an id without NCCL_COMM_ID is one whose root is there.
void awaitListener(const std::string& place, const SocketAddress& address, const Deadline& deadline) {
  constexpr int kRetryMilliseconds = 20;
  for (;;) {
    const FileDescriptor caller = startConnect(address, nullptr);
    pollfd waiting{caller.get(), POLLOUT, 0};
    if (caller && poll(&waiting, 1, deadline.pollMilliseconds()) > 0 && connectOutcome(caller.get()) == 0)
      return;
    if (deadline.passed())
      throw Error(ResultCode::kSystemError,
                  "timed out: nobody listens at {}, where the first process of the first host should; set "
                  "NCCL_COMM_ID=host:port, with process 0 on that host, to meet elsewhere",
                  place);
    poll(nullptr, 0, deadline.pollMilliseconds(kRetryMilliseconds));
  }
}

// With NCCL_COMM_ID rank 0 listens when it joins. If that is not who can, the root is started here, before
// anybody joins.
ncclUniqueId meetAt(const MeetingWay& way, int rank, std::chrono::seconds timeout) {
  setenv("NCCL_COMM_ID", way.name.c_str(), 1);
  const ncclUniqueId id = newId();
  if (way.listens == (rank == 0)) return id;
  const UniqueId meeting = UniqueId::fromBytes(id.internal);
  if (way.listens) {
    const Settings settings = Settings::fromEnvironment();
    hostCommId(meeting, settings, processLogger(settings));
  } else {
    unsetenv("NCCL_COMM_ID");
    awaitListener(way.name, meeting.address(), Deadline::after(timeout));
  }
  return id;
}

}  // namespace

ncclUniqueId jobId(const LaunchedProcess& process, std::chrono::seconds timeout) {
  const MeetingWay way = meetingWay(process, std::getenv);
  // Of the first only: an id has a root behind it, which waits for the job.
  const auto ownId = [&] { return process.rank == 0 ? hexOf(newId()) : ""; };
  switch (way.kind) {
    case MeetingWay::kAlone:
    case MeetingWay::kGiven:
      return newId();
    case MeetingWay::kAddress:
      return meetAt(way, process.rank, timeout);
    case MeetingWay::kPmi:
      return idOf(shareByPmi(process.rank, ownId(), timeout));
    case MeetingWay::kPmix:
      return idOf(shareByPmix(process.rank, ownId()));
    case MeetingWay::kLocal:
      return idOf(shareLocally({way.name, process.rank, process.size}, ownId(), Deadline::after(timeout)));
    case MeetingWay::kNone:
      break;
  }
  throw InputError(
      {"NCCL_COMM_ID", 0}, "nothing",
      fmt::format("host:port, for rank 0 to listen at: {} says that this is process {} of {}, and "
                  "nothing says where they meet; `xylem run` sets it",
                  process.variable, process.rank, process.size));
}

}  // namespace xylem
