#pragma once
// A shape: where the ranks of a comparison run, and which contenders can take part there.
//
//   Shape shape{Shape::kOneHost, 4};
//   for (const Entry& entry : entriesOf(shape)) entry.name …  // "threads", "openmpi"
//   std::unique_ptr<Contender> contender = start(entry, place);

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "comparison/contender.h"
#include "comparison/core_pair.h"

namespace xylem::bench {

class HostPair;

struct Shape {
  enum Kind { kOneHost, kTwoHosts };
  Kind kind = kOneHost;
  int ranks = 2;
  int each = 1;  // cores of a rank

  std::string name() const {
    if (kind == kTwoHosts) return "hosts";
    return std::to_string(ranks) + (each == 1 ? "" : "x" + std::to_string(each));
  }
};

// "2", "4", "8", "hosts"; "2x8": 2 ranks with 8 cores each.
std::optional<Shape> shapeNamed(std::string_view text);

// Inputs for starting contenders; they must outlive the contenders.
struct Place {
  Shape shape;
  std::string programs;    // the folder of the rank programs
  std::string folder;      // for sockets and output
  std::vector<int> cores;  // of the ranks in turn, shape.each for each; none: the system's choice
  bool pipelined = false, rewrites = false;
  CorePair* pair = nullptr;         // none on a machine of one core
  const HostPair* hosts = nullptr;  // of two hosts
};

struct Entry {
  std::string name;
  Role role;
  std::string title;  // for people
};

// All possible contenders, in the order of columns.
std::vector<Entry> entriesOf(const Shape& shape);

// The reason why a contender cannot start here, for example a missing program; nothing if it can.
std::string missingFor(const Entry& entry, const Place& place);

// Throws Error if it does not start.
std::unique_ptr<Contender> start(const Entry& entry, const Place& place);

}  // namespace xylem::bench
