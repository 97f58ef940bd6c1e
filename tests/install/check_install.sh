#!/usr/bin/env bash
# Installs the build into a temporary prefix, moves it, and builds and runs a program for each library from there: once
# with find_package(xylem), once with pkg-config.
#   check_install.sh CMAKE BUILD_DIRECTORY CXX LIBDIR
set -euo pipefail
cmake=$1 build=$2 cxx=$3 libdir=$4
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
source_dir=$(cd "$here/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export XDG_CACHE_HOME=$work/cache # of the programs that run here
step() { echo "-- $*"; }

step "install"
"$cmake" --install "$build" --prefix "$work/first" >/dev/null
mv "$work/first" "$work/prefix" # installed files must not contain the build folder's path
prefix=$work/prefix
for file in bin/xylem "$libdir/libxylem.so" "$libdir/libxylem-plan.so" include/xylem/plan.h \
  include/xylem/nccl/nccl.h include/xylem/nccl/nccl_net.h include/xylem/nccl/nccl_tuner.h include/xylem/nccl/nccl_profiler.h \
  include/xylem/nccl/nccl_env.h include/xylem/nccl/nccl_common.h include/xylem/nccl/host/nvtx3/nvtx3.hpp share/xylem/topologies/dgxh100.xml; do
  [ -e "$prefix/$file" ] || { echo "not installed: $file" && exit 1; }
done
topology=$prefix/share/xylem/topologies/dgxh100.xml

step "exported functions"
# Only names that include/ declares; any other one is an internal name.
for library in xylem xylem-plan; do
  leaked=$(nm -DC --defined-only "$prefix/$libdir/lib$library.so" | awk '$2 == "T"' |
    grep -vE ' T (p?nccl|cuda|cu[A-Z]|xylem::(JobPlan|PlanError|Launch|LaunchError)::)' || true)
  [ -z "$leaked" ] || { echo "lib$library exports more than its headers declare:" && echo "$leaked" && exit 1; }
done

step "the command"
# Plugins that xylem perf loads import these.
exported=$(nm -D --defined-only "$prefix/bin/xylem")
for function in cudaEventCreate cudaEventQuery cudaEventRecord cudaMalloc cudaMemcpyAsync cudaStreamQuery; do
  grep -q " $function$" <<<"$exported" || { echo "xylem does not export $function" && exit 1; }
done
"$prefix/bin/xylem" --version

step "consumers with find_package"
"$cmake" -S "$here/consumer" -B "$work/consumer" -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_CXX_COMPILER="$cxx" \
  -DPLAN_EXAMPLE="$source_dir/examples/plan_library.cc" >/dev/null
"$cmake" --build "$work/consumer"
"$work/consumer/plan_consumer" "$topology" 2
"$work/consumer/nccl_consumer"

step "consumers with pkg-config"
export PKG_CONFIG_PATH=$prefix/$libdir/pkgconfig
# shellcheck disable=SC2046  # flags are words
"$cxx" -std=c++20 "$source_dir/examples/plan_library.cc" -o "$work/plan" $(pkg-config --cflags --libs xylem-plan)
# shellcheck disable=SC2046
"$cxx" -std=c++20 "$here/consumer/nccl_consumer.cc" -o "$work/nccl" $(pkg-config --cflags --libs xylem)
"$work/plan" "$topology"
"$work/nccl"

step "consumers with xylem-cc"
# The same file as .cu, and the examples without a change.
cp "$here/consumer/nccl_consumer.cc" "$work/consumer.cu"
export XYLEM_CXX=$cxx
"$prefix/bin/xylem-cc" -std=c++20 -c "$work/consumer.cu" -o "$work/consumer.o"
"$prefix/bin/xylem-cc" "$work/consumer.o" -lcudart -lnccl -o "$work/cu"
"$work/cu"
cat >"$work/launched.cc" <<'PROGRAM'
#include <xylem/launch.h>

int main() { return 0; }
PROGRAM
"$prefix/bin/xylem-cc" -c "$work/launched.cc" -o "$work/launched.o"
for example in "$source_dir"/examples/nccl_*.c*; do
  program=$work/$(basename "$example")-program
  "$prefix/bin/xylem-cc" "$example" -o "$program"
  NCCL_SOCKET_IFNAME=lo XYLEM_HOST_DEVICES=4 timeout 60 "$program"
done

cat >"$work/nvml.c" <<'PROGRAM'
#include <nvml.h>

int main(void) {
  unsigned int count = 0;
  nvmlDevice_t device;
  nvmlPciInfo_t info;
  nvmlEnableState_t state;
  if (nvmlInit() != NVML_SUCCESS || nvmlDeviceGetCount(&count) != NVML_SUCCESS || count == 0) return 1;
  if (nvmlDeviceGetHandleByIndex(0, &device) != NVML_SUCCESS) return 1;
  if (nvmlDeviceGetPciInfo(device, &info) != NVML_SUCCESS || info.busId[0] != '0') return 1;
  if (nvmlDeviceGetNvLinkState(device, 0, &state) != NVML_ERROR_NOT_SUPPORTED) return 1;
  return nvmlShutdown() == NVML_SUCCESS ? 0 : 1;
}
PROGRAM
"$prefix/bin/xylem-cc" -std=c99 -pedantic -Wall -Wextra -Werror "$work/nvml.c" -lnvidia-ml -o "$work/nvml"
XYLEM_HOST_DEVICES=2 "$work/nvml"

# Programs of C include these beside the runtime; NVTX has its names of version 3 and of those before.
cat >"$work/headers.c" <<'PROGRAM'
#include <cudaTypedefs.h>
#include <cuda_fp4.h>
#include <cuda_fp6.h>
#include <math_constants.h>
#include <nccl_env.h>
#include <nccl_net.h>
#include <nccl_profiler.h>
#include <nccl_tuner.h>
#include <nvToolsExt.h>
#include <nvtx3/nvToolsExt.h>
#include <nvtx3/nvToolsExtCuda.h>
#include <nvtx3/nvToolsExtCudaRt.h>

int main(void) {
  PFN_cuDriverGetVersion ask = 0;
  nvtxEventAttributes_t event = {0};
  int version = 0;
  event.version = NVTX_VERSION;
  event.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
  event.messageType = NVTX_MESSAGE_TYPE_ASCII;
  event.message.ascii = "start";
  nvtxRangePushEx(&event);
  if (cuGetProcAddress("cuDriverGetVersion", (void**)&ask, 12000, CU_GET_PROC_ADDRESS_DEFAULT, 0) != CUDA_SUCCESS) return 1;
  nvtxNameCudaStreamA(0, "default");
  return ask(&version) == CUDA_SUCCESS && version > 0 && nvtxRangePop() < 0 && CUDART_PI > 3.14 ? 0 : 1;
}
PROGRAM
"$prefix/bin/xylem-cc" -std=c99 -Wall -Wextra -Werror "$work/headers.c" -lcuda -lnvToolsExt -o "$work/headers"
"$work/headers"

# A net plugin compiled against the installed header.
cat >"$work/net.c" <<'PROGRAM'
#include <nccl_net.h>

static ncclResult_t init(ncclDebugLogger_t log, ncclProfilerCallback_t profile) {
  (void)profile;
  log(NCCL_LOG_INFO, NCCL_NET, __func__, __LINE__, "the plugin of the test has no devices");
  return ncclSuccess;
}
static ncclResult_t devices(int* count) {
  *count = 0;
  return ncclSuccess;
}
__attribute__((visibility("default"))) ncclNet_t NCCL_NET_PLUGIN_SYMBOL = {.name = "test", .init = init, .devices = devices};
PROGRAM
"$prefix/bin/xylem-cc" -std=c99 -Wall -Werror -Wno-missing-field-initializers -shared -fPIC "$work/net.c" -o "$work/libnccl-net-test.so"
NCCL_DEBUG=INFO NCCL_SOCKET_IFNAME=lo XYLEM_HOST_DEVICES=2 NCCL_NET_PLUGIN=$work/libnccl-net-test.so \
  "$work/nccl" >"$work/said" 2>&1 || { cat "$work/said" && exit 1; }

step "a tree of CUDA's and NCCL's shape"
home=$prefix/share/xylem/cuda-home
"$cxx" -I"$home/include" -x c "$work/headers.c" -x none -L"$home/lib64" -lcuda -lxylem -o "$work/headers_by_home"
LD_LIBRARY_PATH=$home/lib64 "$work/headers_by_home"
"$cxx" -I"$home/include" -x c "$work/nvml.c" -x none -L"$home/lib64" -lnvidia-ml -lxylem -o "$work/nvml_by_home"
LD_LIBRARY_PATH=$home/lib64 "$work/nvml_by_home"
grep -q "release [0-9.]*, V[0-9.]*" <<<"$("$home/bin/nvcc" --version)" || { echo "nvcc tells no version" && exit 1; }
(
  unset LD_LIBRARY_PATH
  # As Makefiles do, as pkg-config does, and by CMake.
  "$cxx" -I"$home/include" -x c++ "$work/consumer.cu" -x none -L"$home/lib64" -lcudart_static -lcudadevrt -lcuda -lnccl \
    -std=c++20 -o "$work/by_home"
  LD_LIBRARY_PATH=$home/lib64 "$work/by_home"
  # shellcheck disable=SC2046
  PKG_CONFIG_PATH=$home/lib64/pkgconfig sh -c '"$@" $(pkg-config --cflags --libs nccl cudart)' - \
    "$cxx" -std=c++20 "$here/consumer/nccl_consumer.cc" -o "$work/by_pc"
  "$work/by_pc"
  mkdir "$work/toolkit"
  cp "$here/consumer/nccl_consumer.cc" "$work/toolkit"
  cat >"$work/toolkit/CMakeLists.txt" <<'PROJECT'
cmake_minimum_required(VERSION 3.20)
project(toolkit CXX)
set(CMAKE_CXX_STANDARD 20)
find_package(CUDAToolkit REQUIRED)
find_library(NCCL nccl PATHS ${CUDAToolkit_LIBRARY_DIR} NO_DEFAULT_PATH REQUIRED)
add_executable(toolkit nccl_consumer.cc)
target_link_libraries(toolkit PRIVATE CUDA::cudart CUDA::cuda_driver ${NCCL})
PROJECT
  "$cmake" -S "$work/toolkit" -B "$work/toolkit/build" -DCMAKE_CXX_COMPILER="$cxx" -DCUDAToolkit_ROOT="$home" >/dev/null
  "$cmake" --build "$work/toolkit/build" >/dev/null
  LD_LIBRARY_PATH=$home/lib64 "$work/toolkit/build/toolkit"

  # CUDA as a language of the project, with separate compilation, and FindCUDA.
  mkdir "$work/language"
  cp "$here/consumer/nccl_consumer.cc" "$work/language/consumer.cu"
  cat >"$work/language/part.cu" <<'PROGRAM'
#if !defined(__CUDACC__) || !defined(__NVCC__) || __CUDACC_VER_MAJOR__ < 12
#error this is not nvcc
#endif
int devices() {
  int count = 0;
  return cudaGetDeviceCount(&count) == cudaSuccess ? max(count, 0) : -1;
}
PROGRAM
  cp "$work/language/part.cu" "$work/language/found.cu" # FindCUDA compiles it on its own
  cat >"$work/language/main.cc" <<'PROGRAM'
int devices();
int main() { return devices() > 0 ? 0 : 1; }
PROGRAM
  cat >"$work/language/CMakeLists.txt" <<'PROJECT'
cmake_minimum_required(VERSION 3.20)
project(language CXX CUDA)
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CUDA_STANDARD 20)
find_package(CUDAToolkit REQUIRED)
add_executable(language consumer.cu)
target_link_libraries(language PRIVATE CUDA::cudart)
add_library(part STATIC part.cu)
set_target_properties(part PROPERTIES CUDA_SEPARABLE_COMPILATION ON POSITION_INDEPENDENT_CODE ON)
add_executable(parts main.cc)
target_link_libraries(parts PRIVATE part CUDA::cudart_static)
find_package(CUDA REQUIRED)
cuda_add_executable(found found.cu main.cc)
PROJECT
  "$cmake" -Wno-dev -S "$work/language" -B "$work/language/build" -DCMAKE_CXX_COMPILER="$cxx" \
    -DCMAKE_CUDA_COMPILER="$home/bin/nvcc" -DCUDA_TOOLKIT_ROOT_DIR="$home" >"$work/said" 2>&1 || { cat "$work/said" && exit 1; }
  XYLEM_QUIET=1 "$cmake" --build "$work/language/build" >"$work/said" 2>&1 || { cat "$work/said" && exit 1; }
  for program in language parts found; do LD_LIBRARY_PATH=$home/lib64 "$work/language/build/$program"; done
)

