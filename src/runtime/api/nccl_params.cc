// The part of nccl.h that asks for variables: those of the table of settings, as they are set now.

#include <fmt/format.h>

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "core/settings.h"
#include "runtime/api/boundary.h"
#include "runtime/comm/communicator.h"

using namespace xylem;
using namespace xylem::api;

namespace {

// A handle is the address of a row of the table.
const SettingSpec& specOf(ncclParamHandle_t handle, const char* function) {
  for (const SettingSpec& spec : settingSpecs())
    if (reinterpret_cast<const void*>(&spec) == reinterpret_cast<const void*>(handle)) return spec;
  throw Error(ResultCode::kInvalidArgument, "{}: handle is not one of ncclParamBind", function);
}

const SettingSpec& specNamed(const char* key, const char* function) {
  requireNotNull(key, function, "key");
  for (const SettingSpec& spec : settingSpecs())
    if (std::strcmp(spec.name, key) == 0) return spec;
  throw Error(ResultCode::kInvalidArgument, "{}: there is no variable {}; `xylem settings` lists all",
              function, key);
}

bool isNumber(const SettingSpec& spec) { return spec.kind == SettingKind::kInteger; }

std::string textOf(const SettingSpec& spec, const Settings& settings) {
  if (spec.kind == SettingKind::kSecret) return settings.isSet(spec.id) ? "<secret>" : "";
  return isNumber(spec) ? std::to_string(settings.integer(spec.id)) : settings.text(spec.id);
}

// Results point to it until the thread's next call.
std::string& threadText() {
  static thread_local std::string text;
  return text;
}

ncclResult_t wrongType(ncclParamHandle_t handle, const void* out, const char* function) {
  return guard([&] {
    requireNotNull(out, function, "out");
    const SettingSpec& spec = specOf(handle, function);
    throw Error(ResultCode::kInvalidArgument, "{}: {} is {}", function, spec.name,
                isNumber(spec) ? "an int64_t: use ncclParamGetI64" : "a text: use ncclParamGetStr");
  });
}

}  // namespace

ncclResult_t pncclParamBind(ncclParamHandle_t* out, const char* key) {
  return guard([&] {
    requireNotNull(out, "ncclParamBind", "out");
    const SettingSpec& spec = specNamed(key, "ncclParamBind");
    *out = reinterpret_cast<ncclParamHandle_t>(const_cast<SettingSpec*>(&spec));
  });
}
XYLEM_PROFILED(ParamBind);

#define XYLEM_NO_SUCH_TYPE(NAME, TYPE)                                    \
  ncclResult_t pncclParamGet##NAME(ncclParamHandle_t handle, TYPE* out) { \
    return wrongType(handle, out, "ncclParamGet" #NAME);                  \
  }                                                                       \
  XYLEM_PROFILED(ParamGet##NAME)
XYLEM_NO_SUCH_TYPE(I8, int8_t);
XYLEM_NO_SUCH_TYPE(I16, int16_t);
XYLEM_NO_SUCH_TYPE(I32, int32_t);
XYLEM_NO_SUCH_TYPE(U8, uint8_t);
XYLEM_NO_SUCH_TYPE(U16, uint16_t);
XYLEM_NO_SUCH_TYPE(U32, uint32_t);
XYLEM_NO_SUCH_TYPE(U64, uint64_t);
#undef XYLEM_NO_SUCH_TYPE

ncclResult_t pncclParamGetI64(ncclParamHandle_t handle, int64_t* out) {
  constexpr const char* kName = "ncclParamGetI64";
  return guard([&] {
    requireNotNull(out, kName, "out");
    const SettingSpec& spec = specOf(handle, kName);
    if (!isNumber(spec))
      throw Error(ResultCode::kInvalidArgument, "{}: {} is a text: use ncclParamGetStr", kName, spec.name);
    *out = comm::settingsOfProcess().integer(spec.id);
  });
}
XYLEM_PROFILED(ParamGetI64);

ncclResult_t pncclParamGetStr(ncclParamHandle_t handle, const char** out) {
  constexpr const char* kName = "ncclParamGetStr";
  return guard([&] {
    requireNotNull(out, kName, "out");
    const SettingSpec& spec = specOf(handle, kName);
    if (isNumber(spec))
      throw Error(ResultCode::kInvalidArgument, "{}: {} is an int64_t: use ncclParamGetI64", kName,
                  spec.name);
    threadText() = textOf(spec, comm::settingsOfProcess());
    *out = threadText().c_str();
  });
}
XYLEM_PROFILED(ParamGetStr);

ncclResult_t pncclParamGet(ncclParamHandle_t handle, void* out, int maxLen, int* len) {
  constexpr const char* kName = "ncclParamGet";
  return guard([&] {
    requireNotNull(len, kName, "len");
    *len = 0;
    requireNotNull(out, kName, "out");
    const SettingSpec& spec = specOf(handle, kName);
    const Settings settings = comm::settingsOfProcess();
    const std::int64_t number = isNumber(spec) ? settings.integer(spec.id) : 0;
    const std::string text = textOf(spec, settings);
    const std::size_t bytes = isNumber(spec) ? sizeof number : text.size() + 1;
    if (maxLen < 0 || static_cast<std::size_t>(maxLen) < bytes)
      throw Error(ResultCode::kInvalidArgument, "{}: maxLen is {}; {} takes {} bytes", kName, maxLen,
                  spec.name, bytes);
    std::memcpy(out, isNumber(spec) ? static_cast<const void*>(&number) : text.c_str(), bytes);
    *len = static_cast<int>(bytes);
  });
}
XYLEM_PROFILED(ParamGet);

ncclResult_t pncclParamGetParameter(const char* key, const char** value, int* valueLen) {
  constexpr const char* kName = "ncclParamGetParameter";
  return guard([&] {
    requireNotNull(value, kName, "value");
    requireNotNull(valueLen, kName, "valueLen");
    *value = nullptr;
    *valueLen = 0;
    threadText() = textOf(specNamed(key, kName), comm::settingsOfProcess());
    *value = threadText().c_str();
    *valueLen = static_cast<int>(threadText().size());
  });
}
XYLEM_PROFILED(ParamGetParameter);

ncclResult_t pncclParamGetAllParameterKeys(const char*** table, int* tableLen) {
  constexpr const char* kName = "ncclParamGetAllParameterKeys";
  return guard([&] {
    requireNotNull(table, kName, "table");
    requireNotNull(tableLen, kName, "tableLen");
    static thread_local std::vector<const char*> names;
    names.clear();
    for (const SettingSpec& spec : settingSpecs()) names.push_back(spec.name);
    *table = names.data();
    *tableLen = static_cast<int>(names.size());
  });
}
XYLEM_PROFILED(ParamGetAllParameterKeys);

ncclResult_t pncclParamDumpAll(void) {
  return guard([&] {
    const Settings settings = comm::settingsOfProcess();
    std::string text = "=== ncclParam Registry Dump ===\n";
    for (const SettingSpec& spec : settingSpecs()) {
      const std::string value = textOf(spec, settings);
      const std::string& origin = settings.origin(spec.id);
      text +=
          fmt::format("{} ({}) [published] {}\n    Current value={} set_by={} default={}\n\n", spec.name,
                      isNumber(spec) ? "int64" : "string", spec.help, value.empty() ? "<unset>" : value,
                      origin.empty() ? "default" : origin, *spec.fallback == 0 ? "<unset>" : spec.fallback);
    }
    std::fputs(text.c_str(), stdout);
    std::fflush(stdout);
  });
}
XYLEM_PROFILED(ParamDumpAll);
