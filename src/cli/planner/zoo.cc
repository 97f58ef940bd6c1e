// xylem zoo: the machines that Xylem brings along.
#include "cli/zoo.h"

#include <memory>
#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "cli/table.h"
#include "core/error.h"

namespace xylem::cli {
namespace {

struct ZooArguments {
  std::string name;
  bool json = false;
};

constexpr const char* kZooExamples = R"(Examples:
  xylem zoo                     every machine, and what it is
  xylem plan dgxh100            any command takes a machine of the zoo by its name, from any folder
  cp $(xylem zoo dgxh100) .     its file, to change it
  xylem zoo --json              for programs: names, descriptions, files; of one machine with its name)";

int runZoo(const ZooArguments& options) {
  std::vector<ZooMachine> machines = zooMachines();
  if (!options.name.empty()) {
    const std::string known = zooFile(options.name);
    const std::string file = known.empty() ? machineFile(options.name) : known;
    if (!options.json) {
      writeOut(file + '\n');
      return kOk;
    }
    std::erase_if(machines, [&](const ZooMachine& machine) { return machine.file != file; });
    if (machines.empty()) machines.push_back({options.name, "", file});
  }
  if (machines.empty())
    throw Error(
        ResultCode::kSystemError,
        "the machines are not installed: neither share/xylem/topologies nor topologies is near the command");
  if (options.json) {
    nlohmann::ordered_json list = nlohmann::ordered_json::array();
    for (const ZooMachine& machine : machines)
      list.push_back({{"name", machine.name}, {"what", machine.what}, {"file", machine.file}});
    writeJson({{"format", "xylem-zoo-1"}, {"machines", std::move(list)}});
    return kOk;
  }
  Table table({{"name"}, {"what it is"}});
  for (const ZooMachine& machine : machines) table.add({{machine.name, Style::kBold}, {machine.what}});
  writeOut(table.text(terminalOf(stdout)));
  return kOk;
}

}  // namespace

void addZoo(CommandLine& line) {
  const auto options = std::make_shared<ZooArguments>();
  Command command =
      line.add("zoo", "list the machines that come with Xylem, whose names every command takes");
  command.option("NAME", options->name, "print the file of this machine");
  command.flag("--json", options->json, "print JSON, in the format xylem-zoo-1");
  command.footer(kZooExamples);
  command.action([options] { return runZoo(*options); });
}

}  // namespace xylem::cli
