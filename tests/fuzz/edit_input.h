#pragma once
// One input of the edits' fuzzer, also run over the corpus by tests/insight/whatif/whatif_test.cc: each line
// is an edit or is refused; an edit changes a small machine into another one that can be built, or is
// refused, too.
//
//   feedEdits(bytes);   // true if all lines are edits

#include <algorithm>
#include <string>
#include <string_view>

#include "core/error.h"
#include "fuzz/require.h"
#include "insight/whatif/edit.h"
#include "planner/topology/complete.h"
#include "planner/topology/system_builder.h"

namespace xylem {

inline const topology::Document& editedHost() {
  static const topology::Document host = topology::completeForJob(
      topology::parseTopology(
          R"(<system version="1"><cpu numaid="0" arch="arm64"><pci busid="0000:10:00.0" class="0x060400">
      <pci busid="0000:11:00.0"><gpu dev="0" sm="90"><nvlink target="0000:12:00.0" count="1"/></gpu></pci>
      <pci busid="0000:12:00.0"><gpu dev="1" sm="90"><nvlink target="0000:11:00.0" count="1"/></gpu></pci>
      <pci busid="0000:13:00.0"><nic><net name="mlx5_0" dev="0"/><net name="mlx5_1" dev="1"/></nic></pci></pci></cpu>
      <cpu numaid="1" arch="arm64"><pci busid="0000:20:00.0" class="0x060400"/><nic><net name="eth0" dev="2"/></nic>
      </cpu></system>)",
          "host.xml"),
      *rules::newestRules());
  return host;
}

inline bool feedEdits(std::string_view bytes) {
  whatif::Edited state{editedHost(), {}};
  bool all = true;
  constexpr int kMaxEdits = 32;
  for (int i = 0; i < kMaxEdits && !bytes.empty(); ++i) {
    const std::size_t end = std::min(bytes.find('\n'), bytes.size());
    const std::string_view line = bytes.substr(0, end);
    bytes.remove_prefix(std::min(end + 1, bytes.size()));
    try {
      const whatif::Edit edit = whatif::parseEdit(line);
      require(whatif::parseEdit(edit.text).text == edit.text);
      try {
        whatif::Edited next = whatif::applyEdits(state, std::span(&edit, 1));
        const std::string text = topology::writeTopology(next.document);
        require(topology::writeTopology(topology::parseTopology(text, "after.xml")) == text);
        topology::buildSystem(topology::completeForJob(next.document, *rules::newestRules()),
                              rules::newestRules());
        state = std::move(next);
      } catch (const InputError&) {
      }
    } catch (const InputError&) {
      all = false;
    }
  }
  return all;
}

}  // namespace xylem
