// The collectives of the process group: each prepares a Step, calls NCCL, and issues the work.

#include <ATen/ATen.h>

#include "torch/process_group.h"

namespace xylem::torch {
namespace {

using c10d::OpType;

const at::Tensor& single(const std::vector<at::Tensor>& tensors, const char* what) {
  TORCH_CHECK(tensors.size() == 1, "xylem: ", what, " takes one tensor per rank, not ", tensors.size());
  return tensors[0];
}

void requireRoot(std::int64_t root, int size, const char* what) {
  TORCH_CHECK(root >= 0 && root < size, "xylem: ", what, ": root is ", root, "; expected 0 to ", size - 1);
}

void requireList(std::size_t count, int size, const char* what) {
  TORCH_CHECK(count == static_cast<std::size_t>(size), "xylem: ", what, " needs a tensor for each of the ",
              size, " ranks, not ", count);
}

void requireLike(const at::Tensor& tensor, const at::Tensor& like, const char* what) {
  TORCH_CHECK(tensor.numel() == like.numel() && tensor.scalar_type() == like.scalar_type(), "xylem: ", what,
              ": tensors of ", like.numel(), " x ", like.scalar_type(), " and of ", tensor.numel(), " x ",
              tensor.scalar_type(), "; they must be alike");
}

std::size_t elements(const at::Tensor& tensor, const Reduction& reduction) {
  return static_cast<std::size_t>(tensor.numel()) * static_cast<std::size_t>(reduction.width);
}

std::byte* bytesOf(const at::Tensor& tensor) { return static_cast<std::byte*>(tensor.data_ptr()); }

}  // namespace

void ProcessGroupXylem::reduceInto(Step& step, const at::Tensor& buffer, const Reduction& reduction) {
  if (reduction.combine) {
    const at::Tensor all = gatherAll(step, buffer.clone());
    step.then([all, buffer, combine = reduction.combine, size = getSize()] {
      at::Tensor result = buffer.flatten();
      result.copy_(all[0]);
      for (int rank = 1; rank < size; ++rank) combine(result, all[rank]);
    });
    return;
  }
  member_->call("ncclAllReduce", [&](ncclComm_t comm, cudaStream_t stream) {
    return ncclAllReduce(buffer.data_ptr(), buffer.data_ptr(), elements(buffer, reduction), reduction.type,
                         reduction.op, comm, stream);
  });
}

at::Tensor ProcessGroupXylem::gatherAll(Step& step, const at::Tensor& input) {
  const at::Tensor own = step.in(input);
  const at::Tensor all = step.scratch(input.numel() * getSize(), input.scalar_type());
  member_->call("ncclAllGather", [&](ncclComm_t comm, cudaStream_t stream) {
    return ncclAllGather(own.data_ptr(), all.data_ptr(), own.nbytes(), ncclUint8, comm, stream);
  });
  return all.view({getSize(), input.numel()});
}

ProcessGroupXylem::WorkPtr ProcessGroupXylem::broadcast(Tensors& tensors,
                                                        const c10d::BroadcastOptions& options) {
  const at::Tensor& tensor = single(tensors, "broadcast");
  Step step(*member_);
  const at::Tensor buffer = options.rootRank == getRank() ? step.in(tensor) : step.out(tensor);
  member_->call("ncclBroadcast", [&](ncclComm_t comm, cudaStream_t stream) {
    return ncclBroadcast(buffer.data_ptr(), buffer.data_ptr(), buffer.nbytes(), ncclUint8,
                         static_cast<int>(options.rootRank), comm, stream);
  });
  return issue(OpType::BROADCAST, step, tensors, options.timeout);
}

ProcessGroupXylem::WorkPtr ProcessGroupXylem::allreduce(Tensors& tensors,
                                                        const c10d::AllreduceOptions& options) {
  const at::Tensor& tensor = single(tensors, "allreduce");
  const Reduction reduction = reductionOf(tensor.scalar_type(), options.reduceOp);
  Step step(*member_);
  reduceInto(step, step.inOut(tensor, reduction.staged), reduction);
  return issue(OpType::ALLREDUCE, step, tensors, options.timeout);
}

ProcessGroupXylem::WorkPtr ProcessGroupXylem::allreduce_coalesced(
    Tensors& tensors, const c10d::AllreduceCoalescedOptions& options) {
  Step step(*member_);
  member_->group([&] {
    for (const at::Tensor& tensor : tensors) {
      const Reduction reduction = reductionOf(tensor.scalar_type(), options.reduceOp);
      reduceInto(step, step.inOut(tensor, reduction.staged), reduction);
    }
  });
  return issue(OpType::ALLREDUCE_COALESCED, step, tensors, options.timeout);
}

ProcessGroupXylem::WorkPtr ProcessGroupXylem::reduce(Tensors& tensors, const c10d::ReduceOptions& options) {
  const at::Tensor& tensor = single(tensors, "reduce");
  const Reduction reduction = reductionOf(tensor.scalar_type(), options.reduceOp);
  const bool root = options.rootRank == getRank();
  Step step(*member_);
  const at::Tensor buffer = root ? step.inOut(tensor, reduction.staged) : step.in(tensor, reduction.staged);
  if (reduction.combine)  // the others' tensors stay as they are
    reduceInto(step, root ? buffer : buffer.clone(), reduction);
  else
    member_->call("ncclReduce", [&](ncclComm_t comm, cudaStream_t stream) {
      return ncclReduce(buffer.data_ptr(), buffer.data_ptr(), elements(buffer, reduction), reduction.type,
                        reduction.op, static_cast<int>(options.rootRank), comm, stream);
    });
  return issue(OpType::REDUCE, step, tensors, options.timeout);
}

ProcessGroupXylem::WorkPtr ProcessGroupXylem::allgather(TensorLists& outputs, Tensors& inputs,
                                                        const c10d::AllgatherOptions& options) {
  const at::Tensor& input = single(inputs, "allgather");
  TORCH_CHECK(outputs.size() == 1, "xylem: allgather takes one list of outputs, not ", outputs.size());
  requireList(outputs[0].size(), getSize(), "allgather");
  for (const at::Tensor& output : outputs[0]) requireLike(output, input, "allgather");
  Step step(*member_);
  const at::Tensor all = gatherAll(step, input);
  step.then([all, list = outputs[0]] {
    for (std::size_t i = 0; i < list.size(); ++i)
      list[i].copy_(all[static_cast<std::int64_t>(i)].view(list[i].sizes()));
  });
  return issue(OpType::ALLGATHER, step, outputs[0], options.timeout);
}

ProcessGroupXylem::WorkPtr ProcessGroupXylem::_allgather_base(at::Tensor& output, at::Tensor& input,
                                                              const c10d::AllgatherOptions& options) {
  TORCH_CHECK(output.numel() == input.numel() * getSize() && output.scalar_type() == input.scalar_type(),
              "xylem: allgather of ", input.numel(), " x ", input.scalar_type(), " on ", getSize(),
              " ranks into ", output.numel(), " x ", output.scalar_type());
  Step step(*member_);
  const at::Tensor from = step.in(input), to = step.out(output);
  member_->call("ncclAllGather", [&](ncclComm_t comm, cudaStream_t stream) {
    return ncclAllGather(from.data_ptr(), to.data_ptr(), from.nbytes(), ncclUint8, comm, stream);
  });
  return issue(OpType::_ALLGATHER_BASE, step, {output}, options.timeout);
}

// outputs[rank][i] is inputs[i] of `rank`.
ProcessGroupXylem::WorkPtr ProcessGroupXylem::allgather_coalesced(TensorLists& outputs, Tensors& inputs,
                                                                  const c10d::AllgatherOptions& options) {
  requireList(outputs.size(), getSize(), "allgather_coalesced");
  for (const Tensors& ofRank : outputs)
    TORCH_CHECK(ofRank.size() == inputs.size(), "xylem: allgather_coalesced of ", inputs.size(),
                " tensors into ", ofRank.size());
  Step step(*member_);
  member_->group([&] {
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const at::Tensor all = gatherAll(step, inputs[i]);
      for (int rank = 0; rank < getSize(); ++rank) {
        const at::Tensor& output = outputs[static_cast<std::size_t>(rank)][i];
        requireLike(output, inputs[i], "allgather_coalesced");
        step.then([output, all, rank] { output.copy_(all[rank].view(output.sizes())); });
      }
    }
  });
  Tensors flat;
  for (const Tensors& ofRank : outputs) flat.insert(flat.end(), ofRank.begin(), ofRank.end());
  return issue(OpType::ALLGATHER_COALESCED, step, std::move(flat), options.timeout);
}

