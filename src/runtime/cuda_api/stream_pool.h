#pragma once
// Streams that are lent: giving one back neither waits for its work nor drops it. Who is lent it next finds
// it idle.
//
//   PooledStream stream(device);
//   enqueueWork(stream.get(), ...);

#include "runtime/device/stream.h"

namespace xylem {

class PooledStream {
 public:
  explicit PooledStream(int device);
  ~PooledStream();
  PooledStream(const PooledStream&) = delete;
  PooledStream& operator=(const PooledStream&) = delete;

  // Exists as long as the process, so that work elsewhere may refer to it.
  Stream& get() const { return *stream_; }

 private:
  Stream* stream_;
};

}  // namespace xylem
