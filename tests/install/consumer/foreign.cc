// A program as others write them for NCCL and CUDA: polling loops, null streams in a group, events, graphs, memory pools,
// functions by name, annotations. It compiles with NVIDIA's headers as with Xylem's, and each part prints its name when
// its results are right.

#include <cuda.h>
#include <cuda_runtime.h>
#include <nccl.h>
#include <nvtx3/nvToolsExt.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

#define CUDA(call)                                                                           \
  do {                                                                                       \
    const cudaError_t error_ = (call);                                                       \
    if (error_ != cudaSuccess) {                                                             \
      std::printf("%s:%d: %s: %s\n", __FILE__, __LINE__, #call, cudaGetErrorString(error_)); \
      std::exit(1);                                                                          \
    }                                                                                        \
  } while (0)
#define NCCL(call)                                                                          \
  do {                                                                                      \
    const ncclResult_t result_ = (call);                                                    \
    if (result_ != ncclSuccess) {                                                           \
      std::printf("%s:%d: %s: %s\n", __FILE__, __LINE__, #call, ncclGetLastError(nullptr)); \
      std::exit(1);                                                                         \
    }                                                                                       \
  } while (0)
#define EXPECT(condition)                                                 \
  do {                                                                    \
    if (!(condition)) {                                                   \
      std::printf("%s:%d: not so: %s\n", __FILE__, __LINE__, #condition); \
      std::exit(1);                                                       \
    }                                                                     \
  } while (0)

namespace {

constexpr int kDevices = 2;
constexpr std::size_t kCount = 1 << 16;

struct Device {
  ncclComm_t comm = nullptr;
  cudaStream_t stream = nullptr;
  float* data = nullptr;
};
std::vector<Device> devices(kDevices);

void fill(float value) {
  const std::vector<float> host(kCount, value);
  for (int i = 0; i < kDevices; ++i) {
    CUDA(cudaSetDevice(i));
    CUDA(cudaMemcpy(devices[i].data, host.data(), kCount * sizeof(float), cudaMemcpyHostToDevice));
  }
}
bool holds(float value) {
  std::vector<float> host(kCount);
  for (int i = 0; i < kDevices; ++i) {
    CUDA(cudaSetDevice(i));
    CUDA(cudaMemcpy(host.data(), devices[i].data, kCount * sizeof(float), cudaMemcpyDeviceToHost));
    if (host.front() != value || host.back() != value) return false;
  }
  return true;
}
void allReduce(bool nullStreams = false) {
  NCCL(ncclGroupStart());
  for (Device& device : devices)
    NCCL(ncclAllReduce(device.data, device.data, kCount, ncclFloat, ncclSum, device.comm,
                       nullStreams ? nullptr : device.stream));
  NCCL(ncclGroupEnd());
}

// As the benchmarks do: ask until it is done.
void polling() {
  fill(1);
  for (int turn = 0; turn < 10; ++turn) {
    allReduce();
    for (const Device& device : devices) {
      cudaError_t state = cudaErrorNotReady;
      while ((state = cudaStreamQuery(device.stream)) == cudaErrorNotReady) {
        ncclResult_t failure = ncclSuccess;
        NCCL(ncclCommGetAsyncError(device.comm, &failure));
        EXPECT(failure == ncclSuccess);
      }
      CUDA(state);
    }
  }
  EXPECT(holds(1024));
}

// The current device is another one's throughout.
void nullStreams() {
  fill(3);
  CUDA(cudaSetDevice(0));
  allReduce(true);
  for (int i = 0; i < kDevices; ++i) {
    CUDA(cudaSetDevice(i));
    CUDA(cudaDeviceSynchronize());
  }
  EXPECT(holds(6));
}

void threadsWithEvents() {
  fill(2);
  std::vector<std::thread> threads;
  for (int i = 0; i < kDevices; ++i)
    threads.emplace_back([i] {
      Device& device = devices[i];
      cudaEvent_t start, end;
      float milliseconds = -1;
      CUDA(cudaSetDevice(i));
      CUDA(cudaEventCreate(&start));
      CUDA(cudaEventCreate(&end));
      CUDA(cudaEventRecord(start, device.stream));
      NCCL(ncclAllReduce(device.data, device.data, kCount, ncclFloat, ncclProd, device.comm, device.stream));
      CUDA(cudaEventRecord(end, device.stream));
      while (cudaEventQuery(end) == cudaErrorNotReady) {
      }
      CUDA(cudaEventElapsedTime(&milliseconds, start, end));
      EXPECT(milliseconds >= 0);
      CUDA(cudaEventDestroy(start));
      CUDA(cudaEventDestroy(end));
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT(holds(4));
}

void graphs() {
  fill(1);
  std::vector<cudaGraphExec_t> launchable(kDevices);
  for (int i = 0; i < kDevices; ++i) {
    CUDA(cudaSetDevice(i));
    CUDA(cudaStreamBeginCapture(devices[i].stream, cudaStreamCaptureModeThreadLocal));
  }
  allReduce();
  for (int i = 0; i < kDevices; ++i) {
    cudaGraph_t graph;
    CUDA(cudaSetDevice(i));
    CUDA(cudaStreamEndCapture(devices[i].stream, &graph));
    CUDA(cudaGraphInstantiate(&launchable[i], graph, 0));
    CUDA(cudaGraphDestroy(graph));
  }
  for (int turn = 0; turn < 3; ++turn)
    for (int i = 0; i < kDevices; ++i) CUDA(cudaGraphLaunch(launchable[i], devices[i].stream));
  for (int i = 0; i < kDevices; ++i) {
    CUDA(cudaStreamSynchronize(devices[i].stream));
    CUDA(cudaGraphExecDestroy(launchable[i]));
  }
  EXPECT(holds(8));
}

// The structure is that of the headers with which this was compiled.
void properties() {
  struct {
    cudaDeviceProp known;
    unsigned char after[64];
  } guarded;
  std::memset(&guarded, 0xa5, sizeof guarded);
  CUDA(cudaGetDeviceProperties(&guarded.known, 0));
  for (const unsigned char byte : guarded.after) EXPECT(byte == 0xa5);
  EXPECT(guarded.known.major >= 7 && guarded.known.multiProcessorCount > 0 &&
         guarded.known.totalGlobalMem > 0);
  int runtime = 0;
  CUDA(cudaRuntimeGetVersion(&runtime));
  EXPECT(runtime / 1000 >= CUDART_VERSION / 1000);
}

void pools() {
  cudaMemPoolProps wanted = {};
  wanted.allocType = cudaMemAllocationTypePinned;
  wanted.handleTypes = cudaMemHandleTypePosixFileDescriptor;
  wanted.location.type = cudaMemLocationTypeDevice;
  cudaMemPool_t pool, shared;
  cudaMemPoolPtrExportData name;
  void *memory = nullptr, *same = nullptr;
  int file = -1;
  CUDA(cudaSetDevice(0));
  CUDA(cudaMemPoolCreate(&pool, &wanted));
  CUDA(cudaMallocFromPoolAsync(&memory, 4096, pool, devices[0].stream));
  CUDA(cudaMemPoolExportToShareableHandle(&file, pool, cudaMemHandleTypePosixFileDescriptor, 0));
  CUDA(cudaMemPoolImportFromShareableHandle(&shared, reinterpret_cast<void*>(static_cast<long>(file)),
                                            cudaMemHandleTypePosixFileDescriptor, 0));
  CUDA(cudaMemPoolExportPointer(&name, memory));
  CUDA(cudaMemPoolImportPointer(&same, shared, &name));
  CUDA(cudaMemset(memory, 7, 4096));
  unsigned char byte = 0;
  CUDA(cudaMemcpy(&byte, static_cast<unsigned char*>(same) + 4095, 1, cudaMemcpyDeviceToHost));
  EXPECT(byte == 7);
  CUDA(cudaFreeAsync(same, devices[0].stream));
  CUDA(cudaFreeAsync(memory, devices[0].stream));
  CUDA(cudaMemPoolDestroy(shared));
  CUDA(cudaMemPoolDestroy(pool));
}

// As benchmarks and plugins ask the driver.
void driver() {
  CUdevice device;
  CUcontext context;
  int count = 0, version = 0, kind = 0;
  EXPECT(cuInit(0) == CUDA_SUCCESS && cuDriverGetVersion(&version) == CUDA_SUCCESS && version >= 12000);
  EXPECT(cuDeviceGetCount(&count) == CUDA_SUCCESS && count == kDevices);
  EXPECT(cuDeviceGet(&device, 1) == CUDA_SUCCESS &&
         cuDevicePrimaryCtxRetain(&context, device) == CUDA_SUCCESS);
  EXPECT(cuPointerGetAttribute(&kind, CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
                               reinterpret_cast<CUdeviceptr>(devices[0].data)) == CUDA_SUCCESS);
  EXPECT(kind == CU_MEMORYTYPE_DEVICE && cuDevicePrimaryCtxRelease(device) == CUDA_SUCCESS);
}

void part(const char* name, void (*run)()) {
  nvtxEventAttributes_t event = {};
  event.version = NVTX_VERSION;
  event.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
  event.messageType = NVTX_MESSAGE_TYPE_ASCII;
  event.message.ascii = name;
  nvtxRangePushEx(&event);
  run();
  nvtxRangePop();
  std::printf("   %s\n", name);
}

}  // namespace

int main() {
  std::vector<ncclComm_t> comms(kDevices);
  NCCL(ncclCommInitAll(comms.data(), kDevices, nullptr));
  for (int i = 0; i < kDevices; ++i) {
    devices[i].comm = comms[i];
    CUDA(cudaSetDevice(i));
    CUDA(cudaStreamCreate(&devices[i].stream));
    CUDA(cudaMalloc(&devices[i].data, kCount * sizeof(float)));
  }
  part("polling", polling);
  part("null streams", nullStreams);
  part("threads with events", threadsWithEvents);
  part("graphs", graphs);
  part("properties", properties);
  part("pools", pools);
  part("driver", driver);
  for (Device& device : devices) {
    CUDA(cudaFree(device.data));
    CUDA(cudaStreamDestroy(device.stream));
  }
  NCCL(ncclGroupStart());
  for (Device& device : devices) NCCL(ncclCommDestroy(device.comm));
  NCCL(ncclGroupEnd());
}
