#pragma once
// The kernel's machine (machine.h) on NVIDIA's GPUs, for nvcc only. Accesses are written in PTX, where their order and their scope
// can be said. All of them are for any compute capability from 7.0 on.
//
//   gpu::CudaMachine machine;
//   gpu::runLane(machine, block, lanes[blockIdx.x]);
//
// Nothing here is read through the caches for constant data (ld.global.nc): other GPUs and the host write what a kernel reads.

#include <cstddef>
#include <cstdint>

#include "runtime/gpu/machine.h"

namespace xylem::gpu {

class CudaMachine {
 public:
  static constexpr int kLanes = 32;
  // The abort word lies in memory of the host: a look costs a round trip over the bus.
  static constexpr int kSpinsPerLook = 256;
  static constexpr int kSpinsPerReport = 1 << 20;

  __device__ int thread() const { return static_cast<int>(threadIdx.x); }
  __device__ int threads() const { return static_cast<int>(blockDim.x); }

  // Not the `aligned` forms: threads of a warp that waited for words of LL may come one after the other.
  __device__ void arrive(int barrier, int threads) {
    asm volatile("barrier.cta.arrive %0, %1;" ::"r"(barrier), "r"(threads) : "memory");
  }
  __device__ void sync(int barrier, int threads) {
    asm volatile("barrier.cta.sync %0, %1;" ::"r"(barrier), "r"(threads) : "memory");
  }
  __device__ void syncWarp() { __syncwarp(); }
  __device__ bool all(bool mine) { return __all_sync(0xffffffffu, mine) != 0; }
  __device__ bool any(bool mine) { return __any_sync(0xffffffffu, mine) != 0; }
  __device__ void pause() {}
  __device__ std::uint64_t clock() {
    std::uint64_t nanoseconds;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(nanoseconds)::"memory");
    return nanoseconds;
  }

  __device__ std::uint64_t loadAcquire(const std::uint64_t* from) {
    std::uint64_t value;
    asm volatile("ld.acquire.sys.global.u64 %0, [%1];" : "=l"(value) : "l"(global(from)) : "memory");
    return value;
  }
  // Ordered after everything that the threads of the block wrote before the barrier that this thread has passed.
  __device__ void storeRelease(std::uint64_t* to, std::uint64_t value) {
    asm volatile("st.release.sys.global.u64 [%0], %1;" ::"l"(global(to)), "l"(value) : "memory");
  }
  __device__ void count(std::uint32_t* counter) {
    asm volatile("red.release.sys.global.add.u32 [%0], 1;" ::"l"(global(counter)) : "memory");
  }
  __device__ void releaseFence() { asm volatile("fence.acq_rel.sys;" ::: "memory"); }
  __device__ void storeFenced(std::uint64_t* to, std::uint64_t value) { storeRelaxed(to, value); }
  __device__ void storeFenced(std::uint32_t* to, std::uint32_t value) { storeRelaxed(to, value); }
  __device__ std::uint64_t loadRelaxed(const std::uint64_t* from) {
    std::uint64_t value;
    asm volatile("ld.relaxed.sys.global.u64 %0, [%1];" : "=l"(value) : "l"(global(from)) : "memory");
    return value;
  }
  __device__ void storeRelaxed(std::uint64_t* to, std::uint64_t value) {
    asm volatile("st.relaxed.sys.global.u64 [%0], %1;" ::"l"(global(to)), "l"(value) : "memory");
  }
  // These two are also for shared memory.
  __device__ std::uint32_t loadRelaxed(const std::uint32_t* from) {
    std::uint32_t value;
    asm volatile("ld.relaxed.sys.u32 %0, [%1];" : "=r"(value) : "l"(from) : "memory");
    return value;
  }
  __device__ void storeRelaxed(std::uint32_t* to, std::uint32_t value) {
    asm volatile("st.relaxed.sys.u32 [%0], %1;" ::"l"(to), "r"(value) : "memory");
  }

