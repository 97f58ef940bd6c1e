// xylem draw: a plan as an HTML page, or the machine alone as a picture.
#include <fmt/format.h>
#include <sodium/crypto_hash_sha256.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <memory>
#include <set>
#include <sstream>

#include "cli/bound_view.h"
#include "cli/commands.h"
#include "cli/host_view.h"
#include "cli/job_input.h"
#include "cli/machine_input.h"
#include "cli/machine_text.h"
#include "cli/progress.h"
#include "cli/terminal.h"
#include "cli/version_input.h"
#include "cli/zoo.h"
#include "core/error.h"
#include "core/text_file.h"
#include "insight/report/machine_drawing.h"
#include "insight/report/page.h"
#include "insight/report/picture_json.h"
#include "insight/upgrade/upgrade.h"
#include "insight/why/why.h"
#include "planner/plan/json_value.h"

namespace xylem::cli {
namespace {

struct DrawArguments {
  JobInput job;
  std::string command, version;  // for the page
  std::string output;
  std::string from;  // the version to compare with; empty: none
  bool json = false;
};

constexpr const char* kDrawExamples = R"(Examples:
  xylem draw dgxh100.xml -o report.html           the machine, what its channels take of each link, times by size
  xylem draw dgxh100.xml --nodes 2 -o report.html
                                                  a job of two such hosts: with NICs, rings and trees over hosts
  xylem draw dgxh100.xml -o machine.svg           the machine alone, as a picture
  xylem draw dgxh100.xml -o machine.dot           as a graph for Graphviz: dot -Tpdf machine.dot
  xylem draw gb200x4 --from 2.27.7 -o upgrade.html
                                                  with what NCCL 2.27.7 plans otherwise, and by which changes
  xylem draw - -o here.html                       this machine
  xylem draw dgxh100.xml --nodes 2 --json         the facts that the page shows, for programs
  NCCL_NET_GDR_LEVEL=SYS xylem draw a40x8-pcie.xml --nodes 2 -o sys.html
                                                  what a setting changes

The page is one file without links to others: it can be mailed or put into a ticket. docs/report.md says how to read it.)";

enum class Form { kPage, kSvg, kDot, kFacts };

Form formOf(const DrawArguments& options) {
  const bool named = !options.output.empty() && options.output != "-";
  if (options.json && named && !options.output.ends_with(".json"))
    throw InputError({"--output", 0}, "`" + options.output + "` with --json", "a name that ends in .json");
  if (options.json || options.output.ends_with(".json")) return Form::kFacts;
  if (options.output.empty() || options.output == "-" || options.output.ends_with(".html") ||
      options.output.ends_with(".htm"))
    return Form::kPage;
  if (options.output.ends_with(".svg")) return Form::kSvg;
  if (options.output.ends_with(".dot") || options.output.ends_with(".gv")) return Form::kDot;
  throw InputError({"--output", 0}, "`" + options.output + "`",
                   "a name that ends in .html, .svg, .dot or .json");
}

std::vector<report::Optimality> optimalityOf(const plan::Plan& plan) {
  std::vector<report::Optimality> all;
  const std::vector<HostKind> kinds = hostKinds(plan);
  for (std::size_t view = 0; view < plan.hostPlans.size(); ++view) {
    const plan::HostPlan& host = *plan.hostPlans[view];
    for (const optimum::PlanBound& bound : optimum::boundsOf(plan, host, optimum::Effort::kQuick)) {
      std::string what = plural(bound.kind);
      if (plan.hostPlans.size() > 1) what += " of " + kinds[view].name;
      all.push_back({std::move(what), static_cast<float>(bound.achieved),
                     static_cast<float>(bound.bound.bandwidth), limitText(bound.bound, host.system())});
    }
  }
  return all;
}

// In what the version that is planned for differs from the one that the user names.
report::VersionChange changeFrom(const DrawArguments& options, const plan::PlanRequest& request,
                                 const plan::Plan& plan, const Settings& settings) {
  if (options.from.empty()) return {};
  const rules::Version from = rulesNamed(options.from, settings, "--from")->version;
  const rules::Version to = plan.nccl->version;
  if (from >= to) throw InputError({"--from", 0}, options.from, "a version before " + rules::versionText(to));
  const upgrade::Upgrade upgrade = upgrade::upgradeOf(request, settings, from, to);
  report::VersionChange change{rules::versionText(from), rules::versionText(to), {}, {}, {}};
  change.error = upgrade.errorAfter.empty() ? upgrade.errorBefore : upgrade.errorAfter;
  for (const rules::Change* cause : upgrade.causes) {
    change.causes.push_back({cause->name, rules::versionText(cause->since), cause->summary, cause->back, {}});
    for (const upgrade::PartCauses& part : upgrade.parts)
      if (std::find(part.causes.begin(), part.causes.end(), cause) != part.causes.end())
        change.causes.back().parts.push_back(part.part);
  }
  for (const upgrade::SizeTimes& time : upgrade.times)
    change.times.push_back({time.bytes, time.before, time.after});
  return change;
}

// The file's name without its folder.
std::string titleOf(const JobInput& job) {
  const std::string name = jobName(job);
  return name.substr(name.rfind('/') + 1);
}

// The words as a shell reads them back.
std::string quoted(const std::vector<std::string>& words) {
  std::string text = "xylem";
  for (const std::string& word : words) {
    constexpr std::string_view kPlain =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=./,:@%";
    text += ' ';
    if (!word.empty() && word.find_first_not_of(kPlain) == std::string::npos) {
      text += word;
      continue;
    }
    text += '\'';
    for (const char c : word) text += c == '\'' ? std::string("'\\''") : std::string(1, c);
    text += '\'';
  }
  return text;
}

// SOURCE_DATE_EPOCH gives pages that are made again the same date.
std::string dateText() {
  const char* fixed = std::getenv("SOURCE_DATE_EPOCH");
  const std::time_t now = fixed != nullptr ? std::strtoll(fixed, nullptr, 10) : std::time(nullptr);
  std::tm parts{};
  gmtime_r(&now, &parts);
  return fmt::format("{:04}-{:02}-{:02} {:02}:{:02} UTC", parts.tm_year + 1900, parts.tm_mon + 1,
                     parts.tm_mday, parts.tm_hour, parts.tm_min);
}

report::Origin::File fileOf(const std::string& name) {
  std::ifstream in(name, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  const std::string content = text.str();
  std::array<unsigned char, crypto_hash_sha256_BYTES> hash{};
  crypto_hash_sha256(hash.data(), reinterpret_cast<const unsigned char*>(content.data()), content.size());
  std::string digits;
  for (const unsigned char byte : hash) digits += fmt::format("{:02x}", byte);
  return {name, digits};
}

// `planned as NCCL 2.30.7`.
std::string rulesText(const JobInput& job, const Settings& settings) {
  return fmt::format("planned as NCCL {}{}", rules::versionText(versionNamed(job.nccl, settings)),
                     job.rules == "nccl" ? "" : ", rules " + job.rules);
}

report::Origin originOf(const DrawArguments& options, const Settings& settings) {
  report::Origin origin{options.command,
                        fmt::format("{}, {}", options.version, rulesText(options.job, settings)),
                        dateText(),
                        {},
                        {},
                        {}};
  std::set<std::string> names;
  if (!options.job.file.empty()) names.insert(options.job.file);
  for (const std::string& host : options.job.hosts) names.insert(parseHost(host).file);
  for (const std::string& name : names)
    if (!isThisMachine(name)) origin.files.push_back(fileOf(machineFile(name)));
  if (settings.isSet(Setting::kGraphFile)) origin.files.push_back(fileOf(settings.text(Setting::kGraphFile)));
  return origin;
}

std::string textOf(const report::Picture& picture, Form form) {
  if (form == Form::kFacts) return plan::jsonText(report::toJson(picture), -1) + '\n';
  if (form == Form::kPage) return report::pageHtml(picture);
  // A picture shows one host: the first kind, if the job has several.
  const report::HostPicture& host = picture.hosts.front();
  return form == Form::kDot ? report::machineDot(host)
                            : report::machineSvg(host, report::layOut(host), {.standalone = true});
}

int runDraw(const DrawArguments& options) {
  const Form form = formOf(options);
  if (!options.from.empty() && (form == Form::kSvg || form == Form::kDot))
    throw InputError({"--from", 0}, "a comparison for " + options.output + ", which shows the machine alone",
                     "--from with a page (.html) or its facts (.json)");
  const bool toStdout = options.output.empty() || options.output == "-";
  if (form == Form::kPage && toStdout && terminalOf(stdout).interactive)
    throw InputError({"--output", 0}, "no file for the page",
                     "-o report.html, or standard output that is no terminal");
  const Settings settings = readSettings();
  const JobRequest request = readJob(options.job, settings);
  const std::string text = [&] {
    Progress progress(fmt::format("planning {}", jobName(options.job)));
    const why::Inquiry inquiry(request.plan, settings);
    warnOfHostsApart(inquiry.plan());
    warnOfHang(inquiry.plan());
    report::Origin origin = originOf(options, settings);
    origin.assumptions = request.assumptions;
    origin.warnings = warningsSoFar();
    if (const std::size_t kinds = inquiry.plan().hostPlans.size();
        kinds > 1 && (form == Form::kSvg || form == Form::kDot))
      warn(fmt::format("{} shows the first of {} kinds of hosts; a page (.html) shows all", options.output,
                       kinds));
    progress.say(fmt::format("drawing {}", jobName(options.job)));
    const report::Picture picture = report::drawPicture(
        inquiry,
        {.title = titleOf(options.job),
         .describe = nodeDetail,
         .optimality = form == Form::kPage || form == Form::kFacts ? optimalityOf(inquiry.plan())
                                                                   : std::vector<report::Optimality>{},
         .upgrade = form == Form::kPage || form == Form::kFacts
                        ? changeFrom(options, request.plan, inquiry.plan(), settings)
                        : report::VersionChange{},
         .origin = std::move(origin),
         .answers = form == Form::kPage});
    return textOf(picture, form);
  }();
  if (toStdout)
    writeOut(text);
  else
    writeFile(options.output, text);
  return kOk;
}

}  // namespace

void addDraw(CommandLine& line) {
  const auto options = std::make_shared<DrawArguments>();
  Command command =
      line.add("draw", "draw a plan as a page: links and how full they are, rings, times, reasons");
  addJobOptions(command, options->job);
  command.option("-o,--output", options->output, "write to FILE: .html, .svg, .dot or .json says what")
      .value("FILE");
  command.option("--from", options->from, "an older version of NCCL to compare with: what it plans otherwise")
      .value("VERSION");
  command.flag("--json", options->json, "write the page's facts as JSON");
  command.footer(kDrawExamples);
  command.action([options, &line] {
    options->command = quoted(line.words());
    options->version = line.version();
    return runDraw(*options);
  });
}

}  // namespace xylem::cli
