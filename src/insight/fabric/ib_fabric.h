#pragma once
// InfiniBand fabrics as `ibnetdiscover` prints them: a record per switch and adapter, with a line per cabled
// port.
//
//   Switch  2 "S-1" # "MF0;leaf1:MQM8700/U1" enhanced port 0 lid 2 lmc 0   ->   switch leaf1
//   [1] "H-7"[1](8) # "node1 mlx5_0" lid 5 4xHDR                           ->   nic node1 mlx5_0 leaf1
//   200Gb/s
//
// A switch is called by its description, or by its id where that is no plain name or not its alone. An
// adapter's description is HOST NIC, as the driver's service sets it; HCA-1, the older form, is mlx5_0.

#include <string>
#include <string_view>
#include <vector>

#include "insight/fabric/fabric.h"

namespace xylem {

// Does a text start like ibnetdiscover's?
bool looksLikeIbnetdiscover(std::string_view text);

// Throws InputError with file and line. Adapters that are left out are named in `remarks`: those whose
// description names no host, and those of switches themselves.
Fabric parseIbnetdiscover(std::string_view text, const std::string& file,
                          std::vector<std::string>* remarks = nullptr);

}  // namespace xylem
