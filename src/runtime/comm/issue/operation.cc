#include "runtime/comm/issue/operation.h"

namespace xylem::comm {

std::optional<CallSignature> unpackCall(const CallWords& words) {
  const std::uint64_t function = words[0] & 0xff, type = words[0] >> kCallTypeShift & 0xff,
                      op = words[0] >> kCallOpShift & 0xff;
  if (function >= kFunctions || type >= kDataTypes || op >= kReduceOps) return std::nullopt;
  CallSignature call;
  call.function = static_cast<Function>(function);
  call.type = static_cast<DataType>(type);
  call.op = static_cast<ReduceOp>(op);
  call.scaled = (words[0] >> kCallScaledShift & 1) != 0;
  call.peer = static_cast<std::int32_t>(static_cast<std::uint32_t>(words[1]));
  call.count = words[2];
  return call;
}

void describe(TextLine& line, const CallSignature& call) {
  line.add(name(call.function)).add(" of ").add(call.count).add(" ").add(name(call.type));
  if (reduces(call.function)) line.add(" ").add(name(call.op)).add(call.scaled ? " of multiples" : "");
  switch (call.function) {
    case Function::kBroadcast:
      line.add(" from root ").add(call.peer);
      break;
    case Function::kReduce:
      line.add(" to root ").add(call.peer);
      break;
    case Function::kSend:
      line.add(" to rank ").add(call.peer);
      break;
    case Function::kRecv:
      line.add(" from rank ").add(call.peer);
      break;
    default:
      break;
  }
}

std::string describe(const CallSignature& call) {
  TextLine line;
  describe(line, call);
  return std::string(line.text());
}

}  // namespace xylem::comm
