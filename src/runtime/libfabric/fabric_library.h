#pragma once
// libfabric, loaded when it is first asked for: machines without it lack this network only.
//
//   const FabricLibrary& fabric = FabricLibrary::instance();   // throws, with the reason, if it is not there
//   fabric.getInfo(hints)
//
// All that is inline in libfabric's headers works on tables of the objects that these functions make.

#include <rdma/fabric.h>

#include <memory>
#include <string>

#include "core/shared_library.h"

namespace xylem {

struct FreeInfo {
  void operator()(fi_info* info) const;
};
using FabricInfo = std::unique_ptr<fi_info, FreeInfo>;

class FabricLibrary {
 public:
  // Loaded once per process, for as long as that lives. Throws if it is not there or too old.
  static const FabricLibrary& instance();

  // An empty description, for hints.
  FabricInfo emptyInfo() const { return copyOf(nullptr); }
  FabricInfo copyOf(const fi_info* info) const;
  // A list, in the library's order; null if nothing fits.
  FabricInfo find(const fi_info& hints) const;
  // Throws.
  fid_fabric* open(fi_fabric_attr& attributes) const;
  void free(fi_info* info) const { free_(info); }
  // What an error of libfabric, positive or negative, means.
  std::string text(long error) const;

 private:
  FabricLibrary();

  SharedLibrary library_;
  decltype(&fi_getinfo) find_ = nullptr;
  decltype(&fi_freeinfo) free_ = nullptr;
  decltype(&fi_dupinfo) copy_ = nullptr;
  decltype(&fi_fabric) open_ = nullptr;
  decltype(&fi_strerror) text_ = nullptr;
};

}  // namespace xylem
