#include "runtime/libfabric/fabric_endpoint.h"

#include <rdma/fi_cm.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>
#include <rdma/fi_tagged.h>

#include <algorithm>
#include <array>
#include <thread>

#include "core/deadline.h"
#include "runtime/sockets/secret.h"

namespace xylem::libfabric {
namespace {

constexpr std::size_t kCompletionsAtOnce = 16;
constexpr std::size_t kMaxCompletions = 1 << 16;
constexpr std::size_t kMaxAddressBytes = 256;
constexpr const char* kSharedMemory = "shm";
// How long settle() waits for operations to end.
constexpr std::chrono::seconds kSettleTime{2};

std::string text(long error) { return FabricLibrary::instance().text(error); }

void require(long result, const char* what) {
  if (result < 0) throw Error(ResultCode::kSystemError, "libfabric: {}: {}", what, text(result));
}

template <typename Object, typename Open>
Fabric<Object> opened(const char* what, Open open) {
  Object* object = nullptr;
  require(open(&object), what);
  return Fabric<Object>(object);
}

// Keeps the endpoints of the provider shm in one process until the last of them closes: they read each
// other's memory, even that of closed endpoints.
class ClosedTogether {
 public:
  static ClosedTogether& instance() {
    static ClosedTogether all;
    return all;
  }
  void open() {
    const std::lock_guard lock(mutex_);
    ++living_;
  }
  void close(FabricObjects objects) {
    const std::lock_guard lock(mutex_);
    waiting_.push_back(std::move(objects));
    if (--living_ == 0) waiting_.clear();
  }

