#include "torch/work.h"

#include <ATen/core/ivalue.h>

#include <algorithm>

#include "torch/completer.h"
#include "torch/watch.h"

namespace xylem::torch {
namespace {

c10::intrusive_ptr<c10::ivalue::Future> newFuture() {
  return c10::make_intrusive<c10::ivalue::Future>(c10::ListType::create(c10::TensorType::get()));
}

void makeEarlier(std::atomic<Clock::time_point>& deadline, Clock::time_point to,
                 const std::weak_ptr<Watch>& watch) {
  Clock::time_point now = deadline.load();
  while (to < now && !deadline.compare_exchange_weak(now, to)) {
  }
  if (const auto looker = watch.lock()) looker->note(to);
}

}  // namespace

CollectiveWork::CollectiveWork(int rank, c10d::OpType type, std::shared_ptr<Membership> member, Moment done,
                               std::vector<at::Tensor> outputs, std::vector<at::Tensor> used,
                               std::shared_ptr<std::exception_ptr> outcome, Clock::time_point deadline,
                               const std::shared_ptr<Completer>& completer,
                               const std::shared_ptr<Watch>& watch)
    : Work(rank, type),
      member_(std::move(member)),
      done_(std::move(done)),
      outputs_(std::move(outputs)),
      used_(std::move(used)),
      outcome_(std::move(outcome)),
      deadline_(deadline),
      completer_(completer),
      watch_(watch) {}

bool CollectiveWork::isCompleted() {
  {
    const std::lock_guard lock(mutex_);
    if (completed_) return true;
  }
  if (!done_.reached()) return false;
  settle();
  return true;
}

bool CollectiveWork::isSuccess() const {
  const std::lock_guard lock(mutex_);
  return completed_ && !exception_;
}

std::exception_ptr CollectiveWork::exception() const {
  const std::lock_guard lock(mutex_);
  return exception_;
}

void CollectiveWork::settle() noexcept {
  done_.await();
  std::exception_ptr failure;
  try {
    member_->check();
    if (outcome_) failure = *outcome_;
  } catch (...) {
    failure = std::current_exception();
  }
  std::vector<at::Tensor> used;
  const std::lock_guard lock(mutex_);
  if (completed_) return;
  completed_ = true;
  exception_ = failure;
  used.swap(used_);
}

bool CollectiveWork::wait(std::chrono::milliseconds timeout) {
  if (timeout != kNoTimeout) makeEarlier(deadline_, Clock::now() + timeout, watch_);
  settle();
  if (const std::exception_ptr failure = exception()) std::rethrow_exception(failure);
  return true;
}

void CollectiveWork::expire() {
  const auto waited = std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - issued_);
  member_->timeOut(c10d::opTypeToString(retrieveOpType()) + " timed out: it was not done after " +
                   std::to_string(waited.count()) + " ms");
}

c10::intrusive_ptr<c10::ivalue::Future> CollectiveWork::getFuture() {
  {
    const std::lock_guard lock(mutex_);
    if (future_) return future_;
    future_ = newFuture();
  }
  const auto self = c10::intrusive_ptr<CollectiveWork>::reclaim_copy(this);
  if (const auto completer = completer_.lock()) {
    completer->complete(self);
  } else {
    settle();
    markFuture();
  }
  return future_;
}

void CollectiveWork::markFuture() noexcept {
  if (const std::exception_ptr failure = exception())
    future_->setError(failure);
  else
    future_->markCompleted(c10::IValue(outputs_));
}

bool MessageWork::wait(std::chrono::milliseconds timeout) {
  if (timeout != kNoTimeout) makeEarlier(*deadline_, Clock::now() + timeout, watch_);
  return Work::wait();
}

c10::intrusive_ptr<c10::ivalue::Future> MessageWork::getFuture() {
  const std::lock_guard lock(mutex_);
  if (future_) return future_;
  future_ = newFuture();
  if (!completed_) return future_;
  if (exception_)
    future_->setError(exception_);
  else
    future_->markCompleted(c10::IValue(std::vector<at::Tensor>{tensor_}));
  return future_;
}

void MessageWork::complete(std::exception_ptr failure) {
  finish(failure);
  c10::intrusive_ptr<c10::ivalue::Future> future;
  {
    const std::lock_guard lock(mutex_);
    future = future_;
  }
  if (!future || future->completed()) return;
  if (failure)
    future->setError(failure);
  else
    future->markCompleted(c10::IValue(std::vector<at::Tensor>{tensor_}));
}

}  // namespace xylem::torch
