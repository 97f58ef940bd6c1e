#include "runtime/comm/join/host_copies.h"

#include "core/error.h"

namespace xylem::comm {

std::string HostCopies::text() const { return fmt::format("{} ({})", choices.text(), reason); }

std::string toText(const HostCopies& copies) {
  return fmt::format("{}\n{}", copies.choices.text(), copies.reason);
}

HostCopies copiesFromText(std::string_view text) {
  const std::size_t end = text.find('\n');
  if (end == std::string_view::npos)
    throw Error(ResultCode::kRemoteError, "a rank told its host's choices in {} bytes, without a reason",
                text.size());
  try {
    HostCopies copies{transport::CopyChoices::fromText(text.substr(0, end)),
                      std::string(text.substr(end + 1))};
    if (toText(copies) == text) return copies;
  } catch (const Error& error) {
    throw Error(ResultCode::kRemoteError, "a rank told invalid choices for its host: {}", error.what());
  }
  throw Error(ResultCode::kRemoteError, "a rank told its host's choices in another form");
}

}  // namespace xylem::comm
