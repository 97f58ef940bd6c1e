#include "runtime/launch/job_id.h"

#include <fmt/format.h>
#include <poll.h>

#include <charconv>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "core/deadline.h"
#include "core/error.h"
#include "runtime/api/boundary.h"
#include "runtime/bootstrap/root.h"
#include "runtime/launch/local_rendezvous.h"
#include "runtime/launch/pmi_client.h"
#include "runtime/launch/pmix_client.h"
#include "runtime/launch/rendezvous_method.h"
#include "runtime/sockets/socket.h"

namespace xylem::launch {
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
  store->barrier();  // the value is gone once the process that stored it has left
  return found;
}

// Waits until the root listens at `address`: joining without NCCL_COMM_ID expects a root that listens
// already.
void awaitListener(const std::string& name, const sockets::SocketAddress& address, const Deadline& deadline) {
  constexpr int kRetryMilliseconds = 20;
  for (;;) {
    const FileDescriptor socket = sockets::startConnect(address, nullptr);
    pollfd waiting{socket.get(), POLLOUT, 0};
    if (socket && poll(&waiting, 1, deadline.pollMilliseconds()) > 0 &&
        sockets::connectOutcome(socket.get()) == 0)
      return;
    if (deadline.passed())
      throw Error(ResultCode::kSystemError,
                  "timed out: nobody listens at {}, where the first process of the first host should; set "
                  "NCCL_COMM_ID=host:port, with process 0 on that host, to meet elsewhere",
                  name);
    poll(nullptr, 0, deadline.pollMilliseconds(kRetryMilliseconds));
  }
}

// With NCCL_COMM_ID, rank 0 starts the root when it joins. If another process has to listen, as the address
// is its host's, it starts the root here, and the others wait for that before they join.
ncclUniqueId idAtAddress(const RendezvousMethod& method, int rank, std::chrono::seconds timeout) {
  setenv("NCCL_COMM_ID", method.name.c_str(), 1);
  const ncclUniqueId id = newId();
  if (method.listens == (rank == 0)) return id;
  const bootstrap::UniqueId root = bootstrap::UniqueId::fromBytes(id.internal);
  if (method.listens) {
    const Settings settings = Settings::fromEnvironment();
    bootstrap::hostCommId(root, settings, api::processLogger(settings));
  } else {
    unsetenv("NCCL_COMM_ID");
    awaitListener(method.name, root.address(), Deadline::after(timeout));
  }
  return id;
}

}  // namespace

ncclUniqueId jobId(const LaunchedProcess& process, std::chrono::seconds timeout) {
  const RendezvousMethod method = rendezvousMethod(process, std::getenv);
  // Only process 0 makes an id: each id starts a root, which waits for the job.
  const auto ownId = [&] { return process.rank == 0 ? hexOf(newId()) : ""; };
  switch (method.kind) {
    case RendezvousMethod::kAlone:
    case RendezvousMethod::kGiven:
      return newId();
    case RendezvousMethod::kAddress:
      return idAtAddress(method, process.rank, timeout);
    case RendezvousMethod::kPmi:
      return idOf(shareByPmi(process.rank, ownId(), timeout));
    case RendezvousMethod::kPmix:
      return idOf(shareByPmix(process.rank, ownId()));
    case RendezvousMethod::kLocal:
      return idOf(shareLocally({method.name, process.rank, process.size}, ownId(), Deadline::after(timeout)));
    case RendezvousMethod::kNone:
      break;
  }
  throw InputError(
      {"NCCL_COMM_ID", 0}, "nothing",
      fmt::format("host:port, for rank 0 to listen at: {} says that this is process {} of {}, and "
                  "nothing says where they meet; `xylem run` sets it",
                  process.variable, process.rank, process.size));
}

}  // namespace xylem::launch
