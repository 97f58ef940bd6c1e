#include "cli/job_input.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <sstream>

#include "cli/machine_input.h"
#include "cli/progress.h"
#include "cli/terminal.h"
#include "cli/version_input.h"
#include "core/error.h"
#include "core/text_file.h"
#include "insight/preflight/preflight.h"
#include "planner/plan/assumptions.h"
#include "planner/topology/link_override.h"

namespace xylem::cli {
namespace {

// Refuses nonsense. The planner has a limit on ranks of its own.
constexpr int kMaxNodes = 1 << 24;
constexpr const char* kHostForm = "FILE[@GPU,GPU...][:COUNT], as dgxh100.xml@0,1,2,3:4";

[[noreturn]] void refuseHost(const std::string& text, const std::string& found) {
  throw InputError({"--host " + text, 0}, found, kHostForm);
}

int numberIn(const std::string& host, std::string_view text, int minimum) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < minimum || value > kMaxNodes)
    refuseHost(host, fmt::format("`{}`", text));
  return value;
}

// Splits off the text after the last `mark` if it only has allowed characters: file names may contain the
// mark, too.
std::string takeSuffix(std::string& text, char mark, std::string_view allowed) {
  const std::size_t at = text.rfind(mark);
  if (at == std::string::npos || at == 0) return "";
  const std::string suffix = text.substr(at + 1);
  if (suffix.empty() || suffix.find_first_not_of(allowed) != std::string::npos) return "";
  text.resize(at);
  return suffix;
}

constexpr std::size_t kMaxPlacementBytes = std::size_t{256} << 20;

// Reads a placement file: the host of each rank, one number per line, rank after rank, hosts counted from 0.
// The rest of a line after # is a comment. Throws InputError with file and line.
std::vector<int> readPlacement(const std::string& path, int hosts) {
  std::istringstream file(readFile(path, "block, round-robin, or a file with the host of each rank (--ranks)",
                                   kMaxPlacementBytes));
  std::vector<int> hostOfRank;
  std::string line;
  for (int number = 1; std::getline(file, line); ++number) {
    line.resize(std::min(line.find('#'), line.size()));
    const std::size_t begin = line.find_first_not_of(" \t\r");
    if (begin == std::string::npos) continue;
    const std::size_t end = line.find_last_not_of(" \t\r") + 1;
    const std::string word = line.substr(begin, end - begin);
    int host = -1;
    const auto [stop, error] = std::from_chars(word.data(), word.data() + word.size(), host);
    if (error != std::errc() || stop != word.data() + word.size() || host < 0 || host >= hosts)
      throw InputError(
          {path, number}, "`" + word + "`",
          fmt::format("the host of rank {}, a number from 0 to {}", hostOfRank.size(), hosts - 1));
    hostOfRank.push_back(host);
  }
  if (hostOfRank.empty())
    throw InputError({path, 0}, "no ranks", "the host of each rank, one number per line");
  return hostOfRank;
}

int hostsOf(const plan::PlanRequest& request) {
  int hosts = 0;
  for (const plan::HostRequest& host : request.hosts) hosts += host.count;
  return hosts;
}

constexpr const char* kTwoHosts = "2 hosts, since a job on one uses no NICs (--nodes 1 asks about one)";
bool holdsNet(const topology::Document& document, topology::ElementId element) {
  const std::vector<topology::ElementId>& children = document[element].children;
  return document[element].name == "net" ||
         std::any_of(children.begin(), children.end(),
                     [&](topology::ElementId child) { return holdsNet(document, child); });
}

// Warns of variables that only detection reads: they do not change a machine that comes from a file.
void warnOfDetectionOnly(const Settings& settings) {
  for (Setting setting :
       {Setting::kTopoFile, Setting::kIbMergeVfs, Setting::kIbMergeNics, Setting::kIbDataDirect,
        Setting::kIbQueryPortSpeed, Setting::kNetMergeLevel, Setting::kNetForceMerge})
    if (settings.isSet(setting))
      warn(fmt::format("{} has no effect on machines from files: it steers what is detected (xylem detect)",
                       spec(setting).name));
}

}  // namespace

