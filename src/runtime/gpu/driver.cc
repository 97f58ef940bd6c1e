#include "runtime/gpu/driver.h"

#include <dlfcn.h>

#include <atomic>
#include <string>

#include "core/error.h"
#include "core/shared_library.h"

// cuda/for_gpus.cc, where that is linked.
extern "C" __attribute__((weak, visibility("hidden"))) const char xylemIsForGpus;

namespace xylem::gpu {
namespace {

std::atomic<const DriverTable*> given{nullptr};

constexpr const char* kLibrary = "libxylem-cuda.so";

// Whether the program has one of the contexts of NVIDIA's driver current in this thread. Nothing is loaded for that. Xylem has
// functions of the same names for host devices, under the driver's name in one of its folders: those are not meant.
bool threadHasContext() {
  void* const driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
  if (driver == nullptr) return false;
  void* context = nullptr;
  auto* const current = reinterpret_cast<int (*)(void**)>(dlsym(driver, "cuCtxGetCurrent"));
  const bool isOurs = dlsym(driver, "pncclGetVersion") != nullptr;
  const bool has = !isOurs && current != nullptr && current(&context) == 0 && context != nullptr;
  dlclose(driver);
  return has;
}

// The library beside the one, or the program, that this code is in, or two folders above, as seen from xylem/as-nccl-gpu; otherwise
// wherever the loader finds it.
std::string libraryPath() {
  Dl_info here{};
  if (dladdr(reinterpret_cast<const void*>(&threadHasContext), &here) != 0 && here.dli_fname != nullptr) {
    const std::string file = here.dli_fname;
    const std::string folder = file.substr(0, file.rfind('/') + 1);
    for (const char* const way : {"", "../../"})
      if (const std::string found = folder + way + kLibrary; SharedLibrary(found)) return found;
  }
  return kLibrary;
}

const DriverTable* openCudaDriver() {
  static const SharedLibrary library(libraryPath(), SharedLibrary::Stay::kForEver);
  if (!library)
    throw Error(
        ResultCode::kSystemError,
        "the device is a GPU, but {} cannot be loaded: {}. It is built where nvcc is; XYLEM_DEVICE=host uses "
        "host devices",
        kLibrary, library.error());
  auto* const open = library.function<const DriverTable*(const char**)>("xylemCudaDriver");
  const char* reason = "it is of another version";
  const DriverTable* driver = open == nullptr ? nullptr : open(&reason);
  if (driver != nullptr && driver->abi != kDriverAbi) {
    driver = nullptr;
    reason = "it is of another version";
  }
  if (driver == nullptr)
    throw Error(ResultCode::kUnhandledCudaError,
                "the device is a GPU, but {} cannot use it: {}. XYLEM_DEVICE=host uses host devices",
                kLibrary, reason);
  return driver;
}

}  // namespace

void useDriver(const DriverTable* driver) { given.store(driver, std::memory_order_release); }

const DriverTable* driverOfThread(const Settings& settings) {
  const std::string& wanted = settings.text(Setting::kDevice);
  if (wanted == "host") return nullptr;
  if (wanted != "auto" && wanted != "gpu")
    throw Error(ResultCode::kInvalidArgument, "XYLEM_DEVICE is {}; expected auto, host or gpu", wanted);
  if (const DriverTable* const driver = given.load(std::memory_order_acquire)) return driver;
  return wanted == "gpu" || &xylemIsForGpus != nullptr || threadHasContext() ? openCudaDriver() : nullptr;
}

}  // namespace xylem::gpu
