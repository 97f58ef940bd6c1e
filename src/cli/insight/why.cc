// xylem why: the reasons of a plan.
#include "insight/why/why.h"

#include <fmt/format.h>

#include <memory>

#include "cli/commands.h"
#include "cli/job_input.h"
#include "cli/machine_input.h"
#include "cli/progress.h"
#include "cli/insight/why_text.h"
#include "core/error.h"
#include "insight/why/json.h"

namespace xylem::cli {
namespace {

struct WhyArguments {
  JobInput job;
  std::vector<std::string> question;
  bool json = false;
};

constexpr const char* kWhyExamples =
    R"(GPUs are gpu3 (rank 3 of the job), dev3 or a bus id; NICs nic1, mlx5_1 or a bus id.

Examples:
  xylem why dgxh100.xml gdr gpu3 nic1           is GPU Direct RDMA allowed, and what decides
  xylem why a40x8.xml p2p gpu0 gpu5             what two GPUs use to reach each other
  xylem why dgxh100.xml path gpu0 nic5          each link, and which one limits
  xylem why dgx1v.xml channels ring             why so many channels and no more
  xylem why dgxh100.xml --nodes 2 count         how the job's number of channels came about
  xylem why dgxh100.xml --nodes 4 algo all_reduce 1M
                                                every algorithm and protocol with its time
  xylem why dgxh100.xml --nodes 2 nic gpu4      which NICs a GPU uses, by whose proxy
  xylem why dgxh100.xml --nodes 2 rank 3        what NCCL's "Trees [0] ..." line says
  NCCL_NET_GDR_LEVEL=PIX xylem why dgxh100.xml gdr gpu3 nic1
                                                the same under a setting
docs/why.md answers common questions with it.)";

std::string questionsText() {
  std::string text = "Questions:\n";
  for (const QuestionKind& kind : questionKinds()) {
    const std::string form = fmt::format("{} {}", kind.name, kind.arguments);
    text += form.size() < 22 ? fmt::format("  {:<22}{}\n", form, kind.help)
                             : fmt::format("  {}\n  {:<22}{}\n", form, "", kind.help);
  }
  return text + "\n";
}

int runWhy(WhyArguments options) {
  // With --host there is no FILE: its place holds the first word of the question.
  if (!options.job.hosts.empty() && !options.job.file.empty()) {
    options.question.insert(options.question.begin(), options.job.file);
    options.job.file.clear();
  }
  const Settings settings = readSettings();
  const PlanRequest request = readJob(options.job, settings);
  const Answer answer = [&] {
    const Progress progress(fmt::format("planning {}", jobName(options.job)));
    return Inquiry(request, settings).ask(options.question);
  }();
  writeOut(options.json ? answerJson(answer) : answerText(answer, terminalOf(stdout)));
  return kOk;
}

}  // namespace

void addWhy(CommandLine& line) {
  const auto options = std::make_shared<WhyArguments>();
  Command command = line.add("why", "say why a plan is as it is: GDR, P2P, NICs, channels, ...");
  addJobOptions(command, options->job);
  Option file = command.get("FILE");
  Option hosts = command.get("--host");
  hosts.mayStandWith(file);
  hosts.takesOne();  // what follows is the question
  command.option("QUESTION", options->question, "what to explain, see below");
  command.flag("--json", options->json, "print JSON");
  command.footer(questionsText() + kWhyExamples);
  command.action([options] { return runWhy(*options); });
}

}  // namespace xylem::cli