HostArgument parseHost(const std::string& text) {
  HostArgument host{text};
  if (const std::string count = takeSuffix(host.file, ':', "-0123456789"); !count.empty())
    host.count = numberIn(text, count, 1);
  const std::string gpus = takeSuffix(host.file, '@', "0123456789,");
  for (std::size_t begin = 0; begin < gpus.size();) {
    const std::size_t comma = std::min(gpus.find(',', begin), gpus.size());
    host.gpus.push_back(numberIn(text, std::string_view(gpus).substr(begin, comma - begin), 0));
    begin = comma + 1;
    if (begin == gpus.size()) refuseHost(text, "a comma at the end");
  }
  // The rest of a mistyped suffix: report it as such, not as a file that is missing.
  if (host.file.find_first_of("@:") != std::string::npos && !std::filesystem::exists(host.file))
    refuseHost(text, fmt::format("`{}`, which is no file", host.file));
  return host;
}

namespace {

struct JobOptions {
  Option file, nodes;
};

JobOptions addHomogeneousOptions(Command& command, JobInput& job) {
  const Option file = command.option("FILE", job.file, "topology XML of a host; - for this machine");
  const Option nodes = command
                           .option("-n,--nodes", job.nodes,
                                   "number of identical hosts (default 2 for a file with NICs, else 1)")
                           .value("N")
                           .within(1, kMaxNodes);
  return {file, nodes};
}

void addRankOptions(Command& command, JobInput& job) {
  command
      .option("--ranks", job.ranks,
              "how ranks are placed: block (host after host), round-robin, or a file with the host of each "
              "rank, one number per line")
      .value("HOW");
  addVersionOption(command, job.nccl);
  command
      .option("--link", job.links,
              "a bandwidth in GB/s in place of NCCL's rule: CPU-CPU=32, or of a device by its bus id")
      .value("LINK=GB/s")
      .repeats()
      .takesOne();
  command.flag("--fuse", job.fuse, "describe each host as its ranks would detect it");
  addOfferOptions(command, job);
  command
      .option("--rules", job.rules,
              "nccl: each kind of rank decides alone what NCCL does not exchange; xylem: ranks agree on "
              "all of it, as Xylem's own do")
      .value("RULES")
      .oneOf({"nccl", "xylem"});
}

}  // namespace

void addOfferOptions(Command& command, JobInput& job) {
  const Option nvls = command.flag("--nvls", job.nvls,
                                   "the driver offers NVLink multicast (NVLS); assumed for machines with an "
                                   "NVSwitch from compute capability 9.0 on");
  command.flag("--no-nvls", job.noNvls, "the driver does not offer it").excludes(nvls);
  command.flag("--collnet", job.collnet, "the network computes collectives (CollNet)");
}

void addJobOptions(Command& command, JobInput& job) {
  const JobOptions identical = addHomogeneousOptions(command, job);
  command
      .option("--host", job.hosts,
              "hosts of a mixed job, one kind each time: GPUs by device number in rank order after @, how "
              "many such hosts after :")
      .value("FILE[@GPU,...][:COUNT]")
      .repeats()
      .excludes(identical.file)
      .excludes(identical.nodes);
  addRankOptions(command, job);
}

void addMachineOptions(Command& command, JobInput& job) {
  addHomogeneousOptions(command, job).file.required();
  addRankOptions(command, job);
}

int defaultHosts(const std::string& file, const topology::Document& document) {
  return !isThisMachine(file) && holdsNet(document, document.root()) ? 2 : 1;
}

