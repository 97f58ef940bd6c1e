#include "runtime/libfabric/fabric_library.h"

#include <rdma/fi_errno.h>

#include <cstdlib>

#include "core/error.h"

namespace xylem::libfabric {
namespace {

constexpr const char* kFile = "libfabric.so.1";
// The version of the interface that this code is written for, the first with all that it uses.
constexpr std::uint32_t kInterface = FI_VERSION(1, 9);

template <typename Function>
void load(const SharedLibrary& library, const char* name, Function& function) {
  function = library.function<std::remove_pointer_t<Function>>(name);
  if (function == nullptr)
    throw Error(ResultCode::kSystemError, "{} has no function {}: is it libfabric?", kFile, name);
}

}  // namespace

void FreeInfo::operator()(fi_info* info) const { FabricLibrary::instance().free(info); }

FabricLibrary::FabricLibrary() : library_(kFile, SharedLibrary::Stay::kForEver) {
  if (!library_)
    throw Error(ResultCode::kSystemError, "libfabric cannot be loaded (package libfabric1): {}",
                library_.error());
  load(library_, "fi_getinfo", find_);
  load(library_, "fi_freeinfo", free_);
  load(library_, "fi_dupinfo", copy_);
  load(library_, "fi_fabric", open_);
  load(library_, "fi_strerror", text_);
}

const FabricLibrary& FabricLibrary::instance() {
  static const FabricLibrary library;
  return library;
}

FabricInfo FabricLibrary::copyOf(const fi_info* info) const {
  FabricInfo copy(copy_(info));
  if (!copy) throw Error(ResultCode::kSystemError, "libfabric has no memory");
  return copy;
}

FabricInfo FabricLibrary::find(const fi_info& hints) const {
  fi_info* list = nullptr;
  const int result = find_(kInterface, nullptr, nullptr, 0, &hints, &list);
  if (result != 0 && result != -FI_ENODATA)
    throw Error(ResultCode::kSystemError, "libfabric: fi_getinfo: {}", text(result));
  return FabricInfo(list);
}

fid_fabric* FabricLibrary::open(fi_fabric_attr& attributes) const {
  fid_fabric* fabric = nullptr;
  if (const int result = open_(&attributes, &fabric, nullptr); result != 0)
    throw Error(ResultCode::kSystemError, "libfabric: fi_fabric: {}", text(result));
  return fabric;
}

std::string FabricLibrary::text(long error) const {
  return fmt::format("{} ({})", text_(static_cast<int>(std::abs(error))), std::abs(error));
}

}  // namespace xylem::libfabric