 private:
  std::mutex mutex_;
  int living_ = 0;
  std::vector<FabricObjects> waiting_;
};

// Keeps objects open until the process ends. The layer ofi_rxm of libfabric 1.17 reads freed memory when it
// closes an endpoint with messages under way to a host that does not answer.
void keepForGood(FabricObjects objects) {
  static std::mutex mutex;
  static auto& kept = *new std::vector<FabricObjects>;
  const std::lock_guard lock(mutex);
  kept.push_back(std::move(objects));
}

}  // namespace

FabricEndpoint::FabricEndpoint(const FabricDevice& device)
    : provider_(device.provider),
      software_(device.software),
      delivers_(device.delivers),
      writes_(device.writes),
      info_(FabricLibrary::instance().copyOf(device.info.get())),
      fabric_(FabricLibrary::instance().open(*info_->fabric_attr)) {
  fi_info* info = info_.get();
  domain_ = opened<fid_domain>(
      "fi_domain", [&](fid_domain** out) { return fi_domain(fabric_.get(), info, out, nullptr); });
  fi_cq_attr queue{};
  queue.format = FI_CQ_FORMAT_TAGGED;
  queue.wait_obj = FI_WAIT_NONE;
  queue.size = std::min(info->tx_attr->size + info->rx_attr->size, kMaxCompletions);
  completions_ = opened<fid_cq>(
      "fi_cq_open", [&](fid_cq** out) { return fi_cq_open(domain_.get(), &queue, out, nullptr); });
  fi_av_attr book{};
  book.type = info->domain_attr->av_type == FI_AV_UNSPEC ? FI_AV_TABLE : info->domain_attr->av_type;
  addresses_ = opened<fid_av>("fi_av_open",
                              [&](fid_av** out) { return fi_av_open(domain_.get(), &book, out, nullptr); });
  endpoint_ = opened<fid_ep>("fi_endpoint",
                             [&](fid_ep** out) { return fi_endpoint(domain_.get(), info, out, nullptr); });
  require(fi_ep_bind(endpoint_.get(), &completions_->fid, FI_TRANSMIT | FI_RECV), "fi_ep_bind");
  require(fi_ep_bind(endpoint_.get(), &addresses_->fid, 0), "fi_ep_bind");
  require(fi_enable(endpoint_.get()), "fi_enable");
  address_.resize(kMaxAddressBytes);
  std::size_t bytes = address_.size();
  require(fi_getname(&endpoint_->fid, address_.data(), &bytes), "fi_getname");
  address_.resize(bytes);
  if (provider_ == kSharedMemory) ClosedTogether::instance().open();
}

FabricEndpoint::~FabricEndpoint() {
  const bool retired = retired_ != nullptr;
  FabricObjects objects{std::move(fabric_), std::move(domain_), std::move(completions_),
                        std::move(addresses_), std::move(retired ? retired_ : endpoint_)};
  if (provider_ == kSharedMemory)
    ClosedTogether::instance().close(std::move(objects));
  else if (retired)
    keepForGood(std::move(objects));
}

fi_addr_t FabricEndpoint::peer(std::span<const std::byte> address) {
  // The provider takes no length: one that is too short for it ends in zeros.
  std::vector<std::byte> key(address.begin(), address.end());
  key.resize(std::max(address.size(), address_.size()) + 1);
  if (const auto known = peers_.find(key); known != peers_.end()) return known->second;
  if (!endpoint_) throw transport::LinkBroken(false, "the fabric's endpoint is closed");
  fi_addr_t peer = FI_ADDR_UNSPEC;
  if (fi_av_insert(addresses_.get(), key.data(), 1, &peer, 0, nullptr) != 1)
    throw Error(ResultCode::kSystemError, "libfabric ({}) does not understand the address of a peer",
                provider_);
  peers_.emplace(std::move(key), peer);
  return peer;
}

std::uint32_t FabricEndpoint::newLink() {
  std::uint32_t link = 0;
  sockets::fillRandom(&link, sizeof link);
  return link;
}

std::unique_ptr<FabricMemory> FabricEndpoint::registerMemory(std::byte* data, std::size_t bytes,
                                                             bool remote) {
  const int mode = info_->domain_attr->mr_mode;
  remote = remote && writes_;
  if (!remote && (mode & FI_MR_LOCAL) == 0) return nullptr;
  if (!endpoint_) throw transport::LinkBroken(false, "the fabric's endpoint is closed");
  auto memory = std::make_unique<FabricMemory>();
  const std::uint64_t access = FI_SEND | FI_RECV | (writes_ ? FI_WRITE : 0) | (remote ? FI_REMOTE_WRITE : 0);
  require(fi_mr_reg(domain_.get(), data, bytes, access, 0, nextKey_++, 0, &memory->region, nullptr),
          "fi_mr_reg");
  if ((mode & FI_MR_ENDPOINT) != 0) {
    require(fi_mr_bind(memory->region, &endpoint_->fid, 0), "fi_mr_bind");
    require(fi_mr_enable(memory->region), "fi_mr_enable");
  }
  memory->descriptor = fi_mr_desc(memory->region);
  memory->key = fi_mr_key(memory->region);
  memory->data = data;
  memory->origin = (mode & FI_MR_VIRT_ADDR) != 0 ? reinterpret_cast<std::uintptr_t>(data) : 0;
  return memory;
}

void FabricEndpoint::deregisterMemory(std::unique_ptr<FabricMemory> memory) {
  if (memory) fi_close(&memory->region->fid);
}

bool FabricEndpoint::posted(long result, FabricOp& op, const char* what) {
  op.pending = result == 0;
  if (result == 0) return true;
  if (result == -FI_EAGAIN) return false;
  throw transport::LinkBroken(result == -FI_ETIMEDOUT || result == -FI_EHOSTUNREACH,
                              fmt::format("libfabric ({}): {}: {}", provider_, what, text(result)));
}

bool FabricEndpoint::receive(FabricOp& op, const FabricPiece& piece, std::uint64_t tag) {
  if (!endpoint_) throw transport::LinkBroken(false, "the fabric's endpoint is closed");
  return posted(fi_trecv(endpoint_.get(), const_cast<std::byte*>(piece.data), piece.bytes, piece.descriptor(),
                         FI_ADDR_UNSPEC, tag, 0, &op.context),
                op, "fi_trecv");
}

bool FabricEndpoint::send(FabricOp& op, fi_addr_t to, const FabricPiece& piece, std::uint64_t tag,
                          const std::uint32_t* data) {
  if (!endpoint_) throw transport::LinkBroken(false, "the fabric's endpoint is closed");
  const iovec part{const_cast<std::byte*>(piece.data), piece.bytes};
  void* descriptor = piece.descriptor();
  fi_msg_tagged message{};
  message.msg_iov = &part;
  message.desc = &descriptor;
  message.iov_count = piece.bytes == 0 ? 0 : 1;
  message.addr = to;
  message.tag = tag;
  message.context = &op.context;
  message.data = data == nullptr ? 0 : *data;
  // The provider shm never reports the delivery of an empty message.
  const bool delivered = delivers_ && (piece.bytes > 0 || provider_ != kSharedMemory);
  const std::uint64_t flags = FI_COMPLETION | (delivered ? FI_DELIVERY_COMPLETE : FI_TRANSMIT_COMPLETE) |
                              (data == nullptr ? 0 : FI_REMOTE_CQ_DATA);
  return posted(fi_tsendmsg(endpoint_.get(), &message, flags), op, "fi_tsendmsg");
}

bool FabricEndpoint::write(FabricOp& op, fi_addr_t to, const FabricPiece& piece, std::uint64_t address,
                           std::uint64_t key) {
  if (!endpoint_) throw transport::LinkBroken(false, "the fabric's endpoint is closed");
  const iovec part{const_cast<std::byte*>(piece.data), piece.bytes};
  const fi_rma_iov there{address, piece.bytes, key};
  void* descriptor = piece.descriptor();
  fi_msg_rma message{};
  message.msg_iov = &part;
  message.desc = &descriptor;
  message.iov_count = 1;
  message.addr = to;
  message.rma_iov = &there;
  message.rma_iov_count = 1;
  message.context = &op.context;
  return posted(fi_writemsg(endpoint_.get(), &message, FI_COMPLETION | FI_DELIVERY_COMPLETE), op,
                "fi_writemsg");
}

// Reads completions until there are none, and tells the users of the operations.
void FabricEndpoint::progress() {
  std::array<fi_cq_tagged_entry, kCompletionsAtOnce> entries;
  while (endpoint_) {
    const ssize_t n = fi_cq_read(completions_.get(), entries.data(), entries.size());
    if (n == -FI_EAGAIN) return;
    if (n == -FI_EAVAIL) {
      reportFailure();
      continue;
    }
    if (n < 0) throw Error(ResultCode::kSystemError, "libfabric ({}): fi_cq_read: {}", provider_, text(n));
    for (ssize_t i = 0; i < n; ++i) {
      const fi_cq_tagged_entry& entry = entries[static_cast<std::size_t>(i)];
      if (entry.op_context == nullptr) continue;
      FabricOp& op = *static_cast<FabricOp*>(entry.op_context);
      op.pending = false;
      op.user->completed(op, {entry.len, (entry.flags & FI_REMOTE_CQ_DATA) != 0, entry.data});
    }
    if (static_cast<std::size_t>(n) < entries.size()) return;
  }
}

void FabricEndpoint::reportFailure() {
  fi_cq_err_entry entry{};
  const ssize_t n = fi_cq_readerr(completions_.get(), &entry, 0);
  if (n < 0 || entry.op_context == nullptr) return;
  FabricOp& op = *static_cast<FabricOp*>(entry.op_context);
  op.pending = false;
  op.user->failed(op, fmt::format("libfabric ({}): {}", provider_, text(entry.err)));
}

void FabricEndpoint::settle(std::span<FabricOp* const> receives, std::span<FabricOp* const> others) noexcept {
  const auto pending = [](const FabricOp* op) { return op->pending; };
  const Deadline deadline = Deadline::after(kSettleTime);
  for (bool first = true;; first = false) {
    {
      const std::lock_guard lock(mutex_);
      if (!endpoint_) return;
      if (first)
        for (FabricOp* op : receives)
          if (op->pending) fi_cancel(&endpoint_->fid, &op->context);
      try {
        progress();
      } catch (const std::exception&) {
        close();
        return;
      }
      if (std::none_of(receives.begin(), receives.end(), pending) &&
          std::none_of(others.begin(), others.end(), pending))
        return;
      if (deadline.passed()) {
        close();
        return;
      }
    }
    std::this_thread::yield();
  }
}

// Providers in software move data only inside of calls, so after the last call a retired endpoint is as good
// as closed, even if other endpoints still read its memory.
void FabricEndpoint::close() noexcept {
  if (software_)
    retired_ = std::move(endpoint_);
  else
    endpoint_.reset();
}

}  // namespace xylem::libfabric
