// Channels that are a head with all other GPUs behind it: NVLS and CollNet direct.

#include "planner/search/search.h"

namespace xylem {

void Search::startFromHead(int net, bool& found) {
  const int head = space_.localGpu(net);
  if (head < 0) return;
  for (int c = 0; c < wanted_.nChannels; ++c)
    if (gpuAt(c, 0) == head) return;
  startAt(net, head, Order::kFree);
  found = true;
}

void Search::tryHead(int head) {
  if (wanted_.pattern == Pattern::kNvls) return tryNvls(head);
  tryCollnetDirect(head);
}

// Every GPU exchanges with the NVSwitch, the head twice: for itself and for the NET. Only the single share is
// checked for the type of its path, as in NCCL.
void Search::tryNvls(int head) {
  const Load doubled(wanted_.bwIntra * 2);
  const auto takeShare = [&](const Route& route, int gpu) {
    if (gpu != head) return terrain_.open(route) && take(route, intra_);
    if (!space_.take(route, doubled)) return false;
    wanted_.nHops += 2 * route.hops;
    return true;
  };
  const auto giveBackShare = [&](const Route& route, int gpu) {
    giveBack(route, gpu == head ? doubled : intra_);
    if (gpu == head) wanted_.nHops -= route.hops;
  };
  int down = 0;
  while (down < gpus_ && takeShare(space_.nvsToGpu(down), down)) ++down;
  int up = 0;
  if (down == gpus_) {
    while (up < gpus_ && takeShare(space_.gpuToNvs(up), up)) ++up;
    if (up == gpus_) step(head, gpus_, -1);
  }
  while (up > 0) --up, giveBackShare(space_.gpuToNvs(up), up);
  while (down > 0) --down, giveBackShare(space_.nvsToGpu(down), down);
}

// The head exchanges with every other GPU, each its part of the bandwidth. NCCL checks the types of paths
// only for whole parts, so with two GPUs.
void Search::tryCollnetDirect(int head) {
  const auto share = static_cast<float>(1.0 / (gpus_ - 1));
  const Load part(wanted_.bwIntra * share);
  // NCCL truncates the running count of hops at every step.
  const auto count = [&](const Route& route, float sign) {
    wanted_.nHops =
        static_cast<int>(static_cast<float>(wanted_.nHops) + sign * share * static_cast<float>(route.hops));
  };
  const auto takePart = [&](const Route& route) {
    if ((gpus_ == 2 && !terrain_.open(route)) || !space_.take(route, part)) return false;
    count(route, 1);
    return true;
  };
  const auto giveBackPart = [&](const Route& route) {
    space_.giveBack(route, part);
    count(route, -1);
  };
  int out = 0;
  while (out < gpus_ && takePart(space_.gpuToGpu(head, out))) ++out;
  int in = 0;
  if (out == gpus_) {
    while (in < gpus_ && takePart(space_.gpuToGpu(in, head))) ++in;
    if (in == gpus_) {
      int position = 0;
      for (int gpu = 0; gpu < gpus_; ++gpu)
        if (gpu != head) gpuAt(wanted_.nChannels, ++position) = gpu;
      step(head, gpus_, -1);
    }
  }
  while (in > 0) --in, giveBackPart(space_.gpuToGpu(in, head));
  while (out > 0) --out, giveBackPart(space_.gpuToGpu(head, out));
}

}  // namespace xylem
