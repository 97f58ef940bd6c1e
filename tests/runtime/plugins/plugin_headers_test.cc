// The installed headers of plugins: each table has the slots and parameters of the one by which the library calls plugins.

#include <gtest/gtest.h>

#include <type_traits>

#include "nccl_env.h"
#include "nccl_net.h"
#include "nccl_profiler.h"
#include "nccl_tuner.h"
#include "runtime/plugins/coll_abi.h"
#include "runtime/plugins/profiler_abi.h"

namespace {

namespace abi = xylem::plugins::abi;

// The types of one side have bases, whose layout the compilers here define.
#pragma GCC diagnostic ignored "-Winvalid-offsetof"

// A parameter as the machine passes it: both sides name enums and structures differently.
template <typename T>
struct PassedAs {
  using Type = T;
};
template <typename T>
requires std::is_enum_v<T>
struct PassedAs<T> {
  using Type = int;
};
template <typename T>
requires(std::is_class_v<T> || std::is_union_v<T> || std::is_function_v<T>) struct PassedAs<T*> {
  using Type = void*;
};
template <typename T>
requires std::is_class_v<T>
struct PassedAs<T**> {
  using Type = void**;
};
template <typename Function>
struct Shape;
template <typename Result, typename... Parameters>
struct Shape<Result (*)(Parameters...)> {
  using Type = typename PassedAs<Result>::Type (*)(typename PassedAs<Parameters>::Type...);
};

#define SAME_SLOT(HEADER, TABLE, NAME)                            \
  static_assert(offsetof(HEADER, NAME) == offsetof(TABLE, NAME)); \
  static_assert(std::is_same_v<Shape<decltype(HEADER::NAME)>::Type, Shape<decltype(TABLE::NAME)>::Type>)
#define SAME_TAIL(HEADER, TABLE, NAME)                                                                    \
  static_assert(offsetof(HEADER, NAME) == offsetof(TABLE, tail) + offsetof(decltype(TABLE::tail), NAME)); \
  static_assert(std::is_same_v<Shape<decltype(HEADER::NAME)>::Type, Shape<decltype(TABLE::tail.NAME)>::Type>)

#define SAME_NET(V)                                                                                        \
  static_assert(sizeof(ncclNet_v##V##_t) == sizeof(abi::Net<V>));                                          \
  static_assert(sizeof(ncclNetProperties_v##V##_t) == sizeof(abi::Properties<V>));                         \
  static_assert(offsetof(ncclNetProperties_v##V##_t, maxRecvs) == offsetof(abi::Properties<V>, maxRecvs)); \
  SAME_SLOT(ncclNet_v##V##_t, abi::Net<V>, init);                                                          \
  SAME_SLOT(ncclNet_v##V##_t, abi::Net<V>, devices);                                                       \
  SAME_SLOT(ncclNet_v##V##_t, abi::Net<V>, getProperties);                                                 \
  SAME_SLOT(ncclNet_v##V##_t, abi::Net<V>, listen);                                                        \
  SAME_SLOT(ncclNet_v##V##_t, abi::Net<V>, connect);                                                       \
  SAME_SLOT(ncclNet_v##V##_t, abi::Net<V>, accept);                                                        \
  SAME_SLOT(ncclNet_v##V##_t, abi::Net<V>, regMr);                                                         \
  SAME_SLOT(ncclNet_v##V##_t, abi::Net<V>, regMrDmaBuf);                                                   \
  SAME_SLOT(ncclNet_v##V##_t, abi::Net<V>, deregMr);                                                       \
  SAME_SLOT(ncclNet_v##V##_t, abi::Net<V>, isend);                                                         \
  SAME_SLOT(ncclNet_v##V##_t, abi::Net<V>, irecv);                                                         \
  SAME_SLOT(ncclNet_v##V##_t, abi::Net<V>, iflush);                                                        \
  SAME_SLOT(ncclNet_v##V##_t, abi::Net<V>, test);                                                          \
  SAME_SLOT(ncclNet_v##V##_t, abi::Net<V>, closeSend);                                                     \
  SAME_SLOT(ncclNet_v##V##_t, abi::Net<V>, closeRecv);                                                     \
  SAME_SLOT(ncclNet_v##V##_t, abi::Net<V>, closeListen)
#define SAME_COLL(V)                                                      \
  static_assert(sizeof(ncclCollNet_v##V##_t) == sizeof(abi::CollNet<V>)); \
  SAME_SLOT(ncclCollNet_v##V##_t, abi::CollNet<V>, init);                 \
  SAME_SLOT(ncclCollNet_v##V##_t, abi::CollNet<V>, listen);               \
  SAME_SLOT(ncclCollNet_v##V##_t, abi::CollNet<V>, connect);              \
  SAME_SLOT(ncclCollNet_v##V##_t, abi::CollNet<V>, reduceSupport);        \
  SAME_SLOT(ncclCollNet_v##V##_t, abi::CollNet<V>, regMr);                \
  SAME_SLOT(ncclCollNet_v##V##_t, abi::CollNet<V>, iallreduce);           \
  SAME_SLOT(ncclCollNet_v##V##_t, abi::CollNet<V>, iflush);               \
  SAME_SLOT(ncclCollNet_v##V##_t, abi::CollNet<V>, test);                 \
  SAME_SLOT(ncclCollNet_v##V##_t, abi::CollNet<V>, closeListen)

SAME_NET(6);
SAME_NET(7);
SAME_NET(8);
SAME_NET(9);
SAME_NET(10);
SAME_NET(11);
SAME_NET(12);
SAME_COLL(6);
SAME_COLL(7);
SAME_COLL(8);
SAME_COLL(9);
SAME_COLL(10);
SAME_COLL(11);
SAME_COLL(12);

using Net12 = abi::Net<12>;
SAME_TAIL(ncclNet_v12_t, Net12, getDeviceMr);
SAME_TAIL(ncclNet_v12_t, Net12, irecvConsumed);
SAME_TAIL(ncclNet_v12_t, Net12, makeVDevice);
SAME_TAIL(ncclNet_v12_t, Net12, finalize);
SAME_TAIL(ncclNet_v12_t, Net12, setNetAttr);
static_assert(offsetof(ncclNetProperties_v12_t, planeId) == offsetof(abi::PropertiesV12, planeId));
static_assert(sizeof(ncclNetAttr_v11_t) == sizeof(abi::NetAttributes));
static_assert(sizeof(ncclNetDeviceHandle_v7_t) == sizeof(abi::DeviceHandle));
static_assert(sizeof(ncclNetSGE_v8_t) == 24 && sizeof(ncclNetSGE_v9_t) == 24);

#define SAME_TUNER(V, LAST)                                            \
  static_assert(sizeof(ncclTuner_v##V##_t) == sizeof(abi::TunerV##V)); \
  SAME_SLOT(ncclTuner_v##V##_t, abi::TunerV##V, init);                 \
  SAME_SLOT(ncclTuner_v##V##_t, abi::TunerV##V, getCollInfo);          \
  SAME_SLOT(ncclTuner_v##V##_t, abi::TunerV##V, LAST)
SAME_TUNER(2, destroy);
SAME_TUNER(3, destroy);
SAME_TUNER(4, destroy);
SAME_TUNER(5, finalize);
SAME_TUNER(6, finalize);
SAME_SLOT(ncclTuner_v6_t, abi::TunerV6, getChunkSize);
static_assert(sizeof(ncclTunerConstants_v5_t) == sizeof(abi::TunerConstants));
static_assert(sizeof(ncclNvlDomainInfo_v5_t) == sizeof(abi::NvlinkDomains));

#define SAME_ENV(V)                                                \
  static_assert(sizeof(ncclEnv_v##V##_t) == sizeof(abi::EnvV##V)); \
  SAME_SLOT(ncclEnv_v##V##_t, abi::EnvV##V, init);                 \
  SAME_SLOT(ncclEnv_v##V##_t, abi::EnvV##V, finalize);             \
  SAME_SLOT(ncclEnv_v##V##_t, abi::EnvV##V, getEnv)
SAME_ENV(1);
SAME_ENV(2);

#define SAME_PROFILER(V, TABLE)                                  \
  static_assert(sizeof(ncclProfiler_v##V##_t) == sizeof(TABLE)); \
  SAME_SLOT(ncclProfiler_v##V##_t, TABLE, init);                 \
  SAME_SLOT(ncclProfiler_v##V##_t, TABLE, startEvent);           \
  SAME_SLOT(ncclProfiler_v##V##_t, TABLE, stopEvent);            \
  SAME_SLOT(ncclProfiler_v##V##_t, TABLE, recordEventState);     \
  SAME_SLOT(ncclProfiler_v##V##_t, TABLE, finalize)
SAME_PROFILER(1, abi::Profiler);
SAME_PROFILER(2, abi::Profiler);
SAME_PROFILER(3, abi::Profiler);
SAME_PROFILER(4, abi::ProfilerV4);
SAME_PROFILER(5, abi::ProfilerV5);
SAME_PROFILER(6, abi::ProfilerV5);

#define SAME_EVENT(V)                                                                                       \
  static_assert(sizeof(ncclProfilerEventDescr_v##V##_t) == sizeof(abi::ProfiledEventV##V));                 \
  static_assert(offsetof(ncclProfilerEventDescr_v##V##_t, rank) == offsetof(abi::ProfiledEventV##V, rank)); \
  static_assert(sizeof(ncclProfilerEventDescr_v##V##_t::coll) == sizeof(abi::ProfiledEventV##V::coll));     \
  static_assert(offsetof(ncclProfilerEventDescr_v##V##_t, coll.proto) ==                                    \
                offsetof(abi::ProfiledEventV##V, coll.proto));                                              \
  static_assert(sizeof(ncclProfilerEventDescr_v##V##_t::p2p) == sizeof(abi::ProfiledEventV##V::p2p));       \
  static_assert(offsetof(ncclProfilerEventDescr_v##V##_t, p2p.peer) ==                                      \
                offsetof(abi::ProfiledEventV##V, p2p.peer));                                                \
  static_assert(sizeof(ncclProfilerEventDescr_v##V##_t::proxyOp) == sizeof(abi::ProfiledEventV##V::proxyOp))
SAME_EVENT(1);
SAME_EVENT(2);
SAME_EVENT(3);
SAME_EVENT(4);
SAME_EVENT(5);
static_assert(sizeof(ncclProfilerEventDescr_v4_t::kernelCh) == sizeof(abi::KernelChEventV4));
static_assert(sizeof(ncclProfilerEventDescr_v5_t::collApi) == sizeof(abi::CollApiEvent));
static_assert(sizeof(ncclProfilerEventDescr_v5_t::p2pApi) == sizeof(abi::P2pApiEvent));
static_assert(static_cast<int>(ncclProfileP2pApi) == abi::kProfileP2pApi &&
              static_cast<int>(ncclProfileKernelCh) == abi::kProfileKernelCh);
static_assert(static_cast<int>(ncclProfilerGroupEndApiStart) == abi::kGroupEndApiStart &&
              static_cast<int>(ncclProfilerProxyStepRecvGPUWait) == abi::kProxyStepRecvGpuWait);

// The compiler has checked the tables above. The names without a version are those of the NCCL that nccl.h names.
TEST(PluginHeaders, TablesAreThoseThatTheLibraryLoads) {
  EXPECT_TRUE((std::is_same_v<ncclNet_t, ncclNet_v10_t>)) << NCCL_VERSION_CODE;
  EXPECT_EQ(NCCL_VERSION_CODE / 100, 227) << "another version of nccl.h has another newest table";
}

}  // namespace
