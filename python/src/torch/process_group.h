#pragma once
// The back-end: torch's process group over a communicator. Collectives go through its stream, in order;
// messages through channels of their own (pair_channel.h). A thread watches time-outs and aborts operations
// that take too long, so that the threads that wait for them get an error.

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>
#include <vector>

#include "torch/completer.h"
#include "torch/membership.h"
#include "torch/pair_channel.h"
#include "torch/reduction.h"
#include "torch/rendezvous.h"
#include "torch/step.h"
#include "torch/watch.h"
#include "torch/work.h"

namespace xylem::torch {

class ProcessGroupXylem final : public c10d::ProcessGroup {
 public:
  using Tensors = std::vector<at::Tensor>;
  using TensorLists = std::vector<std::vector<at::Tensor>>;
  using WorkPtr = c10::intrusive_ptr<c10d::Work>;

  // Returns when all ranks are connected.
  ProcessGroupXylem(const c10::intrusive_ptr<c10d::Store>& store, int rank, int size,
                    std::chrono::milliseconds timeout);
  ~ProcessGroupXylem() override;

  const std::string getBackendName() const override { return "xylem"; }

  WorkPtr broadcast(Tensors& tensors, const c10d::BroadcastOptions& options) override;
  WorkPtr allreduce(Tensors& tensors, const c10d::AllreduceOptions& options) override;
  WorkPtr allreduce_coalesced(Tensors& tensors, const c10d::AllreduceCoalescedOptions& options) override;
  WorkPtr reduce(Tensors& tensors, const c10d::ReduceOptions& options) override;
  WorkPtr allgather(TensorLists& outputs, Tensors& inputs, const c10d::AllgatherOptions& options) override;
  WorkPtr _allgather_base(at::Tensor& output, at::Tensor& input,
                          const c10d::AllgatherOptions& options) override;
  WorkPtr allgather_coalesced(TensorLists& outputs, Tensors& inputs,
                              const c10d::AllgatherOptions& options) override;
  WorkPtr gather(TensorLists& outputs, Tensors& inputs, const c10d::GatherOptions& options) override;
  WorkPtr scatter(Tensors& outputs, TensorLists& inputs, const c10d::ScatterOptions& options) override;
  WorkPtr reduce_scatter(Tensors& outputs, TensorLists& inputs,
                         const c10d::ReduceScatterOptions& options) override;
  WorkPtr _reduce_scatter_base(at::Tensor& output, at::Tensor& input,
                               const c10d::ReduceScatterOptions& options) override;
  WorkPtr alltoall_base(at::Tensor& output, at::Tensor& input, std::vector<std::int64_t>& outputSplits,
                        std::vector<std::int64_t>& inputSplits,
                        const c10d::AllToAllOptions& options) override;
  WorkPtr alltoall(Tensors& outputs, Tensors& inputs, const c10d::AllToAllOptions& options) override;
  WorkPtr barrier(const c10d::BarrierOptions& options) override;
  WorkPtr send(Tensors& tensors, int destination, int tag) override;
  WorkPtr recv(Tensors& tensors, int source, int tag) override;
  WorkPtr recvAnysource(Tensors& tensors, int tag) override;
  void setSequenceNumberForGroup() override {}
  std::uint64_t getSequenceNumberForGroup() override { return issued_; }

 private:
  // Issues the prepared step and returns its work.
  WorkPtr issue(c10d::OpType type, Step& step, Tensors outputs, std::chrono::milliseconds timeout);
  void reduceInto(Step& step, const at::Tensor& buffer, const Reduction& reduction);
  // All inputs, combined; for reductions that NCCL does not have.
  at::Tensor gatherAll(Step& step, const at::Tensor& input);
  void exchange(Step& step, const Tensors& outputs, const Tensors& inputs);
  PairChannel& channelTo(int peer, PairChannel::Direction direction);
  WorkPtr post(c10d::OpType type, const at::Tensor& tensor, int peer, int tag);
  // Aborts the channels with a message past its deadline. Returns the next deadline.
  std::optional<Clock::time_point> expireChannels();

  const std::chrono::milliseconds timeout_;
  Rendezvous rendezvous_;
  std::shared_ptr<Membership> member_;
  std::shared_ptr<Completer> completer_ = std::make_shared<Completer>();
  std::uint64_t issued_ = 0;

  std::mutex channelMutex_;
  std::map<std::pair<int, PairChannel::Direction>, std::unique_ptr<PairChannel>> channels_;

  std::shared_ptr<Watch> watch_;
};

}  // namespace xylem::torch
