#pragma once
// Large copies and reductions of a rank, which its helper threads share (device/helpers.h). Small ones stay on the calling thread.
//
//   const SharedWork shared(helpers);                        // or none: SharedWork()
//   shared.stretches(bytes, 1, [&](std::size_t begin, std::size_t end) { copyBytes(out + begin, in + begin, end - begin); });
//   shared.combine(reduction, {inputs, factors}, outputs, n, false);
//   end.takePiece(protocol, out, left, &shared);                 // what a message brings
//
// Elements do not depend on where work is cut: neither their order nor their rounding.

#include <algorithm>
#include <cstddef>
#include <memory>
#include <span>
#include <utility>

#include "runtime/collectives/combine_all.h"
#include "runtime/device/helpers.h"
#include "runtime/transport/queue/copy_sharing.h"

namespace xylem::collectives {

class SharedWork final : public transport::CopySharing {
 public:
  // If there are more sources, or more outputs, the calling thread combines them alone.
  static constexpr std::size_t kMostBuffers = 64;
  // Less than this many bytes may well be in the caches of the calling thread's core, where no other core gets it faster.
  static constexpr std::size_t kLeastShared = std::size_t{1} << 20;

  explicit SharedWork(std::shared_ptr<device::Helpers> helpers = nullptr) : helpers_(std::move(helpers)) {}

  // How many threads do the work of this rank, the calling one included.
  std::size_t threads() const override {
    return helpers_ == nullptr ? 1 : 1 + static_cast<std::size_t>(helpers_->threads());
  }

  // Calls work(begin, end) for stretches that make up the elements 0 to n - 1 together, several of them at the same time if there is
  // much to do. They have whole cache lines, but for the last. `bytes`: that one element moves.
  template <typename Work>
  void stretches(std::size_t n, std::size_t bytes, Work&& work) const {
    if (helpers_ == nullptr || n * bytes < kLeastShared) {
      if (n > 0) work(std::size_t{0}, n);
      return;
    }
    const std::size_t each = kStretchBytes / bytes;
    helpers_->share((n + each - 1) / each, [&](std::size_t part) {
      const std::size_t begin = part * each;
      work(begin, std::min(n, begin + each));
    });
  }
  void share(std::size_t bytes, const std::function<void(std::size_t, std::size_t)>& copy) const override {
    stretches(bytes, 1, copy);
  }
  // Calls work(0) to work(parts - 1), several of them at the same time; each takes tens of microseconds or more.
  template <typename Work>
  void parts(std::size_t parts, Work&& work) const {
    if (helpers_ != nullptr) return helpers_->share(parts, work);
    for (std::size_t part = 0; part < parts; ++part) work(part);
  }
  // combineAll.
  void combine(const Reduction& reduction, const CombineSources& sources, std::span<std::byte* const> out,
               std::size_t n, bool streaming) const;

 private:
  static constexpr std::size_t kStretchBytes = std::size_t{256} << 10;

  std::shared_ptr<device::Helpers> helpers_;
};

}  // namespace xylem::collectives
