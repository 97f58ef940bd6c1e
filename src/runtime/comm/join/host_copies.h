#pragma once
// How data moves among the ranks of one host (transport::CopyChoices), and why so: a part of the report of the host's first rank
// (host_description.h), which decides for all of them (choose_copies.h).
//
//   const std::string bytes = toText(copies);           // on the first rank
//   const HostCopies same = copiesFromText(bytes);      // on the others
//   same.text()   ->   "read_from=0 ... (measured: send and receive, staged/read in us: 8 KiB 1.9/2.5, ...)"

#include <string>
#include <string_view>

#include "runtime/transport/choices/copy_choices.h"

namespace xylem::comm {

struct HostCopies {
  transport::CopyChoices choices;
  std::string reason;  // one line: where they come from, and what was measured

  std::string text() const;
  bool operator==(const HostCopies&) const = default;
};

std::string toText(const HostCopies& copies);
// Throws Error (ncclRemoteError) if the text is no HostCopies.
HostCopies copiesFromText(std::string_view text);

}  // namespace xylem::comm
