#pragma once
// Fabrics as text, one statement per line:
//
//   # two leaves with two hosts each, two uplinks per leaf
//   switch leaf[0-1] spine[0-1]
//   link   leaf[0-1] spine[0-1] 400Gb/s          # each of the one with each of the other; x2: two cables
//   nic    h[0-1] mlx5_[0-7] leaf0 400Gb/s       # host, NIC, switch
//   nic    h[2-3] mlx5_[0-7] leaf1 400Gb/s
//
// As many switches as NICs in a `nic` line are taken pairwise: mlx5_[0-7] leaf[0-7].

#include <string>
#include <string_view>
#include <vector>

#include "insight/fabric/fabric.h"

namespace xylem {

// Throws InputError with file and line.
Fabric parseFabric(std::string_view text, const std::string& file);

// Either that or what ibnetdiscover prints (ib_fabric.h), whichever it is. What is left out is named in
// `remarks`.
Fabric readFabric(const std::string& path, std::vector<std::string>* remarks = nullptr);

// The text of a fabric; reading it gives the same network.
std::string fabricText(const Fabric& fabric);

}  // namespace xylem