  template <typename T>
  __device__ T load(const std::byte* from) {
    if constexpr (sizeof(T) == 8) {
      std::uint64_t value;
      asm volatile("ld.global.u64 %0, [%1];" : "=l"(value) : "l"(global(from)) : "memory");
      return value;
    } else if constexpr (sizeof(T) == 4) {
      std::uint32_t value;
      asm volatile("ld.global.u32 %0, [%1];" : "=r"(value) : "l"(global(from)) : "memory");
      return value;
    } else if constexpr (sizeof(T) == 2) {
      std::uint16_t value;
      asm volatile("ld.global.u16 %0, [%1];" : "=h"(value) : "l"(global(from)) : "memory");
      return value;
    } else {
      std::uint32_t value;
      asm volatile("ld.global.u8 %0, [%1];" : "=r"(value) : "l"(global(from)) : "memory");
      return static_cast<T>(value);
    }
  }
  template <typename T>
  __device__ void store(std::byte* to, T value) {
    if constexpr (sizeof(T) == 8)
      asm volatile("st.global.u64 [%0], %1;" ::"l"(global(to)), "l"(static_cast<std::uint64_t>(value))
                   : "memory");
    else if constexpr (sizeof(T) == 4)
      asm volatile("st.global.u32 [%0], %1;" ::"l"(global(to)), "r"(static_cast<std::uint32_t>(value))
                   : "memory");
    else if constexpr (sizeof(T) == 2)
      asm volatile("st.global.u16 [%0], %1;" ::"l"(global(to)), "h"(static_cast<std::uint16_t>(value))
                   : "memory");
    else
      asm volatile("st.global.u8 [%0], %1;" ::"l"(global(to)), "r"(static_cast<std::uint32_t>(value))
                   : "memory");
  }
  __device__ Pack loadPack(const std::byte* from) {
    Pack pack;
    asm volatile("ld.global.v2.u64 {%0, %1}, [%2];"
                 : "=l"(pack.words[0]), "=l"(pack.words[1])
                 : "l"(global(from))
                 : "memory");
    return pack;
  }
  __device__ void storePack(std::byte* to, const Pack& pack) {
    asm volatile("st.global.v2.u64 [%0], {%1, %2};" ::"l"(global(to)), "l"(pack.words[0]), "l"(pack.words[1])
                 : "memory");
  }

  // An access of two words is two accesses of a word each, in any order; a word is never torn.
  __device__ std::uint64_t loadWord(const std::byte* from) {
    std::uint64_t word;
    asm volatile("ld.relaxed.sys.global.u64 %0, [%1];" : "=l"(word) : "l"(global(from)) : "memory");
    return word;
  }
  __device__ Pack loadWords(const std::byte* from) {
    Pack words;
    asm volatile("ld.relaxed.sys.global.v2.u64 {%0, %1}, [%2];"
                 : "=l"(words.words[0]), "=l"(words.words[1])
                 : "l"(global(from))
                 : "memory");
    return words;
  }
  __device__ void storeWord(std::byte* to, std::uint64_t word) {
    asm volatile("st.relaxed.sys.global.u64 [%0], %1;" ::"l"(global(to)), "l"(word) : "memory");
  }
  __device__ void storeWords(std::byte* to, const Pack& words) {
    asm volatile("st.relaxed.sys.global.v2.u64 [%0], {%1, %2};" ::"l"(global(to)), "l"(words.words[0]),
                 "l"(words.words[1])
                 : "memory");
  }

  // Eight threads load or store the 128 bytes of a line with one instruction, and count on the memory system to keep them
  // together: the flag arrives with its line. PTX does not promise that; NCCL's LL128 relies on it, too, and plans use the
  // protocol only between GPUs where it holds.
  __device__ bool loadLine(const std::byte* from, std::uint64_t flag, Pack& bytes) {
    if (from != nullptr) bytes = loadWords(from);
    const std::uint64_t found = __shfl_sync(0xffffffffu, bytes.words[1], thread() | 7);
    return from == nullptr || found == flag;
  }
  __device__ void storeLine(std::byte* to, std::uint64_t flag, const Pack& bytes) {
    const bool isLast = thread() % 8 == 7;
    __syncwarp();
    if (to != nullptr) storeWords(to, Pack{{bytes.words[0], isLast ? flag : bytes.words[1]}});
  }

 private:
  __device__ static std::size_t global(const void* address) { return __cvta_generic_to_global(address); }
};

static_assert(Machine<CudaMachine>);

}  // namespace xylem::gpu
