#pragma once
// Puts a Fabric together, name by name: what both kinds of files are read with.

#include <cstddef>
#include <map>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "core/error.h"
#include "insight/fabric/fabric.h"

namespace xylem {

constexpr std::size_t kMostFabricSwitches = 1 << 16;
// Of links between switches, and of ports of NICs.
constexpr std::size_t kMostFabricLinks = 1 << 20;

class FabricBuilder {
 public:
  explicit FabricBuilder(const std::string& file) { fabric_.file = file; }

  // All throw InputError at `where`: a name twice, a name that is no switch, too much of everything.
  void addSwitch(const std::string& name, const SourceLocation& where);
  // More cables of one kind between the same two are added up.
  void addCables(const std::string& a, const std::string& b, double bandwidth, int cables,
                 const SourceLocation& where);
  void addPort(const std::string& host, const std::string& nic, const std::string& leaf, double bandwidth,
               const SourceLocation& where);

  Fabric finish() && { return std::move(fabric_); }

 private:
  int switchOf(const std::string& name, const SourceLocation& where) const;

  Fabric fabric_;
  std::unordered_map<std::string, int> switches_;
  std::unordered_map<std::string, std::size_t> hosts_;
  std::map<std::tuple<int, int, double>, std::size_t> links_;
  std::size_t ports_ = 0;
};

}  // namespace xylem
