#include "cli/insight/order_hosts.h"

#include <fmt/format.h>

#include <fstream>

#include "core/error.h"
#include "insight/fabric/name_ranges.h"

namespace xylem::cli {

std::vector<std::string> readHostfile(const std::string& path) {
  std::ifstream file(path);
  if (!file.is_open())
    throw InputError({"--hostfile", 0}, "`" + path + "`", "a readable file with a host per line");
  std::vector<std::string> hosts;
  for (std::string line; std::getline(file, line);) {
    constexpr const char* kBlank = " \t\r";
    line.resize(std::min(line.find('#'), line.size()));
    const std::size_t begin = line.find_first_not_of(kBlank);
    if (begin == std::string::npos) continue;
    std::string word = line.substr(begin, line.find_first_of(kBlank, begin) - begin);
    if (const std::size_t colon = word.rfind(':');
        colon != std::string::npos && word.find_first_not_of("0123456789", colon + 1) == std::string::npos)
      word.resize(colon);
    hosts.push_back(std::move(word));
  }
  return hosts;
}

std::vector<std::string> hostNames(const HostNameOptions& options, const Fabric& fabric, int hosts) {
  std::vector<std::string> names;
  SourceLocation where = {fabric.file, 0};
  if (!options.list.empty()) {
    where = {"--hosts", 0};
    names = expandNames(options.list, where);
  } else if (!options.hostfile.empty()) {
    where = {options.hostfile, 0};
    names = readHostfile(options.hostfile);
  } else {
    for (const FabricHost& host : fabric.hosts) names.push_back(host.name);
  }
  if (names.size() != static_cast<std::size_t>(hosts))
    throw InputError(
        where, fmt::format("{} hosts", names.size()),
        fmt::format("{}, as many as the job has; --hosts or --hostfile names them, in the order of ranks",
                    hosts));
  return names;
}

std::string hostfileText(const std::vector<std::string>& hosts, const std::vector<int>& ranks) {
  std::string text;
  for (std::size_t i = 0; i < hosts.size(); ++i) text += fmt::format("{} slots={}\n", hosts[i], ranks[i]);
  return text;
}

}  // namespace xylem::cli
