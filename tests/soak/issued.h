#pragma once
// One rank's call of an operation: its buffers, its input, its expected output. A transfer to the rank itself
// is two calls.
//
//   Issued call(operation, comm, rank, Side::kBoth, random);
//   call.fill();
//   call.call(handle, stream);
//   ... once it is done ...
//   call.check();
//   if (!call.wrong().empty()) ...

#include <string>

#include "soak/buffer.h"
#include "soak/plan.h"

namespace xylem::soak {

enum class Side { kBoth, kSend, kReceive };

class Issued {
 public:
  // `rank` in the communicator.
  Issued(const Operation& operation, const Comm& comm, int rank, Side side, Random& random);
  Issued(const Issued&) = delete;
  Issued& operator=(const Issued&) = delete;

  // Writes the input; from any thread.
  void fill();
  // Overwrites the input after the operation.
  void spoil();
  ncclResult_t call(ncclComm_t handle, cudaStream_t stream);
  // Compares the output with the expected one, once.
  void check();
  // The error that was found; empty: none.
  const std::string& wrong() const { return wrong_; }

  const Operation& operation() const { return operation_; }
  std::string description() const;
  std::size_t bytes() const { return send_.size() + receive_.size(); }
  // Memory that a program could register.
  const Buffer& anyBuffer() const { return send_.data() != nullptr ? send_ : receive_; }

 private:
  std::size_t blocks(bool ofSend) const;
  bool sends() const;
  bool receives() const;
  Values values() const;
  ncclResult_t issue(ncclComm_t handle, ncclRedOp_t op, cudaStream_t stream);
  void compare(const Mismatch& mismatch, const char* what, int of);

  const Operation operation_;
  const int rank_, ranks_;
  const Side side_;
  const bool inPlace_, deviceScalar_;
  Buffer send_, receive_, scalar_;  // in place: one buffer, whichever is larger
  std::byte* input_ = nullptr;
  std::byte* output_ = nullptr;
  bool checked_ = false;
  std::string wrong_;
};

}  // namespace xylem::soak