// inputs[r] goes to rank r, outputs[r] comes from it; empty ones do not.
void ProcessGroupXylem::exchange(Step& step, const Tensors& outputs, const Tensors& inputs) {
  member_->group([&] {
    for (int peer = 0; peer < getSize(); ++peer) {
      const auto place = static_cast<std::size_t>(peer);
      if (place < inputs.size() && inputs[place].defined() && inputs[place].numel() > 0) {
        const at::Tensor from = step.in(inputs[place]);
        member_->call("ncclSend", [&](ncclComm_t comm, cudaStream_t stream) {
          return ncclSend(from.data_ptr(), from.nbytes(), ncclUint8, peer, comm, stream);
        });
      }
      if (place < outputs.size() && outputs[place].defined() && outputs[place].numel() > 0) {
        const at::Tensor to = step.out(outputs[place]);
        member_->call("ncclRecv", [&](ncclComm_t comm, cudaStream_t stream) {
          return ncclRecv(to.data_ptr(), to.nbytes(), ncclUint8, peer, comm, stream);
        });
      }
    }
  });
}

ProcessGroupXylem::WorkPtr ProcessGroupXylem::gather(TensorLists& outputs, Tensors& inputs,
                                                     const c10d::GatherOptions& options) {
  const at::Tensor& input = single(inputs, "gather");
  requireRoot(options.rootRank, getSize(), "gather");
  Tensors to(static_cast<std::size_t>(getSize())), from(static_cast<std::size_t>(getSize()));
  from[static_cast<std::size_t>(options.rootRank)] = input;
  if (options.rootRank == getRank()) {
    TORCH_CHECK(outputs.size() == 1, "xylem: gather takes one list of outputs at its root, not ",
                outputs.size());
    requireList(outputs[0].size(), getSize(), "gather");
    for (const at::Tensor& output : outputs[0]) requireLike(output, input, "gather");
    to = outputs[0];
  }
  Step step(*member_);
  exchange(step, to, from);
  return issue(OpType::GATHER, step, outputs.empty() ? Tensors{} : outputs[0], options.timeout);
}

