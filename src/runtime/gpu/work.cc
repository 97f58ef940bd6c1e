#include "runtime/gpu/work.h"

#include <algorithm>
#include <limits>

#include "core/error.h"
#include "runtime/collectives/programs.h"
#include "runtime/collectives/slices.h"
#include "runtime/transport/queue/low_latency.h"

namespace xylem::gpu {
namespace {

void requireAligned(const char* buffer, const std::byte* data, DataType type) {
  if (reinterpret_cast<std::uintptr_t>(data) % elementBytes(type) == 0) return;
  throw Error(ResultCode::kInvalidArgument,
              "the {} buffer starts at {}, which is no multiple of the {} bytes of a {}: a GPU cannot read "
              "it; align it",
              buffer, static_cast<const void*>(data), elementBytes(type), name(type));
}

// The queues that exist, as a mask; `stepBytes` becomes the smallest step of them.
collectives::QueueMask present(std::span<const QueueEnd> ends, std::size_t& stepBytes) {
  collectives::QueueMask mask = 0;
  for (std::size_t i = 0; i < ends.size(); ++i) {
    if (!ends[i]) continue;
    mask |= collectives::queue(static_cast<int>(i));
    stepBytes = std::min(stepBytes, ends[i].stepBytes);
  }
  return mask;
}

}  // namespace

QueueEnd endOf(const transport::QueueMemory& queue, Protocol protocol, int peer, std::uint64_t* step) {
  static_assert(sizeof(std::atomic<std::uint64_t>) == sizeof(std::uint64_t));
  QueueEnd end;
  end.tail = reinterpret_cast<std::uint64_t*>(&queue.control->tail);
  end.head = reinterpret_cast<std::uint64_t*>(&queue.control->head);
  end.notes = queue.control->notes;
  end.stepBytes = queue.stepBytes[protocol];
  end.llSlots = queue.ll;
  end.llSlotWords = transport::llSlotBytes(queue.stepBytes) / transport::kLlWordBytes;
  end.step = step;
  end.peer = peer;
  switch (protocol) {
    case Protocol::kSimple:
      end.slots = queue.simple;
      end.slotBytes = end.stepBytes;
      break;
    case Protocol::kLl:
      end.slots = queue.ll;
      end.slotBytes = transport::llSlotBytes(queue.stepBytes);
      break;
    case Protocol::kLl128:
      end.slots = queue.ll128;
      end.slotBytes = transport::ll128SlotBytes(queue.stepBytes);
      break;
  }
  return end;
}

QueueEnd endInSlots(const transport::QueueMemory& queue, Protocol protocol, int peer, std::uint64_t* step) {
  QueueEnd end = endOf(queue, Protocol::kSimple, peer, step);
  end.stepBytes = queue.stepBytes[protocol];
  return end;
}

Work workOf(const WorkRequest& request) {
  requireAligned("send", request.input, request.type);
  requireAligned("receive", request.output, request.type);
  Work work;
  work.program = request.program;
  work.protocol = request.protocol;
  work.type = request.type;
  const bool isLoneAverage = request.op == static_cast<int>(ReduceOp::kAvg) && request.shape.ranks == 1;
  work.op = static_cast<std::uint8_t>(isLoneAverage ? static_cast<int>(ReduceOp::kSum) : request.op);
  work.scales = request.reduction.scales;
  work.elementBytes = static_cast<std::uint8_t>(elementBytes(request.type));
  std::size_t stepBytes = std::numeric_limits<std::size_t>::max();
  work.fromQueues = present(request.from, stepBytes);
  work.toQueues = present(request.to, stepBytes);
  const bool isSimple = request.protocol == Protocol::kSimple;
  work.refers = request.refers && isSimple &&
                std::all_of(request.to.begin(), request.to.end(),
                            [](const QueueEnd& end) { return !end || end.references; });
  work.places = request.places && isSimple;
  work.outputBytes = collectives::outputElements(request.program, request.shape) * work.elementBytes;
  if (request.offers && isSimple) {
    const collectives::QueueMask results = collectives::resultsFrom(request.program, request.shape);
    for (std::size_t i = 0; i < request.from.size(); ++i)
      if (request.from[i].offer != nullptr) work.offers |= results & collectives::queue(static_cast<int>(i));
  }
  work.slice = collectives::sliceElements(stepBytes, request.mostBytes, work.elementBytes);
  work.isPumped = request.isPumped;
  work.timed = request.timed;
  work.length = collectives::lengthOf(request.program, request.shape);
  work.label = request.label;
  work.shape = request.shape;
  work.factor = request.reduction.factor;
  work.input = request.input;
  work.output = request.output;
  work.scratch = request.scratch;
  work.from = request.from.data();
  work.to = request.to.data();
  work.abort = request.abort;
  work.report = request.report;
  work.scalar = request.scalar;
  return work;
}

}  // namespace xylem::gpu
