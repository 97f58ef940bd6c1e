// The names that the library exports, against those of nccl.h by the version of NCCL that has them first: a program that
// was linked with one of these versions finds each, under both prefixes, or the table says why not.

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

namespace {

struct Names {
  int version;  // as NCCL_VERSION_CODE
  std::vector<std::string_view> here;
  std::vector<std::string_view> absent;  // not exported
};

// Absent are functions that prepare what kernels call (nccl_device.h): host devices run none.
const std::vector<Names>& names() {
  static const std::vector<Names> all{
      {22501,
       {"AllGather",
        "AllReduce",
        "Bcast",
        "Broadcast",
        "CommAbort",
        "CommCount",
        "CommCuDevice",
        "CommDeregister",
        "CommDestroy",
        "CommFinalize",
        "CommGetAsyncError",
        "CommInitAll",
        "CommInitRank",
        "CommInitRankConfig",
        "CommInitRankScalable",
        "CommRegister",
        "CommSplit",
        "CommUserRank",
        "GetErrorString",
        "GetLastError",
        "GetUniqueId",
        "GetVersion",
        "GroupEnd",
        "GroupSimulateEnd",
        "GroupStart",
        "MemAlloc",
        "MemFree",
        "Recv",
        "RedOpCreatePreMulSum",
        "RedOpDestroy",
        "Reduce",
        "ReduceScatter",
        "ResetDebugInit",
        "Send"},
       {}},
      {22703, {"CommShrink", "CommWindowDeregister", "CommWindowRegister"}, {}},
      {22803,
       {"AlltoAll", "DevCommCreate", "DevCommDestroy", "Gather", "Scatter"},
       {"LLA2ACalcSlots", "LLA2ACreateRequirement", "LsaBarrierCreateRequirement", "TeamLsa", "TeamRail",
        "TeamRankToLsa", "TeamRankToWorld", "TeamWorld"}},
      {22807, {"CommRevoke"}, {"GinBarrierCreateRequirement"}},
      {22902,
       {"CommGetUniqueId", "CommGrow", "CommQueryProperties", "GetLsaDevicePointer",
        "GetLsaMultimemDevicePointer", "GetMultimemDevicePointer", "GetPeerDevicePointer", "PutSignal",
        "Signal", "WaitSignal", "WinGetUserPtr"},
       {}},
      {22907, {"CommMemStats", "CommResume", "CommSuspend"}, {}},
      {23003, {}, {"GinInboxA2ACreateRequirement", "GinOutboxCreateRequirement"}},
      {23004,
       {"ParamBind", "ParamDumpAll", "ParamGet", "ParamGetAllParameterKeys", "ParamGetI16", "ParamGetI32",
        "ParamGetI64", "ParamGetI8", "ParamGetParameter", "ParamGetStr", "ParamGetU16", "ParamGetU32",
        "ParamGetU64", "ParamGetU8"},
       {}},
  };
  return all;
}

bool exports(const std::string& name) {
  static void* const library = dlopen(XYLEM_LIBRARY, RTLD_LAZY | RTLD_LOCAL);
  EXPECT_NE(library, nullptr) << dlerror();
  return dlsym(library, name.c_str()) != nullptr;
}

TEST(ExportedNames, AreThoseOfEachVersionOfNccl) {
  for (const Names& version : names()) {
    for (const std::string_view name : version.here)
      for (const char* prefix : {"nccl", "pnccl"})
        EXPECT_TRUE(exports(std::string(prefix) + std::string(name)))
            << prefix << name << ", which programs of NCCL " << version.version << " and later call";
    for (const std::string_view name : version.absent)
      EXPECT_FALSE(exports("nccl" + std::string(name))) << name << " is here: move it to the others";
  }
}

}  // namespace
