#pragma once
// The lines of ibnetdiscover's output as values, before anything is made of them.

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace xylem {

struct IbNode {
  std::string description;
  int line = 0;  // of its record, or of the first line that mentions it
  bool hasRecord = false;
};

// A cable, as the first record that has it says.
struct IbCable {
  std::string a, b;      // ids of nodes; the first letter is S for a switch, H for an adapter, R for a router
  double bandwidth = 0;  // GB/s
  int line = 0;
};

struct IbRecords {
  std::map<std::string, IbNode> nodes;  // by id
  std::vector<std::string> order;       // ids as they appear first
  std::vector<IbCable> cables;
};

// Throws InputError with file and line.
IbRecords readIbRecords(std::string_view text, const std::string& file);

}  // namespace xylem
