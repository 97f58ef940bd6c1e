// xylem order: where a job's rings and trees meet in the fabric, and an order of hosts in which they do less.
#include <fmt/format.h>

#include <memory>
#include <optional>

#include "cli/commands.h"
#include "cli/job_input.h"
#include "cli/machine_input.h"
#include "cli/insight/order_hosts.h"
#include "cli/insight/order_json.h"
#include "cli/insight/order_text.h"
#include "cli/progress.h"
#include "core/text_file.h"
#include "insight/fabric/fabric_file.h"

namespace xylem::cli {
namespace {

constexpr int kMostLinks = 1 << 20;

struct OrderArguments {
  JobInput job;
  std::string fabric;
  HostNameOptions hosts;
  std::string writeHostfile, writeFabric;
  int seed = 1;
  int links = 4;
  bool json = false;
};

constexpr const char* kOrderExamples = R"(Examples:
  xylem order dgxh100.xml --nodes 4 --fabric fabric.txt
                                      all four hosts of the fabric, in its order
  xylem order dgxh100.xml --nodes 2 --fabric fabric.txt --hosts h0,h3
                                      two of them; h[0-3] is h0,h1,h2,h3
  xylem order dgxh100.xml --nodes 16 --fabric ib.txt --hostfile hosts --write-hostfile better
                                      a fabric as ibnetdiscover prints it, hosts as mpirun gets them
  xylem order --host dgxh100.xml:2 --host dgxa100.xml:2 --fabric fabric.txt
                                      hosts of two kinds
  xylem order dgxh100.xml --nodes 4 --fabric fabric.txt --json
                                      everything, in the format xylem-order-1

A fabric is described by lines such as
  switch leaf[0-1] spine[0-1]
  link   leaf[0-1] spine[0-1] 400Gb/s x2
  nic    h[0-1] mlx5_[0-7] leaf0 400Gb/s
  nic    h[2-3] mlx5_[0-7] leaf1 400Gb/s)";

int runOrder(const OrderArguments& options) {
  const Settings settings = readSettings();
  PlanRequest request = readJob(options.job, settings);
  request.decisions = false;
  std::vector<std::string> remarks;
  std::optional<Progress> progress(fmt::format("reading {}", options.fabric));
  const Fabric fabric = readFabric(options.fabric, &remarks);
  progress->say(fmt::format("planning {}", jobName(options.job)));
  const Plan plan = planJob(request, settings);
  progress->say("looking for an order of hosts");
  const HostOrder order = orderHosts({plan,
                                      fabric,
                                      hostNames(options.hosts, fabric, plan.job().hosts()),
                                      request.placement,
                                      !request.hostOfRank.empty(),
                                      {.seed = static_cast<std::uint64_t>(options.seed)}});
  progress.reset();
  for (const std::string& remark : remarks) warn(remark);
  const OrderReport report = {plan, fabric, order, jobName(options.job), options.links};
  if (!options.writeFabric.empty()) writeFile(options.writeFabric, fabricText(fabric));
  if (!options.writeHostfile.empty())
    writeFile(options.writeHostfile,
              hostfileText(namesInOrder(order, order.proposed), ranksInOrder(plan, order.proposed)));
  writeOut(options.json ? orderJson(report) : orderText(report, terminalOf(stdout)));
  return kOk;
}

}  // namespace

void addOrder(CommandLine& line) {
  const auto options = std::make_shared<OrderArguments>();
  Command command = line.add(
      "order",
      "which links of the fabric a job's rings and trees share, and an order of hosts that avoids it");
  addJobOptions(command, options->job);
  command
      .option("--fabric", options->fabric,
                   "the network between the hosts: switches, links and NICs, or what ibnetdiscover prints")
      .value("FILE")
      .required();
  Option hosts =
      command
          .option("--hosts", options->hosts.list,
                       "the job's hosts by their names in the fabric, in the order of ranks (default: all)")
          .value("A,B[0-7],...");
  command.option("--hostfile", options->hosts.hostfile, "the same from a file, one host per line")
      .value("FILE")
      .excludes(hosts);
  command
      .option("--write-hostfile", options->writeHostfile,
                   "write the proposed order to a file, as mpirun's --hostfile reads it")
      .value("OUT");
  command
      .option("--write-fabric", options->writeFabric,
                   "write the fabric to a file, as lines that people can change")
      .value("OUT");
  command.option("--links", options->links, "how many of the busiest links to show (default 4)")
      .value("N")
      .within(0, kMostLinks);
  command.option("--seed", options->seed, "which of many searches to do (default 1)")
      .value("N")
      .within(0, 1 << 30);
  command.flag("--json", options->json, "print JSON");
  command.footer(kOrderExamples);
  command.action([options] { return runOrder(*options); });
}

}  // namespace xylem::cli