step "libraries under the names that binaries ask for"
cat >"$work/asks.cc" <<'PROGRAM'
#include <dlfcn.h>

#include <cstdio>
#include <cstring>

// The version that a library tells; -1 if it lacks the function, or no file of its name is mapped.
int versionOf(const char* library, const char* function) {
  void* const opened = dlopen(library, RTLD_NOW);
  if (opened == nullptr) return std::puts(dlerror()), -1;
  auto* const tell = reinterpret_cast<int (*)(int*)>(dlsym(opened, function));
  bool mapped = false;
  std::FILE* const maps = std::fopen("/proc/self/maps", "r");
  for (char line[4096]; std::fgets(line, sizeof line, maps) != nullptr;)
    mapped = mapped || std::strstr(line, library) != nullptr;
  std::fclose(maps);
  int version = -1;
  return tell != nullptr && mapped && tell(&version) == 0 ? version : -1;
}

// An id, two communicators in this process, and what they count.
bool joins() {
  void* const nccl = dlopen("libnccl.so.2", RTLD_NOW);
  char id[128] = {};
  void* comms[2] = {};
  int count = 0;
  auto* const newId = reinterpret_cast<int (*)(char*)>(dlsym(nccl, "ncclGetUniqueId"));
  auto* const init = reinterpret_cast<int (*)(void**, int, const int*)>(dlsym(nccl, "ncclCommInitAll"));
  auto* const ranks = reinterpret_cast<int (*)(void*, int*)>(dlsym(nccl, "ncclCommCount"));
  auto* const abort = reinterpret_cast<int (*)(void*)>(dlsym(nccl, "ncclCommAbort"));
  if (newId == nullptr || init == nullptr || ranks == nullptr || abort == nullptr) return false;
  if (newId(id) != 0 || init(comms, 2, nullptr) != 0 || ranks(comms[1], &count) != 0) return false;
  return abort(comms[0]) == 0 && abort(comms[1]) == 0 && count == 2;
}

