#pragma once
// An endpoint of libfabric with what belongs to it, and who waits for what there. All links of a rank through
// one device share one.
//
//   const std::lock_guard lock(endpoint.mutex());         // for all that follows
//   if (!endpoint.receive(op, {buffer, bytes, memory}, tag)) ...    // not taken at the moment: again later
//   endpoint.progress();                                  // tells op.user what has become of it

#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "runtime/libfabric/fabric_devices.h"

namespace xylem {

struct FabricCompletion {
  std::size_t bytes = 0;
  bool hasData = false;  // the sender told a number
  std::uint64_t data = 0;
};

struct FabricOp;

// Who posts operations. Told by whoever calls progress(), with the endpoint's mutex locked.
class FabricUser {
 public:
  virtual void completed(FabricOp& op, const FabricCompletion& completion) noexcept = 0;
  virtual void failed(FabricOp& op, const std::string& why) noexcept = 0;

 protected:
  ~FabricUser() = default;
};

// Stays where it is while it is pending.
struct FabricOp {
  fi_context2 context{};  // libfabric's notes; first, as libfabric returns its address
  FabricUser* user = nullptr;
  bool pending = false;
};
static_assert(offsetof(FabricOp, context) == 0);

// Memory that the endpoint's domain knows.
struct FabricMemory : NetMemory {
  fid_mr* region = nullptr;
  void* descriptor = nullptr;
  std::uint64_t key = 0;
  std::uint64_t origin = 0;  // what a writer calls its first byte
  std::byte* data = nullptr;
};

struct FabricPiece {
  const std::byte* data = nullptr;
  std::size_t bytes = 0;
  const FabricMemory* memory = nullptr;  // null: none needed
  void* descriptor() const { return memory == nullptr ? nullptr : memory->descriptor; }
};

// Tags: what a message is, for which link of the receiver, and a number.
enum class FabricTag : std::uint64_t { kData = 0, kOffer = 1, kHello = 2 };
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

// Closed from the last to the first.
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

  // Whoever calls anything below has locked it.
  std::mutex& mutex() { return mutex_; }
  bool writes() const { return writes_; }
  const std::string& provider() const { return provider_; }
  // How other endpoints call this one.
  std::span<const std::byte> address() const { return address_; }
  fi_addr_t peer(std::span<const std::byte> address);
  // Of a link here, for tags; hard to guess.
  std::uint32_t newLink();

  // Null if this provider wants none. `remote`: others write into it.
  std::unique_ptr<FabricMemory> know(std::byte* data, std::size_t bytes, bool remote);
  void forget(std::unique_ptr<FabricMemory> memory);

  // False: not taken at the moment. Throw LinkBroken, or Error, if it never will be.
  bool receive(FabricOp& op, const FabricPiece& piece, std::uint64_t tag);
  // `data`: a number for the receiver, of 32 bits, or nothing.
  bool send(FabricOp& op, fi_addr_t to, const FabricPiece& piece, std::uint64_t tag,
            const std::uint32_t* data = nullptr);
  bool write(FabricOp& op, fi_addr_t to, const FabricPiece& piece, std::uint64_t address, std::uint64_t key);

  void progress();
  // Until none of the operations is pending; what is to be received is not received any more. If one of them
  // does not end, the endpoint is closed, so that nothing touches its memory. Locks the mutex itself.
  void settle(std::span<FabricOp* const> receives, std::span<FabricOp* const> others) noexcept;

 private:
  bool posted(long result, FabricOp& op, const char* what);
  void tellFailure();
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
  Fabric<fid_ep> parted_;    // what it was, where it must not be closed yet, or ever
  std::vector<std::byte> address_;
  std::map<std::vector<std::byte>, fi_addr_t> peers_;
  std::uint64_t nextKey_ = 1;
};

}  // namespace xylem
