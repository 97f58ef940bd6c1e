#pragma once
// Where the ranks of a comparison run, and who can take part there.
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

  std::string name() const { return kind == kTwoHosts ? "hosts" : std::to_string(ranks); }
};

// "2", "4", "8", "hosts".
std::optional<Shape> shapeNamed(std::string_view text);

// What contenders are started with; all of it outlives them.
struct Place {
  Shape shape;
  std::string programs;    // the folder of the rank programs
  std::string folder;      // for sockets and output
  std::vector<int> cores;  // of the ranks in turn; none: the system's choice
  bool pipelined = false;
  CorePair* pair = nullptr;         // none on a machine of one core
  const HostPair* hosts = nullptr;  // of two hosts
};

struct Entry {
  std::string name;
  Role role;
  std::string title;  // for people
};

// All that there could be, in the order of columns.
std::vector<Entry> entriesOf(const Shape& shape);

// Why it cannot be started here: a program is missing. Nothing if it can.
std::string missingFor(const Entry& entry, const Place& place);

// Throws Error if it does not come up.
std::unique_ptr<Contender> start(const Entry& entry, const Place& place);

}  // namespace xylem::bench
