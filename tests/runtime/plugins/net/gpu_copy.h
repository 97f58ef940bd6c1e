#pragma once
// Memory of a GPU, as the test's net plugin reaches it in place of a network card. If the program has loaded NVIDIA's driver, that
// copies; otherwise GPUs are threads of the CPU, and their memory is like any other.
//
//   GpuCopier copier(data);                                 // when the memory is registered, before kernels run
//   if (!copier.out(staging.data(), part.data, part.bytes)) return kSystem;

#include <cstddef>
#include <mutex>

namespace test_net {

bool copiesByDriver();

class GpuCopier {
 public:
  // `gpu`: memory of the GPU. Takes a stream and pinned memory of the driver, which might wait for kernels later.
  explicit GpuCopier(const std::byte* gpu);
  ~GpuCopier();
  GpuCopier(const GpuCopier&) = delete;
  GpuCopier& operator=(const GpuCopier&) = delete;

  // From the GPU's memory, and into it. False if the driver refuses.
  bool out(std::byte* to, const std::byte* gpu, std::size_t bytes);
  bool in(std::byte* gpu, const std::byte* from, std::size_t bytes);

 private:
  std::mutex mutex_;
  void* context_ = nullptr;
  void* stream_ = nullptr;
  void* pinned_ = nullptr;
};

}  // namespace test_net