// The devices that NVML counts, by names and ids; -1 if it fails.
int devicesOfNvml() {
  void* const nvml = dlopen("libnvidia-ml.so.1", RTLD_NOW);
  if (nvml == nullptr) return std::puts(dlerror()), -1;
  const auto in = [nvml](const char* name) { return dlsym(nvml, name); };
  const auto init = reinterpret_cast<int (*)()>(in("nvmlInit_v2"));
  const auto shutdown = reinterpret_cast<int (*)()>(in("nvmlShutdown"));
  const auto count = reinterpret_cast<int (*)(unsigned*)>(in("nvmlDeviceGetCount_v2"));
  const auto byIndex = reinterpret_cast<int (*)(unsigned, void**)>(in("nvmlDeviceGetHandleByIndex_v2"));
  const auto byBusId = reinterpret_cast<int (*)(const char*, void**)>(in("nvmlDeviceGetHandleByPciBusId_v2"));
  const auto index = reinterpret_cast<int (*)(void*, unsigned*)>(in("nvmlDeviceGetIndex"));
  const auto name = reinterpret_cast<int (*)(void*, char*, unsigned)>(in("nvmlDeviceGetName"));
  const auto uuid = reinterpret_cast<int (*)(void*, char*, unsigned)>(in("nvmlDeviceGetUUID"));
  const auto pair = reinterpret_cast<int (*)(void*, void*, int, int*)>(in("nvmlDeviceGetP2PStatus"));
  const auto link = reinterpret_cast<int (*)(void*, unsigned, int*)>(in("nvmlDeviceGetNvLinkState"));
  const auto driver = reinterpret_cast<int (*)(char*, unsigned)>(in("nvmlSystemGetDriverVersion"));
  const auto capability = reinterpret_cast<int (*)(void*, int*, int*)>(in("nvmlDeviceGetCudaComputeCapability"));
  const auto error = reinterpret_cast<const char* (*)(int)>(in("nvmlErrorString"));
  unsigned devices = 0, number = 0;
  void *first = nullptr, *second = nullptr;
  int status = -1, major = 0, minor = 0;
  char text[96];
  if (count(&devices) != 1) return -1;  // not initialized
  if (init() != 0 || count(&devices) != 0 || byIndex(0, &first) != 0 || byIndex(devices, &second) != 2) return -1;
  if (byBusId("0000FFFF:00:01.0", &second) != 0 || index(second, &number) != 0 || number != 1) return -1;
  if (byBusId("00000000:3b:00.0", &second) != 6 || byIndex(1, &second) != 0) return -1;
  if (name(first, text, sizeof text) != 0 || std::strcmp(text, "Xylem host device 0") != 0) return -1;
  if (name(first, text, 4) != 7 || uuid(first, text, sizeof text) != 0 || std::strlen(text) != 40) return -1;
  if (pair(first, second, 0, &status) != 0 || status != 0) return -1;
  if (pair(first, second, 2, &status) != 0 || status != 5 || link(first, 0, &status) != 3) return -1;
  if (capability(first, &major, &minor) != 0 || major != 9) return -1;
  if (driver(text, sizeof text) != 0 || std::strlen(error(3)) == 0) return -1;
  return shutdown() == 0 && shutdown() == 1 ? static_cast<int>(devices) : -1;
}

