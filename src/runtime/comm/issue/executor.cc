#include "runtime/comm/issue/executor.h"

#include <cstring>

#include "runtime/comm/issue/mailboxes.h"

namespace xylem::comm {

using device::Progress;

namespace {

// For an exchange that cannot be declined.
Progress progressOf(collectives::DirectExchange::Outcome outcome) {
  using Outcome = collectives::DirectExchange::Outcome;
  if (outcome == Outcome::kDone) return Progress::kDone;
  return outcome == Outcome::kAdvanced ? Progress::kAdvanced : Progress::kWouldBlock;
}

}  // namespace

bool TransferPath::goOnConnecting() {
  if (!connection->advance()) return false;
  if (sends)
    work.to = &connection->sender(queue);
  else
    work.from = &connection->receiver(queue);
  return true;
}

// In checked mode. False while that is not known.
bool Executor::fitsThatOfPeer(const WorkItem& item, TransferPath& path) {
  return compareTransfer(*item.checked, path.work, path.connection->peer(), told_);
}

void Executor::readScalar(const WorkItem& item, collectives::Reduction& reduction) {
  if (item.scalarAddress != nullptr)
    std::memcpy(reduction.factor.element.data(), item.scalarAddress, item.scalarBytes);
}

void Executor::startPrograms(const WorkItem& item, ProgramPath& path) {
  if (scratch_.size() < path.scratchBytes) scratch_.resize(path.scratchBytes);
  for (std::size_t i = 0; i < path.all().size(); ++i) {
    collectives::ProgramWork& program = path.program[i];
    program.buffers.scratch = scratch_.data();
    readScalar(item, program.reduction);
    executors_[i].start(program);
    done_[i] = false;
  }
}

bool Executor::startExchange(const WorkItem& item, ExchangePath& path) {
  if (!path.mailboxes->advance()) return false;
  collectives::DirectExchange& exchange = path.mailboxes->exchange();
  if (path.batch == nullptr) {
    readScalar(item, path.work.reduction);
    if (exchange.starts() == path.starts) {
      exchange.startAgain(path.work.input, path.work.output);
    } else {
      exchange.start(path.work);
      path.starts = exchange.starts();
    }
    return true;
  }
  nextOfBatch_ = 0;
  together_ = exchange.startBatch(path.batch->works);
  if (!together_) startNextOfBatch(path);
  return true;
}

void Executor::startNextOfBatch(const ExchangePath& path) {
  path.mailboxes->exchange().start(path.batch->works[nextOfBatch_++]);
}

Progress Executor::stepPrograms(WorkItem& item, ProgramPath& path, ItemObserver* observer) {
  if (!started_) {
    if (isObserved(item, observer)) observer->started(item);
    startPrograms(item, path);
    started_ = true;
  }
  bool advanced = false, all = true;
  for (std::size_t i = 0; i < path.all().size(); ++i) {
    if (done_[i]) continue;
    const Progress progress = executors_[i].step();
    advanced = advanced || progress != Progress::kWouldBlock;
    done_[i] = progress == Progress::kDone;
    all = all && done_[i];
  }
  if (all) return end(item, observer);
  return advanced ? Progress::kAdvanced : Progress::kWouldBlock;
}

Progress Executor::stepExchange(WorkItem& item, ExchangePath& path, ItemObserver* observer) {
  if (!started_) {
    if (!startExchange(item, path)) return Progress::kWouldBlock;
    if (isObserved(item, observer)) observer->started(item);
    started_ = true;
  }
  const Progress progress =
      path.batch == nullptr ? progressOf(path.mailboxes->exchange().step()) : stepBatch(path);
  return progress == Progress::kDone ? end(item, observer) : progress;
}

// An exchange of a batch may be declined, by all ranks alike: then its collectives follow each other.
Progress Executor::stepBatch(ExchangePath& path) {
  using Outcome = collectives::DirectExchange::Outcome;
  for (bool advanced = false;;) switch (path.mailboxes->exchange().step()) {
      case Outcome::kDone:
        if (together_ || nextOfBatch_ == path.batch->works.size()) return Progress::kDone;
        advanced = true;
        startNextOfBatch(path);
        break;
      case Outcome::kAdvanced:
        return Progress::kAdvanced;
      case Outcome::kWouldBlock:
        return advanced ? Progress::kAdvanced : Progress::kWouldBlock;
      case Outcome::kDeclined:
        together_ = false;
        startNextOfBatch(path);
        break;
    }
}

int Executor::waitsFor(const WorkItem& item) const {
  if (const auto* exchange = std::get_if<ExchangePath>(&item.path))
    return started_ ? exchange->mailboxes->exchange().waitsFor() : exchange->mailboxes->waitsFor();
  if (const auto* transfer = std::get_if<TransferPath>(&item.path))
    return transfer->connection == nullptr ? kNobody : transfer->connection->peer();
  if (!started_) return kNobody;
  const std::size_t programs = std::get_if<ProgramPath>(&item.path)->all().size();
  for (std::size_t i = 0; i < programs; ++i)
    if (!done_[i]) return executors_[i].waitsFor();
  return kNobody;
}

}  // namespace xylem::comm