ProcessGroupXylem::WorkPtr ProcessGroupXylem::scatter(Tensors& outputs, TensorLists& inputs,
                                                      const c10d::ScatterOptions& options) {
  const at::Tensor& output = single(outputs, "scatter");
  requireRoot(options.rootRank, getSize(), "scatter");
  Tensors to(static_cast<std::size_t>(getSize())), from(static_cast<std::size_t>(getSize()));
  to[static_cast<std::size_t>(options.rootRank)] = output;
  if (options.rootRank == getRank()) {
    TORCH_CHECK(inputs.size() == 1, "xylem: scatter takes one list of inputs at its root, not ",
                inputs.size());
    requireList(inputs[0].size(), getSize(), "scatter");
    for (const at::Tensor& input : inputs[0]) requireLike(input, output, "scatter");
    from = inputs[0];
  }
  Step step(*member_);
  exchange(step, to, from);
  return issue(OpType::SCATTER, step, outputs, options.timeout);
}

ProcessGroupXylem::WorkPtr ProcessGroupXylem::reduce_scatter(Tensors& outputs, TensorLists& inputs,
                                                             const c10d::ReduceScatterOptions& options) {
  const at::Tensor& output = single(outputs, "reduce_scatter");
  TORCH_CHECK(inputs.size() == 1, "xylem: reduce_scatter takes one list of inputs, not ", inputs.size());
  requireList(inputs[0].size(), getSize(), "reduce_scatter");
  Tensors flat;
  for (const at::Tensor& input : inputs[0]) {
    requireUsable(input);
    requireLike(input, output, "reduce_scatter");
    flat.push_back(input.detach().reshape({-1}));
  }
  at::Tensor whole = at::cat(flat);
  auto result = _reduce_scatter_base(outputs[0], whole, options);
  return result;
}

ProcessGroupXylem::WorkPtr ProcessGroupXylem::_reduce_scatter_base(
    at::Tensor& output, at::Tensor& input, const c10d::ReduceScatterOptions& options) {
  TORCH_CHECK(input.numel() == output.numel() * getSize() && output.scalar_type() == input.scalar_type(),
              "xylem: reduce_scatter of ", input.numel(), " x ", input.scalar_type(), " on ", getSize(),
              " ranks into ", output.numel(), " x ", output.scalar_type());
  const Reduction reduction = reductionOf(input.scalar_type(), options.reduceOp);
  Step step(*member_);
  if (reduction.combine) {
    const at::Tensor whole = step.scratch(input.numel(), input.scalar_type());
    whole.view(input.sizes()).copy_(input.detach());
    reduceInto(step, whole, reduction);
    step.used().push_back(output);
    step.then([output, whole, rank = getRank()] {
      output.copy_(whole.narrow(0, rank * output.numel(), output.numel()).view(output.sizes()));
    });
    return issue(OpType::_REDUCE_SCATTER_BASE, step, {output}, options.timeout);
  }
  const at::Tensor from = step.in(input, reduction.staged), to = step.out(output, reduction.staged);
  member_->call("ncclReduceScatter", [&](ncclComm_t comm, cudaStream_t stream) {
    return ncclReduceScatter(from.data_ptr(), to.data_ptr(), elements(to, reduction), reduction.type,
                             reduction.op, comm, stream);
  });
  return issue(OpType::_REDUCE_SCATTER_BASE, step, {output}, options.timeout);
}

