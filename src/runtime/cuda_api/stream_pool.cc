#include "runtime/cuda_api/stream_pool.h"

#include <algorithm>
#include <memory>
#include <mutex>
#include <vector>

#include "runtime/device/host_device.h"

namespace xylem {
namespace {

struct Pool {
  std::mutex mutex;
  std::vector<std::unique_ptr<OwnedStream>> all;
  std::vector<Stream*> free;
};
// Never destroyed: threads that end with the process give streams back.
Pool& pool() {
  static Pool& streams = *std::make_unique<Pool>().release();
  return streams;
}

}  // namespace

PooledStream::PooledStream(int device) {
  Pool& streams = pool();
  const std::lock_guard lock(streams.mutex);
  const auto idle = std::find_if(streams.free.begin(), streams.free.end(), [device](const Stream* stream) {
    return stream->device() == device && !stream->pending();
  });
  if (idle == streams.free.end()) {
    stream_ = &streams.all.emplace_back(std::make_unique<OwnedStream>(device))->get();
    return;
  }
  stream_ = *idle;
  streams.free.erase(idle);
  stream_->takeError();  // of somebody else's work
}

PooledStream::~PooledStream() {
  Pool& streams = pool();
  const std::lock_guard lock(streams.mutex);
  streams.free.push_back(stream_);
}

}  // namespace xylem