JobRequest readJob(const JobInput& job, const Settings& settings) {
  if (job.file.empty() && job.hosts.empty())
    throw InputError({"arguments", 0}, "no host", "a topology FILE, - for this machine, or --host");
  JobRequest read;
  plan::PlanRequest& request = read.plan;
  request.nccl = rulesNamed(job.nccl, settings);
  request.fuse = job.fuse;
  request.rules = job.rules == "xylem" ? connect::Rules::kXylem : connect::Rules::kNccl;
  request.hostsListed = !job.hosts.empty();
  plan::Remarks remarks;
  std::map<std::string, std::shared_ptr<const topology::Document>>
      known;  // by file: hosts of one file share a document
  const auto add = [&](const HostArgument& host) {
    auto& document = known[host.file];
    if (!document) {
      topology::Document machine = readMachine(host.file, settings);
      if (!job.allNets && !isThisMachine(host.file))
        machine = plan::nicsInUse(std::move(machine), settings, remarks);
      for (const std::string& link : job.links) topology::overrideLink(machine, link, {"--link", 0});
      plan::remarkOverrides(machine, request.nccl, remarks);
      document = std::make_shared<const topology::Document>(std::move(machine));
    }
    request.hosts.push_back({document, host.gpus, host.count});
  };
  if (!job.file.empty()) {
    add({job.file, {}, job.nodes});
    int& count = request.hosts.front().count;
    if (count == 0) {
      count = defaultHosts(job.file, *request.hosts.front().topology);
      if (count > 1) remarks.assumptions.emplace_back(kTwoHosts);
    }
  }
  for (const std::string& host : job.hosts) add(parseHost(host));
  if (std::none_of(known.begin(), known.end(), [](const auto& entry) { return isThisMachine(entry.first); }))
    warnOfDetectionOnly(settings);
  std::optional<bool> nvls;
  if (job.nvls || job.noNvls) nvls = job.nvls;
  plan::addOffers(request, {nvls, job.collnet}, settings, remarks);
  if (request.offered.nvls && !nvls) remarks.assumptions.back() += " (--no-nvls plans without it)";
  plan::addGraphFile(request, settings, remarks);
  for (const std::string& warning : remarks.warnings) warn(warning);
  read.assumptions = std::move(remarks.assumptions);
  if (job.ranks == "round-robin") {
    request.placement = plan::Placement::kRoundRobin;
  } else if (job.ranks != "block") {
    request.hostOfRank = readPlacement(job.ranks, hostsOf(request));
  }
  return read;
}

std::string assumedText(const std::vector<std::string>& assumptions, const Terminal& screen) {
  std::string text;
  for (const std::string& assumption : assumptions)
    text += screen.paint(Style::kDim, "assumed: " + assumption) + '\n';
  return text;
}

std::string conditionsText(const plan::Plan& plan, const std::vector<std::string>& assumptions,
                           const Terminal& screen) {
  std::string text =
      screen.paint(Style::kDim, "planned as NCCL " + rules::versionText(plan.nccl->version)) + '\n';
  text += assumedText(assumptions, screen);
  for (const auto& [name, value] : plan.settings) text += fmt::format("set: {}={}\n", name, value);
  return text;
}

void warnOfHang(const plan::Plan& plan) {
  if (plan.hostPlans.size() < 2) return;
  const preflight::Preflight result = preflight::preflight(plan);
  if (result.disagrees())
    warn(
        fmt::format("this job would hang under NCCL {}: ranks of different hosts decide differently (`xylem "
                    "preflight` says where, why and what avoids it)",
                    rules::versionText(plan.nccl->version)));
}

void warnOfHostsApart(const plan::Plan& plan) {
  if (const auto apart = preflight::networksApart(plan))
    warn(fmt::format("this job cannot connect its hosts under NCCL: some use {}, others {} (xylem preflight)",
                     preflight::name(apart->first), preflight::name(apart->second)));
  const auto lacksNics = [](const auto& host) { return host->system().count(topology::NodeType::kNet) == 0; };
  if (plan.job().hosts() > 1 && std::any_of(plan.hostPlans.begin(), plan.hostPlans.end(), lacksNics))
    warn("a host has no NIC for the job: its ranks cannot connect to those of other hosts (xylem preflight)");
}

PlannedJob planForRank(const JobInput& job, const Settings& settings, int rank) {
  JobRequest request = readJob(job, settings);
  PlannedJob planned{[&] {
                       const Progress progress(fmt::format("planning {}", jobName(job)));
                       return plan::planJob(request.plan, settings);
                     }(),
                     std::move(request.assumptions)};
  const int ranks = planned.plan.job().ranks();
  if (rank >= ranks)
    throw InputError({"--rank", 0}, std::to_string(rank),
                     fmt::format("a rank of the job, 0 to {}", ranks - 1));
  return planned;
}

std::string jobName(const JobInput& job) {
  if (job.hosts.empty()) return machineName(job.file);
  std::set<std::string> kinds;
  for (const std::string& host : job.hosts) {
    const HostArgument argument = parseHost(host);
    kinds.insert(fmt::format("{}@{}", argument.file, fmt::join(argument.gpus, ",")));
  }
  if (kinds.size() == 1) return parseHost(job.hosts.front()).file;
  return fmt::format("{} kinds of hosts", kinds.size());
}

}  // namespace xylem::cli
