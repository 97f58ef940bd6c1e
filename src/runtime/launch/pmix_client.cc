#include "runtime/launch/pmix_client.h"

#include <fmt/format.h>

#include <cstdlib>
#include <cstring>

#include "core/error.h"
#include "core/shared_library.h"

namespace xylem::launch {
namespace {

// The part of the PMIx standard's binary interface that is used here. Versions 3 to 5 share it and the
// library's name.
constexpr const char* kLibrary = "libpmix.so.2";
constexpr int kSuccess = 0;
constexpr std::uint8_t kGlobalScope = 3;
constexpr std::uint16_t kString = 3, kUint16 = 13, kUint32 = 14;
constexpr std::uint32_t kWildcardRank = UINT32_MAX - 1;
constexpr const char* kJobSize = "pmix.job.size";
constexpr const char* kLocalSize = "pmix.local.size";
constexpr const char* kLocalRank = "pmix.lrank";
struct Process {
  char nameSpace[256];
  std::uint32_t rank;
};
struct Value {
  std::uint16_t type;
  union {
    char* string;
    std::uint16_t uint16;
    std::uint32_t uint32;
    std::uint64_t space[8];  // at least the size of the library's largest member
  } data;
};
struct Info;

struct Functions {
  SharedLibrary library{kLibrary};
  int (*init)(Process*, Info*,
              std::size_t) = library.function<int(Process*, Info*, std::size_t)>("PMIx_Init");
  int (*finalize)(const Info*,
                  std::size_t) = library.function<int(const Info*, std::size_t)>("PMIx_Finalize");
  int (*put)(std::uint8_t, const char*,
             Value*) = library.function<int(std::uint8_t, const char*, Value*)>("PMIx_Put");
  int (*commit)() = library.function<int()>("PMIx_Commit");
  int (*fence)(const Process*, std::size_t, const Info*, std::size_t) =
      library.function<int(const Process*, std::size_t, const Info*, std::size_t)>("PMIx_Fence");
  int (*get)(const Process*, const char*, const Info*, std::size_t, Value**) =
      library.function<int(const Process*, const char*, const Info*, std::size_t, Value**)>("PMIx_Get");
  const char* (*errorText)(int) = library.function<const char*(int)>("PMIx_Error_string");

  bool complete() const {
    return init != nullptr && finalize != nullptr && put != nullptr && commit != nullptr &&
           fence != nullptr && get != nullptr && errorText != nullptr;
  }
};

// Never unloaded: the library's threads may still run after PMIx_Finalize.
const Functions& pmix() {
  static const auto* functions = new Functions;
  return *functions;
}

Process self;  // one per process, like the server

void require(int status, const std::string& what) {
  if (status != kSuccess)
    throw Error(ResultCode::kSystemError,
                "the launcher's PMIx server: {} failed: {}; set NCCL_COMM_ID=host:port to do without it",
                what, pmix().errorText(status));
}

// A value that the library has allocated; freed as the standard says.
class Found {
 public:
  Found(const Process& process, const char* key) {
    require(pmix().get(&process, key, nullptr, 0, &value_), fmt::format("looking up {}", key));
  }
  ~Found() {
    if (value_->type == kString) std::free(value_->data.string);
    std::free(value_);
  }
  Found(const Found&) = delete;
  Found& operator=(const Found&) = delete;
  const Value* operator->() const { return value_; }

 private:
  Value* value_ = nullptr;
};

}  // namespace

bool PmixClient::isOffered(const Environment& environment) {
  return environment("PMIX_NAMESPACE") != nullptr && environment("PMIX_RANK") != nullptr;
}

bool PmixClient::isUsable(const Environment& environment) {
  return isOffered(environment) && pmix().complete();
}

std::unique_ptr<PmixClient>& PmixClient::kept() {
  static std::unique_ptr<PmixClient> client;
  return client;
}

PmixClient::PmixClient() {
  if (!pmix().complete())
    throw Error(ResultCode::kSystemError,
                "a PMIx server started this process, but {} cannot be loaded; install libpmix2, or set RANK, "
                "WORLD_SIZE and NCCL_COMM_ID",
                kLibrary);
  require(pmix().init(&self, nullptr, 0), "connecting");
}

PmixClient::~PmixClient() { pmix().finalize(nullptr, 0); }

LaunchedProcess PmixClient::process() const {
  LaunchedProcess process{static_cast<int>(self.rank), number(kJobSize, kWildcardRank), 0, 1, "PMIX_RANK"};
  process.localRank = number(kLocalRank, self.rank);
  process.localSize = number(kLocalSize, kWildcardRank);
  return process;
}

void PmixClient::put(const std::string& key, const std::string& value) {
  std::string copy = value;
  Value given{kString, {copy.data()}};
  require(pmix().put(kGlobalScope, key.c_str(), &given), fmt::format("storing {}", key));
  require(pmix().commit(), "storing");
}

void PmixClient::barrier() { require(pmix().fence(nullptr, 0, nullptr, 0), "waiting for all processes"); }

std::string PmixClient::get(const std::string& key, int rank) const {
  Process process = self;
  process.rank = static_cast<std::uint32_t>(rank);
  const Found found(process, key.c_str());
  if (found->type != kString)
    throw Error(ResultCode::kInternalError, "the launcher's PMIx server: {} of process {} is no text", key,
                rank);
  return found->data.string;
}

int PmixClient::number(const char* key, std::uint32_t rank) const {
  Process process = self;
  process.rank = rank;
  const Found found(process, key);
  if (found->type == kUint16) return found->data.uint16;
  if (found->type == kUint32) return static_cast<int>(found->data.uint32);
  throw Error(ResultCode::kInternalError, "the launcher's PMIx server: {} has the type {}", key, found->type);
}

}  // namespace xylem::launch
