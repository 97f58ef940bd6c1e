#pragma once
// One input of the topology fuzzer, which tests/planner/topology/document_refusal_test.cc also runs over the corpus: for
// any bytes, reading and building either works or throws InputError, and a document that was read survives writing.
//
//   feedTopology(bytes);   // true if it described a machine

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.h"
#include "fuzz/require.h"
#include "planner/topology/complete.h"
#include "planner/topology/document.h"
#include "planner/topology/fuse.h"
#include "planner/topology/system_builder.h"

namespace xylem {

// Returns whether the document makes a graph.
inline bool feedBuilder(const topology::Document& document,
                        const std::shared_ptr<const rules::RuleSet>& rules) {
  try {
    topology::buildSystem(document, rules);
    return true;
  } catch (const InputError&) {
    return false;
  }
}

inline bool feedTopology(std::string_view bytes) {
  try {
    std::vector<std::string> ignored;
    const topology::Document document = topology::parseTopology(bytes, "input.xml", &ignored);
    const std::string text = topology::writeTopology(document);
    require(topology::writeTopology(topology::parseTopology(text, "written.xml")) == text);
    require(topology::writeTopology(topology::fuse({document, document})) ==
            topology::writeTopology(topology::fuse({document, document, document})));
    // Any version's rules, by the length of the input.
    const auto rules = rules::rulesOf(rules::kKnownVersions[bytes.size() % rules::kKnownVersions.size()]);
    feedBuilder(document, rules);
    // Variables let several ranks, and the parts of a GPU, use one device.
    const auto sharing = std::make_shared<rules::RuleSet>(*rules);
    sharing->ranksShareGpus = sharing->readsMultiRank;
    sharing->partsShareGpus = sharing->splitGpus;
    sharing->splitGpus = false;
    feedBuilder(topology::completeForJob(document, *sharing), sharing);
    return feedBuilder(topology::completeForJob(document, *rules), rules);
  } catch (const InputError&) {
    return false;
  }
}

}  // namespace xylem
