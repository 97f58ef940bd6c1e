#pragma once
// An endpoint of libfabric with the objects that it needs, and the operations under way on it. All links of
// a rank through one device share one endpoint.
//
//   const std::lock_guard lock(endpoint.mutex());                   // for all calls below
//   if (!endpoint.receive(op, {buffer, bytes, memory}, tag)) ...    // not accepted now: try again later
//   endpoint.progress();                                            // calls op.user at its end

#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "runtime/libfabric/fabric_devices.h"

namespace xylem::libfabric {

struct FabricCompletion {
  std::size_t bytes = 0;
  bool hasData = false;  // the sender sent a number with the message
  std::uint64_t data = 0;
};

struct FabricOp;

// Posts operations and hears of their end. progress() calls it, with the endpoint's mutex locked.
class FabricUser {
 public:
  virtual void completed(FabricOp& op, const FabricCompletion& completion) noexcept = 0;
  virtual void failed(FabricOp& op, const std::string& why) noexcept = 0;

 protected:
  ~FabricUser() = default;
};

// Must not move or end while it is pending.
struct FabricOp {
  fi_context2 context{};  // libfabric's own; the first member, as libfabric returns its address
  FabricUser* user = nullptr;
  bool pending = false;
};
static_assert(offsetof(FabricOp, context) == 0);

// Memory that is registered with the endpoint's domain.
struct FabricMemory : transport::NetMemory {
  fid_mr* region = nullptr;
  void* descriptor = nullptr;
  std::uint64_t key = 0;
  std::uint64_t origin = 0;  // the address of its first byte as a writer states it
  std::byte* data = nullptr;
};

struct FabricPiece {
  const std::byte* data = nullptr;
  std::size_t bytes = 0;
  const FabricMemory* memory = nullptr;  // null if the provider needs no registration
  void* descriptor() const { return memory == nullptr ? nullptr : memory->descriptor; }
};

// A tag consists of the kind of message, the link of the receiver and a number.
enum class FabricTag : std::uint64_t { kData = 0, kCredits = 1, kHello = 2 };
constexpr std::uint64_t fabricTag(FabricTag kind, std::uint32_t link, std::uint32_t number = 0) {
  return static_cast<std::uint64_t>(kind) << 48 | std::uint64_t{link} << 16 | (number & 0xffff);
}

struct CloseFabric {
  template <typename Object>
  void operator()(Object* object) const {
    fi_close(&object->fid);
  }
};
template <typename Object>
using Fabric = std::unique_ptr<Object, CloseFabric>;

// The objects of an endpoint. Members are destroyed from the last to the first, as libfabric requires.
struct FabricObjects {
  Fabric<fid_fabric> fabric;
  Fabric<fid_domain> domain;
  Fabric<fid_cq> completions;
  Fabric<fid_av> addresses;
  Fabric<fid_ep> endpoint;
};

class FabricEndpoint {
 public:
  // Throws if it cannot be opened.
  explicit FabricEndpoint(const FabricDevice& device);
  ~FabricEndpoint();
  FabricEndpoint(const FabricEndpoint&) = delete;
  FabricEndpoint& operator=(const FabricEndpoint&) = delete;

  // The caller of any function below must have locked it, except for settle().
  std::mutex& mutex() { return mutex_; }
  bool writes() const { return writes_; }
  const std::string& provider() const { return provider_; }
  // The address of this endpoint, for others.
  std::span<const std::byte> address() const { return address_; }
  // The number of another endpoint in this one's address table.
  fi_addr_t peer(std::span<const std::byte> address);
  // A random number for a link, for tags.
  std::uint32_t newLink();

  // Null if the provider needs no registration. `remote`: other endpoints write into the memory.
  std::unique_ptr<FabricMemory> registerMemory(std::byte* data, std::size_t bytes, bool remote);
  void deregisterMemory(std::unique_ptr<FabricMemory> memory);

  // These start an operation. They return false if libfabric cannot accept it now, and throw LinkBroken or
  // Error if it never will.
  bool receive(FabricOp& op, const FabricPiece& piece, std::uint64_t tag);
  // `data`: a number for the receiver, or null.
  bool send(FabricOp& op, fi_addr_t to, const FabricPiece& piece, std::uint64_t tag,
            const std::uint32_t* data = nullptr);
  bool write(FabricOp& op, fi_addr_t to, const FabricPiece& piece, std::uint64_t address, std::uint64_t key);

  void progress();
  // Cancels the receives and waits until none of the operations is pending. If one does not end in time,
  // closes the endpoint, so that nothing touches the operation's memory any more. Locks the mutex itself.
  void settle(std::span<FabricOp* const> receives, std::span<FabricOp* const> others) noexcept;

 private:
  bool posted(long result, FabricOp& op, const char* what);
  void reportFailure();
  void close() noexcept;

  std::mutex mutex_;
  std::string provider_;
  bool software_;
  bool delivers_;
  bool writes_;
  FabricInfo info_;
  Fabric<fid_fabric> fabric_;
  Fabric<fid_domain> domain_;
  Fabric<fid_cq> completions_;
  Fabric<fid_av> addresses_;
  Fabric<fid_ep> endpoint_;  // null: closed
  Fabric<fid_ep> retired_;   // the closed endpoint, if libfabric must not close it yet, or ever
  std::vector<std::byte> address_;
  std::map<std::vector<std::byte>, fi_addr_t> peers_;
  std::uint64_t nextKey_ = 1;
};

}  // namespace xylem::libfabric
