#include "runtime/comm/issue/profile.h"

#include <algorithm>

namespace xylem::comm {
namespace {

void begin(plugins::ProfiledQueues& queues, const collectives::ProgramWork& program,
           plugins::ProfiledPart part) {
  const collectives::ProgramSteps steps = collectives::countSteps(program);
  const auto beginAll = [&](auto ends, const auto& counts) {
    for (std::size_t i = 0; i < ends.size(); ++i) {
      if (ends[i] == nullptr) continue;
      part.steps = counts[i];
      part.stepBytes = std::min(program.mostBytes, ends[i]->stepBytes(program.protocol));
      queues.begin(*ends[i], part);
    }
  };
  beginAll(program.to, steps.to);
  beginAll(program.from, steps.from);
}

template <typename End>
void begin(plugins::ProfiledQueues& queues, End* end, const collectives::TransferWork& work,
           plugins::ProfiledPart part) {
  if (end == nullptr) return;
  part.stepBytes = end->stepBytes(work.protocol);
  part.steps = static_cast<int>((work.bytes + part.stepBytes - 1) / part.stepBytes);
  queues.begin(*end, part);
}

}  // namespace

void QueueProfile::started(const WorkItem& item) {
  const plugins::ProfiledPart part{.call = item.event, .channel = item.channel};
  if (const auto* programs = std::get_if<ProgramPath>(&item.path))
    for (const collectives::ProgramWork& program : programs->all()) begin(queues_, program, part);
  if (const auto* transfer = std::get_if<TransferPath>(&item.path)) {
    begin(queues_, transfer->work.to, transfer->work, part);
    begin(queues_, transfer->work.from, transfer->work, part);
  }
}

void QueueProfile::ended(const WorkItem& item) {
  if (const auto* transfer = std::get_if<TransferPath>(&item.path))
    if (transfer->work.from != nullptr) queues_.read(*transfer->work.from);
  if (const auto* programs = std::get_if<ProgramPath>(&item.path))
    for (const collectives::ProgramWork& program : programs->all())
      for (transport::RecvEnd* from : program.from)
        if (from != nullptr) queues_.read(*from);
}

}  // namespace xylem::comm