// A location as CUDA 13 passes it in place of a device; and edges of a graph, which come with data.
bool has13() {
  struct Location {
    int type, id;
  };
  void* const library = dlopen("libcudart.so.13", RTLD_NOW);
  const auto in = [library](const char* name) { return dlsym(library, name); };
  const auto prefetch =
      reinterpret_cast<int (*)(const void*, std::size_t, Location, unsigned, void*)>(in("cudaMemPrefetchAsync"));
  const auto advise = reinterpret_cast<int (*)(const void*, std::size_t, int, Location)>(in("cudaMemAdvise"));
  const auto newGraph = reinterpret_cast<int (*)(void**, unsigned)>(in("cudaGraphCreate"));
  const auto edges = reinterpret_cast<int (*)(void*, void*, void*, void*, std::size_t*)>(in("cudaGraphGetEdges"));
  const auto depend = reinterpret_cast<int (*)(void*, const void*, const void*, const void*, std::size_t)>(
      in("cudaGraphAddDependencies"));
  const auto managed = reinterpret_cast<int (*)(void**, std::size_t, unsigned)>(in("cudaMallocManaged"));
  void* memory = nullptr;
  void* graph = nullptr;
  std::size_t count = 0;
  const Location device{1, 0};
  return managed(&memory, 4096, 1) == 0 && prefetch(memory, 4096, device, 0, nullptr) == 0 &&
         prefetch(memory, 4096, device, 7, nullptr) != 0 && advise(memory, 4096, 1, device) == 0 &&
         newGraph(&graph, 0) == 0 && edges(graph, nullptr, nullptr, nullptr, &count) == 0 &&
         depend(graph, nullptr, nullptr, nullptr, 0) == 0;
}