namespace {

// Offsets and sizes, in bytes, of the pieces for each rank. Pieces are rows, the same number for each rank
// without `splits`.
struct Piece {
  std::size_t offset = 0, bytes = 0;
};

std::vector<Piece> piecesOf(const at::Tensor& tensor, const std::vector<std::int64_t>& splits, int size) {
  const std::int64_t rows = tensor.dim() == 0 ? 1 : tensor.size(0);
  std::vector<std::int64_t> counts = splits;
  if (counts.empty()) {
    TORCH_CHECK(rows % size == 0, "xylem: all_to_all of ", rows, " rows among ", size,
                " ranks: give the sizes of the splits");
    counts.assign(static_cast<std::size_t>(size), rows / size);
  }
  requireList(counts.size(), size, "the splits of all_to_all");
  const std::size_t rowBytes = rows == 0 ? 0 : tensor.nbytes() / static_cast<std::size_t>(rows);
  std::vector<Piece> pieces;
  std::int64_t row = 0;
  for (const std::int64_t count : counts) {
    TORCH_CHECK(count >= 0, "xylem: a split of all_to_all of ", count, " rows");
    pieces.push_back({static_cast<std::size_t>(row) * rowBytes, static_cast<std::size_t>(count) * rowBytes});
    row += count;
  }
  TORCH_CHECK(row == rows, "xylem: the splits of all_to_all are ", row, " rows together, the tensor has ",
              rows);
  return pieces;
}

}  // namespace

ProcessGroupXylem::WorkPtr ProcessGroupXylem::alltoall_base(at::Tensor& output, at::Tensor& input,
                                                            std::vector<std::int64_t>& outputSplits,
                                                            std::vector<std::int64_t>& inputSplits,
                                                            const c10d::AllToAllOptions& options) {
  TORCH_CHECK(output.scalar_type() == input.scalar_type(), "xylem: all_to_all of ", input.scalar_type(),
              " into ", output.scalar_type());
  const std::vector<Piece> to = piecesOf(output, outputSplits, getSize());
  const std::vector<Piece> from = piecesOf(input, inputSplits, getSize());
  Step step(*member_);
  const at::Tensor source = step.in(input), target = step.out(output);
  // Without splits all ranks know that all pieces have the same size.
  if (inputSplits.empty() && outputSplits.empty()) {
    member_->call("ncclAlltoAll", [&](ncclComm_t comm, cudaStream_t stream) {
      return ncclAlltoAll(bytesOf(source), bytesOf(target), from.front().bytes, ncclUint8, comm, stream);
    });
    return issue(OpType::ALLTOALL_BASE, step, {output}, options.timeout);
  }
  member_->group([&] {
    for (int peer = 0; peer < getSize(); ++peer) {
      const Piece& sent = from[static_cast<std::size_t>(peer)];
      const Piece& received = to[static_cast<std::size_t>(peer)];
      if (sent.bytes > 0)
        member_->call("ncclSend", [&](ncclComm_t comm, cudaStream_t stream) {
          return ncclSend(bytesOf(source) + sent.offset, sent.bytes, ncclUint8, peer, comm, stream);
        });
      if (received.bytes > 0)
        member_->call("ncclRecv", [&](ncclComm_t comm, cudaStream_t stream) {
          return ncclRecv(bytesOf(target) + received.offset, received.bytes, ncclUint8, peer, comm, stream);
        });
    }
  });
  return issue(OpType::ALLTOALL_BASE, step, {output}, options.timeout);
}

ProcessGroupXylem::WorkPtr ProcessGroupXylem::alltoall(Tensors& outputs, Tensors& inputs,
                                                       const c10d::AllToAllOptions& options) {
  requireList(outputs.size(), getSize(), "all_to_all");
  requireList(inputs.size(), getSize(), "all_to_all");
  Step step(*member_);
  exchange(step, outputs, inputs);
  return issue(OpType::ALLTOALL, step, outputs, options.timeout);
}

ProcessGroupXylem::WorkPtr ProcessGroupXylem::barrier(const c10d::BarrierOptions& options) {
  Step step(*member_);
  at::Tensor token = step.scratch(1, at::kByte);
  token.zero_();
  member_->call("ncclAllReduce", [&](ncclComm_t comm, cudaStream_t stream) {
    return ncclAllReduce(token.data_ptr(), token.data_ptr(), 1, ncclUint8, ncclSum, comm, stream);
  });
  return issue(OpType::BARRIER, step, {}, options.timeout);
}

}  // namespace xylem::torch
