#include "runtime/comm/issue/operation.h"

namespace xylem {

const char* name(Function function) {
  switch (function) {
    case Function::kSend:
      return "Send";
    case Function::kRecv:
      return "Recv";
    case Function::kAlltoAll:
      return "AlltoAll";
    default:
      return name(collectiveOf(function));
  }
}

}  // namespace xylem
