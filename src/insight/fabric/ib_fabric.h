#pragma once
// Reads InfiniBand fabrics from the output of `ibnetdiscover`, which has a record per switch and adapter with
// a line per cabled port. The two lines
//
//   Switch  2 "S-1" # "MF0;leaf1:MQM8700/U1" enhanced port 0 lid 2 lmc 0
//   [1] "H-7"[1](8) # "node1 mlx5_0" lid 5 4xHDR
//
// become, in the format of fabric_file.h,
//
//   switch leaf1
//   nic node1 mlx5_0 leaf1 200Gb/s
//
// A switch gets the name in its description, or its id if that is no plain name or several switches have it.
// The description of an adapter is HOST NIC, as the driver's service sets it; the older form HCA-1 means
// mlx5_0.

#include <string>
#include <string_view>
#include <vector>

#include "insight/fabric/fabric.h"

namespace xylem::fabric {

// True if a text starts like the output of ibnetdiscover.
bool looksLikeIbnetdiscover(std::string_view text);

// Throws InputError with file and line. `remarks` gets a line for every adapter that is left out: those whose
// description names no host, and those inside switches.
Fabric parseIbnetdiscover(std::string_view text, const std::string& file,
                          std::vector<std::string>* remarks = nullptr);

}  // namespace xylem::fabric
