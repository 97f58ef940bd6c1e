#pragma once
// libfabric, loaded on first use: a machine without the library lacks only this network.
//
//   const FabricLibrary& fabric = FabricLibrary::instance();   // throws if it cannot be loaded
//   const FabricInfo devices = fabric.find(*hints);
//
// All other functions of libfabric are inline in its headers and call through tables of the objects made
// here.

#include <rdma/fabric.h>

#include <memory>
#include <string>

#include "core/shared_library.h"

namespace xylem::libfabric {

struct FreeInfo {
  void operator()(fi_info* info) const;
};
using FabricInfo = std::unique_ptr<fi_info, FreeInfo>;

class FabricLibrary {
 public:
  // Loaded once, until the process ends. Throws if the library is missing or too old.
  static const FabricLibrary& instance();

  // An empty description, for hints.
  FabricInfo emptyInfo() const { return copyOf(nullptr); }
  FabricInfo copyOf(const fi_info* info) const;
  // The list of all that fits, in the library's order; null if nothing does.
  FabricInfo find(const fi_info& hints) const;
  // Throws if libfabric cannot open it.
  fid_fabric* open(fi_fabric_attr& attributes) const;
  void free(fi_info* info) const { free_(info); }
  // The text of an error number of libfabric, positive or negative.
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

}  // namespace xylem::libfabric
