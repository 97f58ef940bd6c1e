#pragma once
// The least time that two cores need for an operation if both have mapped all memory and nothing else takes
// time: every core computes half of every result, straight from the inputs into the outputs, between two
// barriers. It stands for jobs of any number of ranks on two cores.

#include <vector>

#include "comparison/combine.h"
#include "comparison/contender.h"
#include "comparison/core_pair.h"

namespace xylem::bench {

// Owns memory mapped from the kernel, which is untouched until it is used.
class Buffer {
 public:
  Buffer() = default;
  explicit Buffer(std::uint64_t bytes);
  ~Buffer();
  Buffer(Buffer&& other) noexcept;
  Buffer& operator=(Buffer&& other) noexcept;
  float* data() const { return data_; }

 private:
  float* data_ = nullptr;
  std::uint64_t bytes_ = 0;
};

class MappedLimit : public Contender {
 public:
  MappedLimit(CorePair& pair, int ranks, Stores stores);

  void prepare(std::uint64_t bytes) override;
  double measure(const Case& c, unsigned iterations, unsigned warmUps) override;
  std::optional<std::uint64_t> check(const Case& c) override;
  int buffers() const override { return 2 * ranks_; }

 private:
  struct Job {
    std::vector<const float*> in;
    std::vector<float*> out;
    std::uint64_t count;
  };
  // Does half of the work: that of side 0 or 1.
  std::vector<Job> jobsOf(const Case& c, int side) const;

  CorePair& pair_;
  const int ranks_;
  const Stores stores_;
  std::vector<Buffer> in_, out_;
};

}  // namespace xylem::bench
