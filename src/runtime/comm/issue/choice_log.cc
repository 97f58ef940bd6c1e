#include "runtime/comm/issue/choice_log.h"

#include <algorithm>
#include <vector>

#include "planner/tuning/split.h"

namespace xylem::comm {
namespace {

// Programs whose operations all have other sizes must not fill the memory.
constexpr std::size_t kMaxKinds = 4096;

}  // namespace

ChoiceLog::ChoiceLog(std::shared_ptr<const Logger> log, int rank)
    : log_(std::move(log)),
      enabled_(rank == 0 && log_ != nullptr && log_->enabled(LogLevel::kInfo, Subsystem::kTuning)) {}

bool ChoiceLog::isNew(const CommOperation& operation, int collectives) {
  if (seen_.size() >= kMaxKinds) return false;
  const bool isNew =
      seen_.insert({operation.function, operation.type, operation.reduction.op, operation.count, collectives})
          .second;
  if (isNew && seen_.size() == kMaxKinds)
    log_->info(Subsystem::kTuning, "{} kinds and sizes of collectives: no further ones are logged",
               kMaxKinds);
  return isNew;
}

void ChoiceLog::write(std::span<const CommOperation> operations, const Scheduling& scheduling) {
  const auto collectives =
      static_cast<int>(std::count_if(operations.begin(), operations.end(), isBusyCollective));
  std::vector<tuning::SplitTask> tasks;
  std::vector<ChosenAlgorithm> chosen;
  std::vector<char> wanted;
  for (const CommOperation& operation : operations) {
    if (!isBusyCollective(operation)) continue;
    const bool isNew = this->isNew(operation, collectives);
    if (isExchange(operation, collectives, scheduling)) {
      if (isNew)
        log_->info(Subsystem::kTuning,
                   "{}: {} Bytes -> one exchange through the memory of the host, without algorithm and "
                   "channels",
                   name(operation.function), operation.count * elementBytes(operation.type));
      continue;
    }
    // All operations of a group decide together which channels each of them gets.
    chosen.push_back(scheduling.choices.of(operation, collectives));
    tasks.push_back(taskOf(operation, chosen.back()));
    wanted.push_back(isNew ? 1 : 0);
  }
  if (std::count(wanted.begin(), wanted.end(), 1) == 0) return;
  for (const tuning::Split& split : tuning::splitOverChannels(scheduling.choices.model(), tasks)) {
    if (wanted[split.task] == 0) continue;
    LogLine line = tuning::splitLine(tasks[split.task], split);
    line.text += fmt::format(", predicted {:.1f} us", chosen[split.task].time);
    log_->write(line);
  }
}

}  // namespace xylem::comm
