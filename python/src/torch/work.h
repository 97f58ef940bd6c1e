#pragma once
// Works, which torch waits for: a collective in the stream of its communicator, or a message of its own
// thread.

#include <c10/util/intrusive_ptr.h>

#include <chrono>
#include <functional>
#include <memory>
#include <torch/csrc/distributed/c10d/Work.hpp>
#include <vector>

#include "torch/membership.h"

namespace xylem::torch {

using Clock = std::chrono::steady_clock;

// Completes the futures that programs ask for.
class Completer;
// Watches time-outs.
class Watch;

class CollectiveWork final : public c10d::Work {
 public:
  // `outcome` is the exception of the copies after the operation, if any; it is written before `done` is
  // reached.
  CollectiveWork(int rank, c10d::OpType type, std::shared_ptr<Membership> member, Moment done,
                 std::vector<at::Tensor> outputs, std::vector<at::Tensor> used,
                 std::shared_ptr<std::exception_ptr> outcome, Clock::time_point deadline,
                 const std::shared_ptr<Completer>& completer, const std::shared_ptr<Watch>& watch);

  bool isCompleted() override;
  bool isSuccess() const override;
  std::exception_ptr exception() const override;
  std::vector<at::Tensor> result() override { return outputs_; }
  void synchronize() override { wait(); }
  // Past `timeout` the communicator is aborted: its operations run in order, so none behind this one could go
  // on.
  bool wait(std::chrono::milliseconds timeout = kNoTimeout) override;
  void abort() override { member_->fail("aborted by the program"); }
  c10::intrusive_ptr<c10::ivalue::Future> getFuture() override;

  // Waits without throwing the operation's error.
  void settle() noexcept;
  Clock::time_point deadline() const { return deadline_.load(); }
  // Aborts the communicator.
  void expire();

 private:
  friend class Completer;
  void markFuture() noexcept;

  const std::shared_ptr<Membership> member_;
  const Moment done_;
  const std::vector<at::Tensor> outputs_;
  std::vector<at::Tensor> used_;  // kept until it is done
  const std::shared_ptr<std::exception_ptr> outcome_;
  const Clock::time_point issued_ = Clock::now();
  std::atomic<Clock::time_point> deadline_;
  const std::weak_ptr<Completer> completer_;
  const std::weak_ptr<Watch> watch_;
  c10::intrusive_ptr<c10::ivalue::Future> future_;
};

// A send or receive, which a thread of its own completes.
class MessageWork final : public c10d::Work {
 public:
  using Deadline = std::atomic<Clock::time_point>;

  MessageWork(int rank, c10d::OpType type, at::Tensor tensor, int source, Clock::time_point deadline,
              const std::shared_ptr<Watch>& watch)
      : Work(rank, type),
        tensor_(std::move(tensor)),
        source_(source),
        deadline_(std::make_shared<Deadline>(deadline)),
        watch_(watch) {}

  std::shared_ptr<const Deadline> deadline() const { return deadline_; }
  // Past `timeout` the messages between the two ranks in this direction are aborted: none behind this one could go on.
  bool wait(std::chrono::milliseconds timeout = kNoTimeout) override;

  std::vector<at::Tensor> result() override { return {tensor_}; }
  int sourceRank() const override { return source_; }
  c10::intrusive_ptr<c10::ivalue::Future> getFuture() override;
  // Called once; null: success.
  void complete(std::exception_ptr failure);

 private:
  const at::Tensor tensor_;
  const int source_;
  const std::shared_ptr<Deadline> deadline_;
  const std::weak_ptr<Watch> watch_;
  c10::intrusive_ptr<c10::ivalue::Future> future_;
};

}  // namespace xylem::torch
