#include "torch/process_group.h"

#include <c10/core/InferenceMode.h>
#include <pybind11/pybind11.h>

#include <algorithm>

namespace xylem::torch {

ProcessGroupXylem::ProcessGroupXylem(const c10::intrusive_ptr<c10d::Store>& store, int rank, int size,
                                     std::chrono::milliseconds timeout)
    : ProcessGroup(rank, size),
      timeout_(timeout),
      rendezvous_(store, rank, size, timeout),
      member_(rendezvous_.joinAll()),
      watch_(std::make_shared<Watch>([this] { return expireChannels(); })) {
  init();
}

ProcessGroupXylem::~ProcessGroupXylem() {
  // Python destroys groups; operations that our threads complete meanwhile may need Python, as callbacks of
  // futures do.
  std::optional<pybind11::gil_scoped_release> free;
  if (Py_IsInitialized() != 0 && PyGILState_Check() != 0) free.emplace();
  // Operations that cannot end are aborted: no thread can wait for them any more.
  if (watch_->stop()) member_->fail("the process group has ended");
  channels_.clear();
  completer_.reset();
}

ProcessGroupXylem::WorkPtr ProcessGroupXylem::issue(c10d::OpType type, Step& step, Tensors outputs,
                                                    std::chrono::milliseconds timeout) {
  ++issued_;
  const auto outcome = step.enqueueRest();
  const auto span = timeout == c10d::kUnsetTimeout || timeout == kNoTimeout ? timeout_ : timeout;
  auto work = c10::make_intrusive<CollectiveWork>(getRank(), type, member_, member_->now(),
                                                  std::move(outputs), std::move(step.used()), outcome,
                                                  Clock::now() + span, completer_, watch_);
  watch_->add(work);
  return work;
}

std::optional<Clock::time_point> ProcessGroupXylem::expireChannels() {
  const std::lock_guard lock(channelMutex_);
  std::optional<Clock::time_point> next;
  for (const auto& [place, channel] : channels_)
    if (const auto deadline = channel->expire()) next = next ? std::min(*next, *deadline) : *deadline;
  return next;
}

PairChannel& ProcessGroupXylem::channelTo(int peer, PairChannel::Direction direction) {
  const std::lock_guard lock(channelMutex_);
  std::unique_ptr<PairChannel>& channel = channels_[{peer, direction}];
  if (!channel) {
    const bool sends = direction == PairChannel::Direction::kSend;
    const int from = sends ? getRank() : peer, to = sends ? peer : getRank();
    channel = std::make_unique<PairChannel>(direction, peer,
                                            [this, from, to](const std::function<void()>& throwIfOver) {
                                              return rendezvous_.joinPair(from, to, throwIfOver);
                                            });
  }
  return *channel;
}

ProcessGroupXylem::WorkPtr ProcessGroupXylem::post(c10d::OpType type, const at::Tensor& tensor, int peer,
                                                   int tag) {
  const bool sends = type == c10d::OpType::SEND;
  requireUsable(tensor);
  TORCH_CHECK(peer >= 0 && peer < getSize() && peer != getRank(), "xylem: rank ", getRank(), " of ",
              getSize(), sends ? " cannot send to rank " : " cannot receive from rank ", peer);
  Step step(*member_);
  const at::Tensor buffer = sends ? step.in(tensor) : step.out(tensor);
  const Clock::time_point deadline = Clock::now() + timeout_;
  auto work = c10::make_intrusive<MessageWork>(getRank(), type, tensor, sends ? -1 : peer, deadline, watch_);
  const bool copies = !sends && !buffer.is_same(tensor);
  channelTo(peer, sends ? PairChannel::Direction::kSend : PairChannel::Direction::kReceive)
      .post({static_cast<std::byte*>(buffer.data_ptr()), buffer.nbytes(), tag, work->deadline(),
             [work, tensor, buffer, copies,
              inference = c10::InferenceMode::is_enabled()](std::exception_ptr failure) {
               try {
                 // First: without inference mode it turns gradients on.
                 const c10::InferenceMode mode(inference);
                 const c10::NoGradGuard noGrad;
                 if (copies && !failure) tensor.copy_(buffer.view(tensor.sizes()));
               } catch (...) {
                 failure = std::current_exception();
               }
               work->complete(failure);
             }});
  watch_->note(deadline);
  return work;
}

ProcessGroupXylem::WorkPtr ProcessGroupXylem::send(Tensors& tensors, int destination, int tag) {
  TORCH_CHECK(tensors.size() == 1, "xylem: a send has one tensor, not ", tensors.size());
  return post(c10d::OpType::SEND, tensors[0], destination, tag);
}

ProcessGroupXylem::WorkPtr ProcessGroupXylem::recv(Tensors& tensors, int source, int tag) {
  TORCH_CHECK(tensors.size() == 1, "xylem: a receive has one tensor, not ", tensors.size());
  return post(c10d::OpType::RECV, tensors[0], source, tag);
}

ProcessGroupXylem::WorkPtr ProcessGroupXylem::recvAnysource(Tensors&, int) {
  TORCH_CHECK(false, "xylem: a receive must name the rank it is from: recv(tensor, src=...)");
}

}  // namespace xylem::torch
