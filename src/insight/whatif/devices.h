#pragma once
// The devices of a description, by the names that people use for them.
//
//   Devices devices(document);
//   devices.named("gpu3", Devices::kGpu | Devices::kNet, "edit `remove gpu3`")   ->   its gpu element
//
// A GPU is called gpu3 (by rank), dev3 or by its bus id; a network device net1, nic1, mlx5_1 or by its bus
// id; a switch by its bus id; a CPU numa0. `gpus`, `nets` and `switches` are all devices of a kind.

#include <string>
#include <vector>

#include "planner/topology/document.h"

namespace xylem::whatif {

class Devices {
 public:
  enum Kind : unsigned { kGpu = 1, kNet = 2, kSwitch = 4, kNuma = 8 };

  // `document` has ranks (completeForJob) and outlives this.
  explicit Devices(const topology::Document& document);

  const std::vector<topology::ElementId>& gpus() const { return gpus_; }  // gpu elements, by rank
  const std::vector<topology::ElementId>& nets() const { return nets_; }  // net elements, in document order
  const std::vector<topology::ElementId>& switches() const {
    return switches_;
  }  // pci elements without a device

  // The elements of this name, among the kinds in `kinds`. Throws InputError, located at `where`, that lists
  // the devices of these kinds.
  std::vector<topology::ElementId> named(const std::string& word, unsigned kinds,
                                         const std::string& where) const;

  // The pci element of a gpu or net, or the switch itself; kNoElement for a net directly at a CPU.
  topology::ElementId pciOf(topology::ElementId element) const;
  // The switch or cpu that holds the device.
  topology::ElementId placeOf(topology::ElementId element) const;

  // The word that names the element in edits: "gpu3", "net1", "0000:10:00.0", "numa0".
  std::string wordFor(topology::ElementId element) const;

 private:
  void collect(topology::ElementId element);
  std::string listText(unsigned kinds) const;

  const topology::Document& document_;
  std::vector<topology::ElementId> gpus_, nets_, switches_, cpus_;
};

}  // namespace xylem::whatif
