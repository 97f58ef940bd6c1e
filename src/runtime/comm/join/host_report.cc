#include "runtime/comm/join/host_report.h"

#include <cstring>

#include "core/error.h"
#include "core/settings.h"
#include "runtime/sockets/secret.h"

namespace xylem {
namespace {

struct Header {
  std::uint64_t key = 0;
  std::uint64_t descriptionBytes = 0;
};

}  // namespace

std::string toBytes(const HostReport& report) {
  const Header header{report.key, report.description.size()};
  std::string bytes(reinterpret_cast<const char*>(&header), sizeof header);
  return bytes + report.description + report.graphs;
}

HostReport reportFromBytes(std::string_view bytes) {
  Header header;
  if (bytes.size() >= sizeof header) std::memcpy(&header, bytes.data(), sizeof header);
  if (bytes.size() < sizeof header || header.descriptionBytes > bytes.size() - sizeof header)
    throw Error(ResultCode::kRemoteError, "a rank described its host in {} bytes, of which {} are XML",
                bytes.size(), header.descriptionBytes);
  bytes.remove_prefix(sizeof header);
  return {header.key, std::string(bytes.substr(0, header.descriptionBytes)),
          std::string(bytes.substr(header.descriptionBytes))};
}

std::uint64_t searchKey(const Settings& settings) {
  std::string text;
  for (const SettingSpec& spec : settingSpecs())
    if (settings.isSet(spec.id) && spec.kind != SettingKind::kSecret)
      text += fmt::format("{}={}\n", spec.name, settings.text(spec.id));
  std::uint8_t digest[16];
  hash(digest, sizeof digest, text.data(), text.size());
  std::uint64_t key = 0;
  std::memcpy(&key, digest, sizeof key);
  return key;
}

}  // namespace xylem
