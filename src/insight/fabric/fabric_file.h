#pragma once
// Reads and writes fabrics as text with one statement per line:
//
//   # two leaves with two hosts each, two uplinks per leaf
//   switch leaf[0-1] spine[0-1]
//   link   leaf[0-1] spine[0-1] 400Gb/s          # every leaf to every spine; x2: two cables
//   nic    h[0-1] mlx5_[0-7] leaf0 400Gb/s       # host, NIC, switch
//   nic    h[2-3] mlx5_[0-7] leaf1 400Gb/s
//
// A `nic` line names one switch for all NICs, or one for each: mlx5_[0-7] leaf[0-7].

#include <string>
#include <string_view>
#include <vector>

#include "insight/fabric/fabric.h"

namespace xylem::fabric {

// Throws InputError with file and line.
Fabric parseFabric(std::string_view text, const std::string& file);

// Reads a file in this format or in that of ibnetdiscover (ib_fabric.h), told apart by their contents.
// `remarks` gets a line for every adapter that is left out.
Fabric readFabric(const std::string& path, std::vector<std::string>* remarks = nullptr);

// Returns a text that parseFabric() reads as the same network.
std::string fabricText(const Fabric& fabric);

}  // namespace xylem::fabric