int main() {
  const int nccl = versionOf("libnccl.so.2", "ncclGetVersion");
  const int runtime = versionOf("libcudart.so.12", "cudaRuntimeGetVersion");
  if (versionOf("libcudart.so.13", "cudaRuntimeGetVersion") / 1000 != 13 || !has13()) return 2;
  const int driver = versionOf("libcuda.so.1", "cuDriverGetVersion");
  std::printf("   NCCL %d, runtime %d, driver %d\n", nccl, runtime, driver);
  return nccl > 20000 && runtime / 1000 == 12 && driver >= runtime && joins() && devicesOfNvml() == 2 ? 0 : 1;
}
PROGRAM
"$cxx" -std=c++17 "$work/asks.cc" -ldl -o "$work/asks"
export NCCL_SOCKET_IFNAME=lo XYLEM_HOST_DEVICES=2
(unset LD_PRELOAD && LD_LIBRARY_PATH=$prefix/$libdir/xylem/as-nccl "$work/asks")
(unset LD_PRELOAD LD_LIBRARY_PATH && "$prefix/bin/xylem" run --as-nccl -- "$work/asks")
(unset LD_PRELOAD LD_LIBRARY_PATH && "$prefix/bin/xylem" run -n 1 --as-nccl -- "$work/asks")
# A program of others, compiled with Xylem's headers and, if they are there, with NVIDIA's; both find the libraries by name.
foreign=("$prefix/include/xylem/nccl/host -I$prefix/include/xylem/nccl")
if [ -f "${XYLEM_TEST_CUDA_INCLUDE:-}/nccl.h" ]; then foreign+=("$XYLEM_TEST_CUDA_INCLUDE"); fi
for headers in "${foreign[@]}"; do
  major=$(echo '#include <cuda_runtime_api.h>
CUDART_VERSION' | "$cxx" -E -x c++ -I$headers - | tail -1)
  # shellcheck disable=SC2086  # options are words
  "$cxx" -std=c++17 -I$headers "$here/consumer/foreign.cc" "$prefix/$libdir/xylem/as-nccl/libnccl.so.2" \
    "$prefix/$libdir/xylem/as-nccl/libcudart.so.$((major / 1000))" "$prefix/$libdir/xylem/as-nccl/libcuda.so.1" \
    -L"$prefix/$libdir" -lxylem -ldl -o "$work/foreign"
  (unset LD_PRELOAD && LD_LIBRARY_PATH=$prefix/$libdir/xylem/as-nccl:$prefix/$libdir timeout 60 "$work/foreign")
done
if command -v python3 >/dev/null; then # the calls of wrappers in Python
  (unset LD_PRELOAD LD_LIBRARY_PATH && PYTHONDONTWRITEBYTECODE=1 timeout 120 "$prefix/bin/xylem" run --as-nccl -- python3 "$here/wrappers.py")
fi
if "$prefix/bin/xylem" run -n 1 -- sh -c 'env | grep as-nccl'; then
  echo "the libraries under NCCL's names are on a path by default" && exit 1
fi
mv "$prefix/$libdir/xylem/as-nccl" "$work/hidden"
if "$prefix/bin/xylem" run --as-nccl -- "$work/asks" 2>"$work/told"; then exit 1; fi
grep -q "no folder as-nccl" "$work/told" || { cat "$work/told" && exit 1; }
mv "$work/hidden" "$prefix/$libdir/xylem/as-nccl"
for name in libcudart.so.12 libcudart.so.13; do
  grep -q "$name$" <<<"$(readelf -V "$prefix/$libdir/xylem/as-nccl/$name")" ||
    { echo "$name has no version of its names" && exit 1; }
done

step "xylem-cc never runs itself"
# Build systems put the name of the compiler into CXX, CC and CMAKE_CXX_COMPILER.
echo 'int main() { return 0; }' >"$work/empty.cc"
cp "$work/empty.cc" "$work/empty.cu"
wrapper=$prefix/bin/xylem-cc
ln -s "$wrapper" "$work/link-to-wrapper"
for name in "$wrapper" "$work/link-to-wrapper" "env $wrapper"; do
  (unset XYLEM_CXX XYLEM_CC && CXX=$name CC=$name HOSTCXX=$name timeout 60 "$wrapper" "$work/empty.cc" -o "$work/empty")
done
(unset XYLEM_CXX && PATH=$prefix/bin:$PATH CXX=xylem-cc timeout 60 xylem-cc "$work/empty.cc" -o "$work/empty")
if XYLEM_CXX="env NOTHING=1 $cxx" "$wrapper" "$work/empty.cc" -o "$work/empty"; then "$work/empty"; else exit 1; fi
cat >"$work/CMakeLists.txt" <<'PROJECT'
cmake_minimum_required(VERSION 3.20)
project(wrapped CXX)
add_executable(wrapped empty.cc)
PROJECT
(unset XYLEM_CXX && timeout 120 "$cmake" -S "$work" -B "$work/wrapped" -DCMAKE_CXX_COMPILER="$wrapper" >/dev/null &&
  "$cmake" --build "$work/wrapped" >/dev/null && "$work/wrapped/wrapped")

step "xylem-cc understands nvcc's options"
"$wrapper" -ccbin "$cxx" -Xcompiler -Wall,-Wextra -gencode arch=compute_90,code=sm_90 -arch=sm_80 -Xptxas -v -lineinfo \
  --expt-relaxed-constexpr --expt-extended-lambda --extended-lambda -maxrregcount 64 --use_fast_math -rdc=true \
  --threads 4 -Xfatbin -compress-all -Wno-deprecated-gpu-targets -Xlinker -O1 -std=c++17 -x cu "$work/empty.cu" \
  -lcudart_static -lcuda -lnvidia-ml -lnvToolsExt -o "$work/empty" 2>"$work/words"
"$work/empty"
grep -q "left out, as there is no device code: .*-gencode" "$work/words" || { cat "$work/words" && exit 1; }
cat >"$work/words.cu" <<'PROGRAM'
// A .cu file has the runtime and C's headers without an include.
int main() {
  cudaError_t error = cudaSuccess;
  std::pair<int, int> pair(max(1, 2), min(1u, 2u));
  assert(strlen("ab") == 2 && pair.first == 2 && make_float2(1, 2).y == 2.0f);
  return error == cudaSuccess && abs(-1) == 1 && INT_MAX > 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
PROGRAM
"$wrapper" "$work/words.cu" -o "$work/words_program"
"$work/words_program"

step "nccl.h alone in another folder"
mkdir "$work/copied" "$work/linked"
cp "$prefix/include/xylem/nccl/nccl.h" "$work/copied"
ln -s "$prefix/include/xylem/nccl/nccl.h" "$work/linked/nccl.h"
for folder in copied linked; do
  echo '#include <nccl.h>
#ifndef NCCL_H_
#error no guard
#endif
int main() { return ncclGetVersion(nullptr) == ncclSuccess; }' |
    "$cxx" -fsyntax-only -x c++ -I"$work/$folder" -I"$prefix/include/xylem/nccl/host" -
done

# Two headers of one name: of NVIDIA's and Xylem's, the first one stands for both.
step "beside NVIDIA's headers"
nvidia=${XYLEM_TEST_CUDA_INCLUDE:-}
if [ -f "$nvidia/cuda_runtime.h" ]; then
  for theirs in cuda_runtime.h cuda_runtime_api.h driver_types.h vector_types.h cuda_fp16.h cuda_bf16.h cuda_fp8.h cuda_fp4.h \
    cuda_fp6.h cuda.h cublas_v2.h cuComplex.h device_launch_parameters.h device_types.h curand.h library_types.h math_constants.h \
    cudaTypedefs.h nvml.h nvtx3/nvToolsExt.h cooperative_groups.h; do
    [ -f "$nvidia/$theirs" ] || continue
    for ours in nccl.h host/cuda_runtime.h; do
      first="#include \"$nvidia/$theirs\"" second="#include \"$prefix/include/xylem/nccl/$ours\""
      for both in "$first"$'\n'"$second" "$second"$'\n'"$first"; do
        for language in c c++; do
          echo "$both"$'\nint main(void) { return cudaSuccess; }' | "$cxx" -fsyntax-only -x $language -I"$nvidia" - ||
            { echo "does not compile as $language:"$'\n'"$both" && exit 1; }
        done
      done
    done
  done
else
  echo "   left out: XYLEM_TEST_CUDA_INCLUDE names no folder with NVIDIA's cuda_runtime.h"
fi

# A machine may run MPI programs without being able to build them.
if echo "#include <mpi.h>" | mpicc -E - >/dev/null 2>&1 && mpirun --version 2>/dev/null | grep -q "Open MPI"; then
  step "a consumer with MPI"
  XYLEM_CC=mpicc "$prefix/bin/xylem-cc" "$source_dir/examples/mpi_all_reduce.c" -o "$work/mpi"
  NCCL_SOCKET_IFNAME=lo OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 \
    timeout 60 mpirun --oversubscribe -n 2 "$work/mpi"
fi

step "what cannot run here does not link"
cat >"$work/kernel.cc" <<'PROGRAM'
#include <cuda_runtime.h>
int main() { return cudaLaunchKernel(nullptr, dim3(1), dim3(1), nullptr, 0, nullptr); }
PROGRAM
if "$prefix/bin/xylem-cc" "$work/kernel.cc" -o "$work/kernel" 2>"$work/errors"; then
  echo "a program with a kernel was linked" && exit 1
fi
grep -q "host_devices_are_CPUs_and_run_no_kernels" "$work/errors" || { cat "$work/errors" && exit 1; }
echo "ok"
