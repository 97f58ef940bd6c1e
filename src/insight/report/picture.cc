#include "insight/report/picture.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/error.h"
#include "insight/report/host_picture.h"
#include "insight/report/job_picture.h"
#include "insight/report/tuning_curves.h"
#include "insight/why/names.h"
#include "insight/why/why.h"

namespace xylem {
namespace {

// Of GPUs that are asked about one by one.
constexpr int kMostGpusAsked = 8;

std::string counted(int count, const char* what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

std::string summaryOf(const Plan& plan) {
  const Connections& c = plan.connections;
  return fmt::format("{} on {}, {}", counted(c.job.ranks(), "rank"), counted(c.job.hosts(), "host"),
                     counted(c.nChannels(), "channel"));
}

// What people ask about a plan, in the order in which one answer leads to the next.
std::vector<std::vector<std::string>> questionsTo(const Plan& plan) {
  std::vector<std::vector<std::string>> questions = {{"count"}, {"channels", "ring"}, {"channels", "tree"}};
  const HostPlan& host = plan.hostOf(0);
  if (host.graphs[GraphKind::kCollnetChain].nChannels > 0) questions.push_back({"channels", "chain"});
  if (host.graphs[GraphKind::kCollnetDirect].nChannels > 0) questions.push_back({"channels", "direct"});
  if (host.graphs[GraphKind::kNvls].nChannels > 0) questions.push_back({"channels", "nvls"});
  for (const char* size : {"8", "64K", "1M", "64M", "1G"}) questions.push_back({"algo", "all_reduce", size});
  if (host.system().count(NodeType::kNet) > 0)
    for (int local = 0; local < std::min(plan.job().shapeOf(0).ranks(), kMostGpusAsked); ++local)
      questions.push_back({"nic", fmt::format("gpu{}", plan.job().rank(0, local))});
  questions.push_back({"rank", "0"});
  return questions;
}

}  // namespace

Picture drawPicture(const Inquiry& inquiry, const PictureOptions& options) {
  const Plan& plan = inquiry.plan();
  Picture picture;
  picture.title = options.title;
  picture.summary = summaryOf(plan);
  picture.settings = plan.settings;
  picture.optimality = options.optimality;
  for (int view = 0; view < static_cast<int>(plan.job().views.size()); ++view)
    for (int rank = 0; rank < plan.job().ranks(); ++rank) {
      if (plan.job().viewOf(rank) != view) continue;
      picture.hosts.push_back(hostPicture(plan, rank, options));
      break;
    }
  picture.job = jobPicture(plan);
  picture.sizes = curveSizes();
  picture.tuning = tuningCurves(plan.tuning[static_cast<std::size_t>(plan.job().viewOf(0))], picture.sizes);
  if (!options.answers) return picture;
  for (const auto& question : questionsTo(plan)) picture.answers.push_back(inquiry.ask(question));
  return picture;
}

}  // namespace xylem
